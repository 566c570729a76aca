package archive

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/thinkd/thinkd/session/jet"
)

// ErrDamaged says that a copy is not whole.
var ErrDamaged = errors.New("the second copy is damaged")

// segments are those of one stream, in order and without a hole. Their contents are not checked.
func segments(dir string) (list []segment, err error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		s, ok, err := parseSegment(f.Name())
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		if ok {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b segment) int { return cmp.Compare(a.first, b.first) })
	next := uint64(1)
	for _, s := range list {
		if s.first != next {
			return nil, fmt.Errorf("%w: %s: a segment begins at %d, and the one before ends at %d", ErrDamaged, dir, s.first, next-1)
		}
		next = s.last + 1
	}
	return list, nil
}

// each calls f with all messages of a stream, in order, and with the name of the segment of each.
func each(dir, stream string, f func(m jet.Message) error) (list []segment, err error) {
	dir = filepath.Join(dir, stream)
	if list, err = segments(dir); err != nil {
		return nil, err
	}
	before := ""
	for _, s := range list {
		h, messages, err := s.read(dir)
		if err == nil && (h.Stream != stream || h.Before != before) {
			err = fmt.Errorf("%s: is of stream %s, and follows %q", s.name(), h.Stream, h.Before)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		for _, m := range messages {
			if err := f(m); err != nil {
				return nil, err
			}
		}
		before = s.name()
	}
	return list, nil
}
