package session

import (
	"context"
	"fmt"
	"runtime"
	"sync"
)

// Load reads a session's log and folds it. A log that cannot be folded is ErrDamaged.
func Load(ctx context.Context, store Sessions, id ID) (*View, error) {
	record, err := store.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	view, err := Fold(ctx, store, record, nil)
	if err != nil {
		return nil, err
	}
	return view, nil
}

// Fold reads all that was said in a session, shared or its own. f is called with each of its own entries once that is applied;
// it may be nil. What cannot be folded is ErrDamaged.
func Fold(ctx context.Context, store Sessions, record Session, f func(*View, Entry)) (*View, error) {
	v := NewView(record)
	for _, s := range record.Shared {
		if err := Replay(ctx, store, s.Session, s.Upto, v.share); err != nil {
			return nil, fmt.Errorf("session %s: %w", record.ID, err)
		}
		if v.at != s.Upto {
			return nil, fmt.Errorf("session %s: %w: the shared log of session %s ends at %d of %d", record.ID, ErrDamaged, s.Session, v.at, s.Upto)
		}
		if err := v.cut(s); err != nil {
			return nil, fmt.Errorf("session %s: %w: %w", record.ID, ErrDamaged, err)
		}
	}
	err := Replay(ctx, store, record.ID, WholeLog, func(e Entry) error {
		if err := v.Apply(e); err != nil {
			return err
		}
		if f != nil {
			f(v, e)
		}
		return nil
	})
	v.Session.Ended = min(v.Session.Ended, record.Ended) // a record that is older than this member counts from then on
	return v, err
}

// Replay calls f with each entry of a log, in order, up to a position: that of the last one, or [WholeLog]. It reads the
// log in pages, and f may use the store. If f returns an error, the log counts as damaged: Replay stops with ErrDamaged.
//
// Most of the time to load a session is the decoding of its log. So pages behind the first are read in parallel, on all processors: where
// a page begins is known before the page in front of it has been read.
func Replay(ctx context.Context, store Sessions, id ID, upto uint64, f func(Entry) error) error {
	reading := newReader(ctx, store, id, upto)
	defer reading.stop()
	for at := uint64(0); at < upto; {
		entries, err := reading.page(at)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return nil
		}
		for _, e := range entries {
			at++
			if err := f(e); err != nil {
				return fmt.Errorf("session %s: %w: position %d: %w", id, ErrDamaged, at, err)
			}
		}
	}
	return nil
}

// WholeLog is a position behind any log's end.
const WholeLog = ^uint64(0)

// pageSize is how many entries a reader of a log asks the store for in one call.
const pageSize = 256

// reader reads the pages of a log, some of them ahead of their use.
type reader struct {
	ctx    context.Context
	cancel context.CancelFunc
	store  Sessions
	id     ID
	upto   uint64

	ahead   []chan page // pages that are being read, in order
	next    uint64      // the position behind them
	readers sync.WaitGroup
}

type page struct {
	entries  []Entry
	err      error
	panicked any
}

func newReader(ctx context.Context, store Sessions, id ID, upto uint64) *reader {
	r := &reader{store: store, id: id, upto: upto}
	r.ctx, r.cancel = context.WithCancel(ctx)
	return r
}

// stop ends what is still being read.
func (r *reader) stop() {
	r.cancel()
	r.readers.Wait()
}

// page is the entries after a position. Calls are for positions in order.
func (r *reader) page(after uint64) ([]Entry, error) {
	if len(r.ahead) == 0 {
		r.next = after
		r.begin()
	}
	first := <-r.ahead[0]
	r.ahead = r.ahead[1:]
	if first.panicked != nil {
		panic(first.panicked) // on the caller's goroutine, which knows what to do about it
	}
	if len(first.entries) < pageSize {
		r.ahead = nil // the end of the log, as far as it was written when the page was read
	}
	for len(first.entries) == pageSize && len(r.ahead) < runtime.GOMAXPROCS(0) && r.next < r.upto {
		r.begin()
	}
	return first.entries, first.err
}

// begin reads one more page, in a goroutine that ends with its page.
func (r *reader) begin() {
	after, limit := r.next, min(pageSize, r.upto-r.next)
	read := make(chan page, 1)
	r.ahead, r.next = append(r.ahead, read), after+limit
	r.readers.Go(func() {
		var p page
		defer func() {
			p.panicked = recover()
			read <- p
		}()
		p.entries, p.err = r.store.Entries(r.ctx, r.id, after, int(limit))
	})
}
