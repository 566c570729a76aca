package archive

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/thinkd/thinkd/session/jet"
)

// ErrDamaged says that a copy is not whole.
var ErrDamaged = errors.New("the second copy is damaged")

// segments are those of one stream, in order and without a hole. Their contents are not checked.
func segments(dir string) (list []segment, err error) {
	list, _, err = sorted(dir)
	return list, err
}

// sorted also returns the segments whose place others have taken: their removal was not completed.
func sorted(dir string) (list, replaced []segment, err error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var all []segment
	for _, f := range files {
		s, ok, err := parseSegment(f.Name())
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		if ok {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b segment) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(b.last, a.last), cmp.Compare(b.again, a.again))
	})
	next := uint64(1)
	for _, s := range all {
		if n := len(list); n > 0 && s.last < next && s.again < list[n-1].again {
			replaced = append(replaced, s)
			continue
		}
		if s.first != next {
			return nil, nil, fmt.Errorf("%w: %s: a segment begins at %d, and the one before ends at %d", ErrDamaged, dir, s.first, next-1)
		}
		list, next = append(list, s), s.last+1
	}
	return list, replaced, nil
}

// mostChanges is how often the segments may change while they are read. They are written again once a day.
const mostChanges = 10

// each calls f with all messages of a stream, in order. Segments may be written again meanwhile.
func each(dir, stream string, f func(m jet.Message) error) (list []segment, since time.Time, err error) {
	dir = filepath.Join(dir, stream)
	if list, err = segments(dir); err != nil {
		return nil, since, err
	}
	before, next, changes := "", uint64(1), 0
	for i := 0; i >= 0 && i < len(list); {
		s := list[i]
		h, messages, err := s.read(dir)
		if errors.Is(err, fs.ErrNotExist) && changes < mostChanges {
			changes++
			if list, err = segments(dir); err != nil {
				return nil, since, err
			}
			i = slices.IndexFunc(list, func(s segment) bool { return s.last >= next })
			continue
		}
		if err == nil && (h.Stream != stream || s.first == next && h.Before != before) {
			err = fmt.Errorf("%s: is of stream %s, and follows %q", s.name(), h.Stream, h.Before)
		}
		if err != nil {
			return nil, since, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		for _, m := range messages {
			if m.Seq < next {
				continue
			}
			if err := f(m); err != nil {
				return nil, since, err
			}
		}
		if h.Since.After(since) {
			since = h.Since
		}
		before, next, i = h.end(s), s.last+1, i+1
	}
	if n := len(list); n > 0 && list[n-1].last >= next {
		return nil, since, fmt.Errorf("%w: %s: no segment has message %d any more", ErrDamaged, dir, next)
	}
	return list, since, nil
}
