package session

import (
	"context"
	"errors"
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// Store keeps sessions. It is safe for concurrent use. Every method that waits ends with ctx; a write that has begun
// is not undone by that, so its outcome is unknown then.
type Store interface {
	// Create keeps a new session, durable on return. ErrExists if the id is taken, ErrNotFound if it shares a log that is
	// not there.
	Create(ctx context.Context, s Session) error

	// CreateOnce is Create for a stamped request. The first with the stamp's id makes the session and keeps m, whose
	// Session is the id of s, in one commit. For a later one, be it at the same time, nothing is made. It returns what the first kept. The newest
	// MaxStamps are remembered, whether their sessions are still there or not.
	CreateOnce(ctx context.Context, s Session, m Made) (first Made, err error)

	// Made is what CreateOnce kept for the id of a stamp; ok is false where it remembers none.
	Made(ctx context.Context, stamp string) (m Made, ok bool, err error)

	// Get is the session's record. ErrNotFound.
	Get(ctx context.Context, id ID) (Session, error)

	// List is a page of records, the last changed first, and the cursor of the next page, empty at the end. Records come
	// without what never changes: System, Tools, Rules and Shared. A page is what there is at one moment. A session that
	// changes between two pages may be on both, and is on one at least. A session that cannot be read is in the list with its
	// id and Status "damaged".
	List(ctx context.Context, q Query) (page []Session, next string, err error)

	// Open lists the sessions with a turn that has started and not ended: what a start after a crash has to close. It
	// costs by their number, not by the number of sessions.
	Open(ctx context.Context) ([]ID, error)

	// Delete removes a session and its log. Deleting what is not there is a success. A log that forks share stays for
	// Entries alone, until the last of these is deleted.
	Delete(ctx context.Context, id ID) error

	// Append adds entries to the log, all or none, and brings the record up to date in the same commit; durable on
	// return. It returns the position of the last one; positions begin with 1 and have no gaps. Sealing or ending a
	// message removes the checkpoints of its blocks. After an error the outcome is unknown until Entries tells.
	Append(ctx context.Context, id ID, entries ...Entry) (last uint64, err error)

	// Entries reads the log after a position, at most limit entries in order.
	Entries(ctx context.Context, id ID, after uint64, limit int) ([]Entry, error)

	// Checkpoint tells that an open block grew by text, beginning at byte from. It never waits: growth is written
	// soon (500 ms or 16 KiB, whichever is first), in one commit with whatever else grew, and forgotten when the
	// block is sealed. A checkpoint that cannot be written is no error: the block's end will be.
	Checkpoint(id ID, block BlockRef, from int, text string)

	// Checkpoints is what is stored of open blocks, each a prefix of what was told, in order of Number.
	Checkpoints(ctx context.Context, id ID) ([]Growth, error)

	// Close writes what waits and closes the store; every later call is ErrClosed.
	Close() error
}

// Query selects sessions for List. The zero Query is the first page of all.
type Query struct {
	Cursor string // of the page before; a broken one is ErrCursor
	Limit  int    // 0: 100; at most 1,000
	CWD    string // exact; empty: any
	Text   string // part of the title, case ignored
}

// BlockRef names an open block. Kind tells what it will be if it is never sealed.
type BlockRef struct {
	Turn    TurnID             `json:"turn_id"`
	Message MessageID          `json:"message_id"`
	Number  int                `json:"number"`
	Kind    provider.BlockKind `json:"kind"`
}

// Growth is what is stored of an open block.
type Growth struct {
	BlockRef
	Text string
}

var (
	ErrNotFound = errors.New("no such session")
	ErrExists   = errors.New("session exists already")
	ErrClosed   = errors.New("store is closed")
	ErrCursor   = errors.New("cursor is not one of ours")

	// ErrReadOnly says that the store takes no writes for now: the disk is full or failed. Reading works.
	ErrReadOnly = errors.New("store is read-only: the disk is full or failing")

	// ErrDamaged says that what was to be read is damaged. The file is left as it is.
	ErrDamaged = errors.New("store is damaged")

	// ErrNewer says that the file was written by a newer build.
	ErrNewer = errors.New("store has a newer format than this build knows")

	// ErrReplaced says that the file at the store's path is not the one that was opened.
	ErrReplaced = errors.New("store was removed or replaced while in use")
)

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

// Report is what CheckFile found.
type Report struct {
	Store    string // the store's id
	Sessions int
	Entries  int
	Size     int64    // of the file, in bytes
	Free     int64    // of Size: pages without use, which later writes take before the file grows
	Damaged  []Damage // in order of ID
}

// Damage is what is wrong with a session.
type Damage struct {
	ID  ID
	Err error
}
