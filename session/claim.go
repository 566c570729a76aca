package session

import (
	"context"
	"sync"
)

// Journal is what Claims needs of a store: the methods of Log for any session, without a check of who holds the log.
type Journal interface {
	Append(ctx context.Context, ref Ref, entries ...Entry) (last uint64, err error)
	Checkpoint(ref Ref, block BlockRef, from int, text string)
	Checkpoints(ctx context.Context, ref Ref) ([]Growth, error)
}

// Claims makes the Logs of a store that one process has to itself. A claim always succeeds there, and takes the log from its holder.
// The zero Claims is ready. It is safe for concurrent use.
type Claims struct {
	mu      sync.Mutex
	holders map[Ref]*claim
	epochs  map[Ref]uint64 // the next one, of each session that was claimed
}

// Claim makes a new holder of a log, once the Appends of the holder before have returned. least is its first epoch,
// unless Claims knows the session.
func (c *Claims) Claim(journal Journal, ref Ref, least uint64) Log {
	c.mu.Lock()
	c.makeLocked()
	before := c.holders[ref]
	epoch, known := c.epochs[ref]
	if !known {
		epoch = least
	}
	l := &claim{claims: c, journal: journal, ref: ref, epoch: epoch}
	c.holders[ref], c.epochs[ref] = l, epoch+1
	c.mu.Unlock()
	if before != nil {
		before.fence()
	}
	return l
}

func (c *Claims) makeLocked() {
	if c.holders == nil {
		c.holders, c.epochs = make(map[Ref]*claim), make(map[Ref]uint64)
	}
}

// Begin takes note of a new session: its epochs begin at 0, whatever least is.
func (c *Claims) Begin(ref Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.makeLocked()
	c.epochs[ref] = 0
}

// Forget drops what is known of a session that was deleted.
func (c *Claims) Forget(ref Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.holders, ref)
	delete(c.epochs, ref)
}

// claim is the Log of one holder.
type claim struct {
	claims  *Claims
	journal Journal
	ref     Ref
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
	return l.journal.Append(ctx, l.ref, entries...)
}

func (l *claim) Checkpoint(block BlockRef, from int, text string) {
	if !l.mu.TryRLock() { // it is being fenced
		return
	}
	defer l.mu.RUnlock()
	if !l.fenced {
		l.journal.Checkpoint(l.ref, block, from, text)
	}
}

func (l *claim) Checkpoints(ctx context.Context) ([]Growth, error) {
	return l.journal.Checkpoints(ctx, l.ref)
}

func (l *claim) Release(context.Context) error {
	l.fence()
	l.claims.mu.Lock()
	defer l.claims.mu.Unlock()
	if l.claims.holders[l.ref] == l {
		delete(l.claims.holders, l.ref)
	}
	return nil
}

// fence waits for the Appends that run, and refuses later ones.
func (l *claim) fence() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fenced = true
}
