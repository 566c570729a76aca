package bolt

import (
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"github.com/thinkd/thinkd/session"
)

const (
	// lookEvery is how often the writer looks whether the file is still ours, and a read-only store whether it can
	// write again.
	lookEvery = time.Second

	// failuresBorne is how often a disk may fail before the store stays read-only: it goes on failing, and each time
	// something may be lost that nobody notices.
	failuresBorne = 1
)

// commit makes changes durable and answers those who wait. With growth it writes the checkpoints that wait, too.
func (b *Store) commit(requests []*request, growth bool) {
	var pieces []piece
	if growth && b.writer.trouble == nil {
		pieces = b.takeGrowth(requests)
	}
	for waiting := requests; len(waiting)+len(pieces) > 0; {
		if b.writer.trouble != nil {
			refuse(waiting, b.refused())
			pieces = nil
			break
		}
		var err error
		pieces, err = b.update(waiting, pieces)
		if err == nil {
			if err = b.ours(); err == nil {
				b.storedGrowth(pieces)
				break
			}
		}
		waiting = b.settle(err, waiting)
	}
	b.forgetGrowth(requests)
	for _, r := range requests {
		close(r.done)
	}
	if growth {
		b.rearm()
	}
}

// refuse gives an error to all that have none.
func refuse(requests []*request, err error) {
	for _, r := range requests {
		if r.err == nil {
			r.err = err
		}
	}
}

// refused is what a write is answered while there is trouble.
func (b *Store) refused() error {
	if errors.Is(b.writer.trouble, session.ErrReplaced) {
		return b.writer.trouble
	}
	return fmt.Errorf("%w: %w", session.ErrReadOnly, b.writer.trouble)
}

// settle runs after a commit that may or may not be on disk. It closes the file, opens it, reads it back, and answers the requests that
// are there. It returns the requests that are not there and can be tried once more. If another try makes no sense, it sets
// writer.trouble.
//
// A sync that failed is never called again for the same writes: the kernel has marked their pages clean, and the second
// call succeeds with nothing written (fsync(2), "EIO"). Pages of the failed commit do not matter, nothing points to them.
// The head page does: in memory it may be the new one, and on disk the old one, whose pages the next commit would use
// again. So both are written again and synced, before anything else.
func (b *Store) settle(cause error, requests []*request) (again []*request) {
	if errors.Is(cause, session.ErrReplaced) {
		b.end(cause)
		return requests
	}
	full := diskFull(cause)
	if !full {
		b.writer.failures++
	}
	if full || b.writer.failures > failuresBorne {
		b.halt(cause) // first: what follows syncs and reads, on a disk that may be slow
	}
	if err := b.reopen(); err != nil {
		if errors.Is(err, session.ErrReplaced) {
			b.end(err)
		} else {
			b.halt(fmt.Errorf("%w; and then: %w", cause, err))
		}
		return requests
	}
	for _, r := range requests {
		if r.err != nil {
			continue
		}
		var there bool
		r.err = guard(func() error {
			return b.db.View(func(tx *bbolt.Tx) (err error) {
				there, err = r.landed(tx)
				return err
			})
		})
		if !there && r.err == nil {
			again = append(again, r)
		}
	}
	return again
}

// reopen makes what can be read the truth: see settle. Where it cannot, the file is opened for reading, if it is sound.
// Readers wait meanwhile, however much there is to read: so the records, which no commit that failed has touched, are not
// walked again.
func (b *Store) reopen() error {
	b.dbMu.Lock()
	defer b.dbMu.Unlock()
	// What closing has to say about a file whose writing failed is not news.
	_ = b.closeFileLocked()
	if err := b.ours(); err != nil {
		return err
	}
	err := rewriteHeads(b.path)
	if err == nil {
		err = b.openAgainLocked(readWrite)
	}
	if err != nil && !errors.Is(err, session.ErrReplaced) && !errors.Is(err, session.ErrDamaged) {
		if readErr := b.openAgainLocked(readOnly); readErr != nil {
			return errors.Join(err, readErr)
		}
	}
	return err
}

