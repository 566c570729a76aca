package session

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/thinkd/thinkd/provider"
)

// Log is the log of a session as its holder has it. [Sessions.Claim] returns one, and Release gives it back. Only its holder recovers
// the session, and only its holder appends. It is safe for concurrent use.
type Log interface {
	// Epoch is higher than that of every earlier Log of the session, in this process and in every one that stored anything. That
	// of a new session is 0. [FirstSeq] makes update numbers of it.
	Epoch() uint64

	// Append adds entries to the log, all or none, and updates the record ([Session.Project]) in the same commit; both are
	// durable on return. It returns the position of the last entry; positions begin with 1 and have no gaps. An entry that ends
	// a block ([Entry.Ends]) removes its checkpoints. After an error the outcome is unknown: Entries has it. The error is
	// ErrReadOnly if nothing can be stored for now. It is ErrFenced if this Log was released, or another holder has claimed the
	// session: then nothing was written, and this Log will never write anything.
	Append(ctx context.Context, entries ...Entry) (last uint64, err error)

	// Checkpoint says that an open block grew by text, from byte from on. It never waits: the store writes growth after
	// 500 ms or 16 KiB, whichever is first, in one commit with all else that grew, and forgets it when the block is sealed. A
	// checkpoint that cannot be written is not reported; a failure to store the block's end is.
	Checkpoint(block BlockRef, from int, text string)

	// Checkpoints returns the stored parts of open blocks, in order of Number, also those of earlier holders. Each text is a prefix of
	// the text of the block.
	Checkpoints(ctx context.Context) ([]Growth, error)

	// Release gives up the log, after the Appends that run. A second call does nothing.
	Release(ctx context.Context) error
}

// Movable is a Log of a store that several processes share: another process may hold the log next.
type Movable interface {
	Log

	// Held reports whether the prompts in the queue wait for a person, because the holder before did not hand the log over.
	Held() bool

	// HandOver is Release after a planned move: the next holder runs the queue. It is durable on return.
	HandOver(ctx context.Context) error

	// InContact reports whether the store can be reached. While it cannot, an Append with entries waits, and one without fails with ErrCutOff.
	InContact() bool

	// Current reports whether nobody else can have claimed the log. If it is not, an Append without entries makes it so, or fails. An Append
	// that returns no error has made it so.
	Current() bool

	// Recent reports whether the newest Append was sent so lately that what its entries say may start: a model call or a tool.
	Recent() bool

	// Doubt makes Current false until the next Append.
	Doubt()
}

// ErrFenced says that the caller's Log does not belong to the holder of the log any more.
var ErrFenced = errors.New("another agent or process has claimed the session")

// ErrCutOff says that this node of a cluster is not in contact with a majority of the store servers. It serves no session until it is.
var ErrCutOff = errors.New("this node is cut off from the store servers")

// UnsyncedError says that a store server of a cluster acknowledges messages before they are on disk, so that no session is created.
type UnsyncedError struct {
	Server string // its name
}

func (e *UnsyncedError) Error() string {
	return "no session can be created: the store server " + e.Server + ` acknowledges messages before they are on disk; its config needs "sync_interval: always"`
}

// ElsewhereError says that another node of a cluster has the log of a session.
type ElsewhereError struct {
	Node string // its name; empty: it is not known
}

func (e *ElsewhereError) Error() string {
	if e.Node == "" {
		return "another node serves the session"
	}
	return "the node " + e.Node + " serves the session"
}

// BlockRef names an open block. Kind is the kind that it gets if it is never sealed.
type BlockRef struct {
	Turn    TurnID             `json:"turn_id"`
	Message MessageID          `json:"message_id"`
	Number  int                `json:"number"`
	Kind    provider.BlockKind `json:"kind"`
}

// Growth is the stored part of an open block.
type Growth struct {
	BlockRef
	Text string
}

// Ends reports whether an entry is the end of an open block: a [Store] forgets its growth in the same commit.
func (e Entry) Ends(ref BlockRef) bool {
	switch body := e.Body.(type) {
	case Sealed:
		return body.Message == ref.Message && body.Number == ref.Number
	case Retry:
		return body.Message == ref.Message && slices.Contains(body.Discarded, ref.Number)
	case MessageEnd:
		return body.Message == ref.Message
	case TurnEnd:
		return e.Turn == ref.Turn
	}
	return false
}

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
