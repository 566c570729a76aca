package stored

import (
	"context"
	"errors"
	"fmt"

	"github.com/thinkd/thinkd/agent/room"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Full refuses a request that would exceed the quota of its user.
type Full struct{ Used, Most int64 }

func (e *Full) Error() string {
	return fmt.Sprintf("your sessions take %d bytes, and you may store %d: delete sessions to go on", e.Used, e.Most)
}

// counted is what a session takes.
type counted struct {
	change        uint64 // see [Cluster.Changes]
	upto          uint64 // position in the log
	record, bytes int64
}

// read adds what the log has after the position. A session that was deleted or is damaged takes nothing.
func (c *counted) read(ctx context.Context, of session.Sessions, id session.ID) error {
	record, err := of.Get(ctx, id)
	c.record = room.OfRecord(record)
	for err == nil {
		var entries []session.Entry
		if entries, err = of.Entries(ctx, id, c.upto, 256); len(entries) == 0 {
			break
		}
		c.bytes, c.upto = c.bytes+Bytes(entries), c.upto+uint64(len(entries))
	}
	if errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrDamaged) {
		*c = counted{}
		return nil
	}
	return err
}

// Bytes is what entries take, with their media.
func Bytes(entries []session.Entry) (n int64) {
	texts, err := session.EncodeEntries(entries)
	if err != nil { // the store says so
		return 0
	}
	for i, text := range texts {
		n += int64(len(text))
		if said, ok := entries[i].Body.(session.Prompt); ok {
			n += mediaBytes(said.Content)
		}
	}
	return n
}

// mediaBytes returns the bytes of the files that the log refers to for these blocks.
func mediaBytes(blocks provider.Blocks) (n int64) {
	for _, b := range blocks {
		if file, ok := b.(provider.Media); ok && file.Hash != "" {
			n += int64(file.Size)
		}
	}
	return n
}
