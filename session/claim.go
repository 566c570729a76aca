package session

import (
	"context"
	"sync"
)

// Journal is what Claims needs of a store: the methods of Log for a session by its id, without a check of the owner.
type Journal interface {
	Append(ctx context.Context, id ID, entries ...Entry) (last uint64, err error)
	Checkpoint(id ID, block BlockRef, from int, text string)
	Checkpoints(ctx context.Context, id ID) ([]Growth, error)
}

// Claims makes the Logs of a store that one process has to itself. A claim always succeeds there, and takes the session from its
// owner before. The zero Claims is ready. It is safe for concurrent use.
type Claims struct {
	mu     sync.Mutex
	owners map[ID]*claim
	epochs map[ID]uint64 // the next one, of each session that was claimed
}

// Claim makes a new owner of a session, once the Appends of the owner before have returned. least is its first epoch,
// unless Claims knows the session.
func (c *Claims) Claim(journal Journal, id ID, least uint64) Log {
	c.mu.Lock()
	c.makeLocked()
	before := c.owners[id]
	epoch, known := c.epochs[id]
	if !known {
		epoch = least
	}
	l := &claim{claims: c, journal: journal, id: id, epoch: epoch}
	c.owners[id], c.epochs[id] = l, epoch+1
	c.mu.Unlock()
	if before != nil {
		before.fence()
	}
	return l
}

func (c *Claims) makeLocked() {
	if c.owners == nil {
		c.owners, c.epochs = make(map[ID]*claim), make(map[ID]uint64)
	}
}

// Begin takes note of a new session: its epochs begin at 0, whatever least is.
func (c *Claims) Begin(id ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.makeLocked()
	c.epochs[id] = 0
}

// Forget drops what is known of a session that was deleted.
func (c *Claims) Forget(id ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.owners, id)
	delete(c.epochs, id)
}

// claim is the Log of one owner.
type claim struct {
	claims  *Claims
	journal Journal
	id      ID
	epoch   uint64

	mu     sync.RWMutex // shared while an Append runs
	fenced bool
}

func (l *claim) Epoch() uint64 { return l.epoch }

func (l *claim) Append(ctx context.Context, entries ...Entry) (uint64, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.fenced {
		return 0, ErrFenced
	}
	return l.journal.Append(ctx, l.id, entries...)
}

func (l *claim) Checkpoint(block BlockRef, from int, text string) {
	if !l.mu.TryRLock() { // it is being fenced
		return
	}
	defer l.mu.RUnlock()
	if !l.fenced {
		l.journal.Checkpoint(l.id, block, from, text)
	}
}

func (l *claim) Checkpoints(ctx context.Context) ([]Growth, error) {
	return l.journal.Checkpoints(ctx, l.id)
}

func (l *claim) Release(context.Context) error {
	l.fence()
	l.claims.mu.Lock()
	defer l.claims.mu.Unlock()
	if l.claims.owners[l.id] == l {
		delete(l.claims.owners, l.id)
	}
	return nil
}

// fence waits for the Appends that run, and refuses later ones.
func (l *claim) fence() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fenced = true
}
