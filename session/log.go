package session

import (
	"context"
	"errors"
	"slices"

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
	// ErrReadOnly if nothing can be stored for now, and ErrFenced if this Log was released, or somebody else has claimed the
	// session: then nothing was written, and nothing ever will be by this Log.
	Append(ctx context.Context, entries ...Entry) (last uint64, err error)

	// Checkpoint says that an open block grew by text, from byte from on. It never waits: the store writes growth after
	// 500 ms or 16 KiB, whichever is first, in one commit with all else that grew, and forgets it when the block is sealed. A
	// checkpoint that cannot be written is not reported; that of the block's end is.
	Checkpoint(block BlockRef, from int, text string)

	// Checkpoints is what is stored of open blocks, in order of Number, also by earlier holders. Each text is a prefix of the
	// text of the block.
	Checkpoints(ctx context.Context) ([]Growth, error)

	// Release gives up the log, after the Appends that run. A second call does nothing.
	Release(ctx context.Context) error
}

// ErrFenced says that a Log is not that of the log's holder any more.
var ErrFenced = errors.New("another agent or process has claimed the session")

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