func (b *Store) openAgainLocked(mode openMode) error {
	inv, err := b.openFileLocked(walkHeads, mode)
	if err != nil {
		return err
	}
	if inv.tx != b.writer.tx && inv.tx != b.writer.tx+1 {
		return errors.Join(session.ErrReplaced, b.closeFileLocked()) // the name is the same, the content is not ours
	}
	b.writer.tx = inv.tx
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, err := range inv.damaged {
		b.damaged[id] = err
	}
	return nil
}

// halt makes the store read-only. What waits is refused at once: none of it has been tried.
func (b *Store) halt(cause error) {
	reported := b.writer.trouble != nil
	b.writer.trouble = cause
	b.writer.lasting = b.writer.failures > failuresBorne
	b.mu.Lock()
	if b.ended == nil {
		b.refusal = b.refused()
	}
	b.mu.Unlock()
	waiting := b.take()
	refuse(waiting, b.refused())
	for _, r := range waiting {
		close(r.done)
	}
	if !reported && b.opt.OnState != nil {
		b.opt.OnState(true, b.refused())
	}
}

// end stops everything for good: the file is not ours.
func (b *Store) end(cause error) {
	b.writer.trouble, b.writer.lasting = cause, true
	b.mu.Lock()
	if b.ended == nil {
		b.refusal, b.ended = cause, cause
	}
	b.mu.Unlock()
	if b.opt.OnState != nil {
		b.opt.OnState(true, cause)
	}
}

// resume takes writes again.
func (b *Store) resume() {
	b.writer.trouble = nil
	b.mu.Lock()
	if b.ended == nil {
		b.refusal = nil
	}
	b.mu.Unlock()
	if b.opt.OnState != nil {
		b.opt.OnState(false, nil)
	}
	b.rearm()
}

// look is the writer's round each second.
func (b *Store) look() {
	if errors.Is(b.writer.trouble, session.ErrReplaced) {
		return
	}
	if err := b.ours(); err != nil {
		b.end(err)
		return
	}
	if b.writer.trouble == nil || b.writer.lasting {
		return
	}
	if b.db == nil || b.db.IsReadOnly() {
		if err := b.reopen(); err != nil {
			if errors.Is(err, session.ErrReplaced) {
				b.end(err)
			}
			return
		}
	}
	if err := b.tryRoom(); err != nil {
		b.settle(err, nil)
		return
	}
	b.resume()
}

// tryRoom writes as much as there was no room for, and removes it: what it leaves is free pages for the next commit, so
// that the store does not go to and fro at the edge.
func (b *Store) tryRoom() error {
	for _, size := range []int{min(max(b.writer.room, leastRoom), mostRoom), 0} {
		fill := &request{change: roomChange(size)}
		if _, err := b.update([]*request{fill}, nil); err != nil {
			return err
		}
		if fill.err != nil {
			return fill.err
		}
	}
	return b.ours()
}

const (
	leastRoom = 64 << 10
	mostRoom  = 16 << 20
)

// roomChange puts so many bytes into the file; 0 takes them out.
type roomChange int

func (c roomChange) session() rowKey                    { return "" }
func (c roomChange) ends(rowKey, session.BlockRef) bool { return false }
func (c roomChange) landed(*bbolt.Tx) (bool, error)     { return false, nil }

func (c roomChange) apply(tx *bbolt.Tx) error {
	if c == 0 {
		return tx.Bucket(metaBucket).Delete(roomKey)
	}
	return tx.Bucket(metaBucket).Put(roomKey, make([]byte, c))
}

// write is the writer's goroutine.
func (b *Store) write() {
	defer close(b.done)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-b.work:
			b.commit(b.take(), false)
		case <-b.due.C:
			b.commit(b.take(), true)
		case run := <-b.alone:
			run()
		case <-look.C:
			b.look()
			select {
			case b.opt.testLooked <- struct{}{}:
			default: // nil outside of tests
			}
		case <-b.stop:
			b.commit(b.take(), true)
			return
		}
	}
}
