package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

// change is something to be written.
type change interface {
	// apply makes the change in tx. It may be called again in another transaction, after that one was given up.
	apply(tx *bbolt.Tx) error

	// landed reports whether the change is in the store.
	landed(tx *bbolt.Tx) (bool, error)

	// session is whose change it is; ends reports whether an open block is over with it.
	session() ID
	ends(id ID, ref BlockRef) bool
}

// request is a change that somebody waits for.
type request struct {
	change
	err  error         // final when done is closed
	done chan struct{} // closed by the writer
}

// submit has the writer make a change and waits until it is durable.
func (b *Bolt) submit(ctx context.Context, c change) error {
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
	default: // it has been told already
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// write is the writer's goroutine.
func (b *Bolt) write() {
	defer close(b.done)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-b.work:
			b.commit(b.take(), false)
		case <-b.due.C:
			b.commit(b.take(), true)
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

// take is all requests that wait.
func (b *Bolt) take() []*request {
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
func (b *Bolt) update(requests []*request, pieces []piece) ([]piece, error) {
	for {
		var used *bbolt.Tx
		err := guard(func() error {
			return b.db.Update(func(tx *bbolt.Tx) error {
				used = tx
				if uint64(tx.ID()) != b.writer.tx+1 {
					return ErrReplaced // somebody wrote into our file
				}
				changes := 0
				for i, p := range pieces {
					if err := guard(func() error { return p.store(tx) }); err != nil {
						b.dropGrowth(p.id)
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

type createChange struct {
	Session
	fixed  []byte
	record []byte // once applied
}

func newCreateChange(s Session) (createChange, error) {
	f, changing := fixedOf(s), s.Changing()
	value, err := f.encode(s.ID)
	if err == nil {
		_, err = json.Marshal(changing) // what cannot be written is refused before the writer has it
	}
	return createChange{Session: s, fixed: value}, err
}

// Create keeps a new session. It is idle and has used nothing, whatever s says.
func (b *Bolt) Create(ctx context.Context, s Session) error {
	s, err := s.Fresh()
	if err != nil {
		return err
	}
	c, err := newCreateChange(s)
	if err == nil {
		err = b.submit(ctx, &c)
	}
	if err != nil {
		return fmt.Errorf("session %s: %w", s.ID, err)
	}
	b.vouch(s.ID)
	return nil
}

// vouch spares a session that was just made the walk of its log.
func (b *Bolt) vouch(id ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.vetted != nil {
		b.vetted[id] = true
	}
}

func (c *createChange) session() ID            { return c.ID }
func (c *createChange) ends(ID, BlockRef) bool { return false }

func (c *createChange) apply(tx *bbolt.Tx) error {
	sessions, id := tx.Bucket(sessionBucket), []byte(c.ID)
	if sessions.Get(id) != nil {
		return ErrExists
	}
	if err := putShares(tx, c.Session); err != nil {
		return err
	}
	if _, err := tx.Bucket(logBucket).CreateBucket(id); err != nil {
		return err
	}
	r := record{Session: c.Session}
	var err error
	if r.change, err = renumber(tx, c.ID, 0); err != nil {
		return err
	}
	if c.record, err = r.encode(); err != nil {
		return err
	}
	return errors.Join(sessions.Put(id, c.record), tx.Bucket(fixedBucket).Put(id, c.fixed))
}

func (c *createChange) landed(tx *bbolt.Tx) (bool, error) {
	return bytes.Equal(tx.Bucket(sessionBucket).Get([]byte(c.ID)), c.record), nil
}

type deleteChange struct {
	id     ID
	keep   []ID   // damaged logs, which stay
	shared []Span // what the session shared, once applied
}

// Delete removes a session. One whose log or pages are damaged stays, since its pages cannot be given back. A log that a
// fork shares stays until the last of these is deleted.
func (b *Bolt) Delete(ctx context.Context, id ID) error {
	err := b.vet(id)
	if err == nil {
		c := &deleteChange{id: id}
		if c.keep, err = b.damagedShares(ctx, id); err == nil {
			err = b.submit(ctx, c)
		}
		if err == nil {
			b.unvouch(id, c.shared)
		}
	}
	if err != nil {
		return fmt.Errorf("session %s: %w", id, err)
	}
	return nil
}

// unvouch lets go of what is known of the logs that may have gone with a session. One that is still there is walked once more.
func (b *Bolt) unvouch(id ID, shared []Span) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.vetted, id)
	for _, span := range shared {
		delete(b.vetted, span.Session)
	}
}

func (c *deleteChange) session() ID                 { return c.id }
func (c *deleteChange) ends(id ID, _ BlockRef) bool { return id == c.id }

func (c *deleteChange) apply(tx *bbolt.Tx) error {
	r, err := getWhole(tx, c.id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	c.shared = r.Shared
	id := []byte(c.id)
	if in := tx.Bucket(growthBucket); in.Bucket(id) != nil {
		if err := in.DeleteBucket(id); err != nil {
			return err
		}
	}
	return errors.Join(
		leaveLog(tx, r),
		dropShares(tx, r.Session, c.keep),
		tx.Bucket(sessionBucket).Delete(id),
		tx.Bucket(fixedBucket).Delete(id),
		tx.Bucket(indexBucket).Delete(indexKey(r.change, c.id)),
		tx.Bucket(openBucket).Delete(id))
}

func (c *deleteChange) landed(tx *bbolt.Tx) (bool, error) {
	return tx.Bucket(sessionBucket).Get([]byte(c.id)) == nil, nil
}

type appendChange struct {
	id      ID
	entries []Entry
	values  [][]byte // of entries
	last    uint64   // position of the last, once applied
}

// Append adds entries to the log.
func (b *Bolt) Append(ctx context.Context, id ID, entries ...Entry) (last uint64, err error) {
	c := &appendChange{id: id, entries: entries}
	if c.values, err = EncodeEntries(entries); err == nil {
		err = b.vet(id)
	}
	if err == nil {
		err = b.submit(ctx, c)
	}
	if err != nil {
		return 0, fmt.Errorf("session %s: %w", id, err)
	}
	return c.last, nil
}

func (c *appendChange) session() ID { return c.id }

func (c *appendChange) ends(id ID, ref BlockRef) bool {
	if id != c.id {
		return false
	}
	for _, e := range c.entries {
		if e.Ends(ref) {
			return true
		}
	}
	return false
}

func (c *appendChange) apply(tx *bbolt.Tx) error {
	r, err := getRecord(tx, c.id)
	if err != nil {
		return err
	}
	id := []byte(c.id)
	log := tx.Bucket(logBucket).Bucket(id)
	if log == nil {
		return fmt.Errorf("%w: its log is missing", ErrDamaged)
	}
	if key, _ := log.Cursor().Last(); r.last == 0 && key != nil || r.last != 0 && !bytes.Equal(key, position(r.last)) {
		return fmt.Errorf("%w: its log does not end at entry %d", ErrDamaged, r.last)
	}
	running, err := getRunning(tx, c.id)
	if err != nil {
		return err
	}
	log.FillPercent = 0.9 // keys only grow, so what a split leaves half empty stays so
	for i, e := range c.entries {
		r.last++
		if err := log.Put(position(r.last), seal(entryKey(c.id, r.last), c.values[i])); err != nil {
			return err
		}
		running = r.Project(e, running)
	}
	c.last = r.last
	if len(c.entries) > 0 {
		if r.change, err = renumber(tx, c.id, r.change); err != nil {
			return err
		}
	}
	value, err := r.encode()
	if err != nil {
		return err
	}
	return errors.Join(
		tx.Bucket(sessionBucket).Put(id, value),
		putRunning(tx, c.id, running),
		deleteGrowth(tx, c.id, c.entries))
}

func (c *appendChange) landed(tx *bbolt.Tx) (bool, error) {
	last, err := getLast(tx, c.id)
	if err != nil || c.last == 0 || last < c.last {
		return false, err
	}
	log := tx.Bucket(logBucket).Bucket([]byte(c.id))
	first := c.last - uint64(len(c.values)) + 1
	for i, value := range c.values {
		at := first + uint64(i)
		stored, err := unseal(entryKey(c.id, at), log.Get(position(at)))
		if err != nil || !bytes.Equal(stored, value) {
			return false, err
		}
	}
	return true, nil
}

// renumber gives a session the number of its newest change, in place of the one before; 0: it has none yet.
func renumber(tx *bbolt.Tx, id ID, before uint64) (change uint64, err error) {
	index := tx.Bucket(indexBucket)
	if change, err = index.NextSequence(); err != nil {
		return 0, err
	}
	if before > 0 {
		if err := index.Delete(indexKey(before, id)); err != nil {
			return 0, err
		}
	}
	key := indexKey(change, id)
	return change, index.Put(key, seal(key, nil))
}

func getRunning(tx *bbolt.Tx, id ID) (TurnID, error) {
	value := tx.Bucket(openBucket).Get([]byte(id))
	if value == nil {
		return "", nil
	}
	turn, err := unseal([]byte(id), value)
	if err != nil {
		return "", fmt.Errorf("%w: running turn: %w", ErrDamaged, err)
	}
	return TurnID(turn), nil
}

func putRunning(tx *bbolt.Tx, id ID, turn TurnID) error {
	open, key := tx.Bucket(openBucket), []byte(id)
	if turn == "" {
		return open.Delete(key)
	}
	return open.Put(key, seal(key, []byte(turn)))
}
