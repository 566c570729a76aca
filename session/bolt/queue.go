package bolt

import (
	"context"
	"errors"

	"go.etcd.io/bbolt"

	"github.com/thinkd/thinkd/session"
)

// submit gives the writer a change, and waits until it is durable.
func (b *Store) submit(ctx context.Context, c change) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	r := &request{change: c, done: make(chan struct{})}
	b.mu.Lock()
	if b.refusal != nil {
		defer b.mu.Unlock()
		return b.refusal
	}
	b.queue = append(b.queue, r)
	b.mu.Unlock()
	select {
	case b.work <- struct{}{}:
	default: // the writer knows already
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// take is all requests that wait.
func (b *Store) take() []*request {
	b.mu.Lock()
	defer b.mu.Unlock()
	requests := b.queue
	b.queue = nil
	return requests
}

// errRefused gives up a transaction in which one change failed half-way, errNothing one in which nothing is left to do.
var (
	errRefused = errors.New("refused")
	errNothing = errors.New("nothing to do")
)

// update makes all changes in one commit. A change that fails has its error in the request and no part in the commit.
// The error of update itself means that it is not known what is on disk.
func (b *Store) update(requests []*request, pieces []piece) ([]piece, error) {
	for {
		var used *bbolt.Tx
		err := guard(func() error {
			return b.db.Update(func(tx *bbolt.Tx) error {
				used = tx
				if uint64(tx.ID()) != b.writer.tx+1 {
					return session.ErrReplaced // somebody wrote into our file
				}
				changes := 0
				for i, p := range pieces {
					if err := guard(func() error { return p.store(tx) }); err != nil {
						b.dropGrowth(p.key)
						pieces = append(pieces[:i:i], pieces[i+1:]...)
						return errRefused
					}
					changes++
				}
				for _, r := range requests {
					if r.err != nil {
						continue
					}
					if r.err = guard(func() error { return r.apply(tx) }); r.err != nil {
						return errRefused
					}
					changes++
				}
				if changes == 0 {
					return errNothing
				}
				return nil
			})
		})
		var broken *panicked
		switch {
		case err == nil:
			b.writer.tx++
			return pieces, nil
		case errors.Is(err, errRefused):
		case errors.Is(err, errNothing):
			return pieces, nil
		default:
			b.broken = errors.As(err, &broken)
			if used != nil && len(requests) > 0 {
				stats := used.Stats()
				b.writer.room = int(stats.GetPageAlloc())
			}
			return pieces, err
		}
	}
}
