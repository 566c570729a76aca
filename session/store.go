package session

import (
	"context"
	"errors"
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// Store keeps sessions. It is safe for concurrent use. Every method that waits returns when ctx ends. That does not undo a write
// that has begun, so the outcome of the write is unknown then.
//
// Agents call Append, Checkpoint and Checkpoints, each for the session that it runs. Everybody may call the others. Package
// storetest tests what is promised here.
type Store interface {
	// Create keeps a new session; it is durable on return. The error is ErrExists if the id is taken, and ErrNotFound if the
	// session shares a log that is not there.
	Create(ctx context.Context, s Session) error

	// CreateOnce is Create for a stamped request. The first request with the stamp's id makes the session and keeps m, whose
	// Session is the id of s, in one commit. A later one, even in parallel, makes nothing and returns what the first kept. The
	// store remembers the newest MaxStamps, also those of deleted sessions.
	CreateOnce(ctx context.Context, s Session, m Made) (first Made, err error)

	// Made is what CreateOnce kept for the id of a stamp; ok is false if the store remembers none.
	Made(ctx context.Context, stamp string) (m Made, ok bool, err error)

	// Get is the session's record. The error is ErrNotFound if there is none, and ErrDamaged if it cannot be read.
	Get(ctx context.Context, id ID) (Session, error)

	// List is a page of records, the last changed first, and the cursor of the next page, empty at the end. Records come
	// without System, Tools, Rules and Shared ([Session.Changing]). A page shows one moment. A session that changes between two
	// pages is on at least one of them, and may be on both. A session that cannot be read is listed with its id and the status
	// Damaged.
	List(ctx context.Context, q Query) (page []Session, next string, err error)

	// Open lists the sessions with a turn that has started and not ended. After a crash these must be closed. Its cost depends
	// on their number, not on the number of sessions.
	Open(ctx context.Context) ([]ID, error)

	// Delete removes a session and its log. Deleting a session that is not there is a success. If forks share the log, Entries
	// still reads it, until the last of them is deleted.
	Delete(ctx context.Context, id ID) error

	// Append adds entries to the log, all or none, and updates the record ([Session.Project]) in the same commit; both are
	// durable on return. It returns the position of the last entry; positions begin with 1 and have no gaps. An entry that ends
	// a block ([Entry.Ends]) removes its checkpoints. After an error the outcome is unknown: Entries has it. The error is
	// ErrReadOnly if nothing can be stored for now.
	Append(ctx context.Context, id ID, entries ...Entry) (last uint64, err error)

	// Entries reads the log after a position: at most limit entries, in order. At the end of the log there are none.
	Entries(ctx context.Context, id ID, after uint64, limit int) ([]Entry, error)

	// Checkpoint says that an open block grew by text, from byte from on. It never waits: the store writes growth after
	// 500 ms or 16 KiB, whichever is first, in one commit with all else that grew, and forgets it when the block is sealed. A
	// checkpoint that cannot be written is not reported; that of the block's end is.
	Checkpoint(id ID, block BlockRef, from int, text string)

	// Checkpoints is what is stored of open blocks, in order of Number. Each text is a prefix of the text of the block.
	Checkpoints(ctx context.Context, id ID) ([]Growth, error)

	// Close writes what waits and closes the store. Every later call returns ErrClosed.
	Close() error
}

// Query selects sessions for List. The zero Query is the first page of all.
type Query struct {
	Cursor string // of the page before; empty: the first page
	Limit  int    // 0: 100; at most 1,000
	CWD    string // exact; empty: any
	Text   string // part of the title, case ignored
}

// BlockRef names an open block. Kind is what becomes of it if it is never sealed.
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

	// ErrReadOnly says that nothing can be written for now: the disk is full or failed. Reading works.
	ErrReadOnly = errors.New("store is read-only: the disk is full or failing")

	// ErrDamaged says that data is damaged. The file is left as it is.
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

// Report is what a check of all data of a store found.
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
