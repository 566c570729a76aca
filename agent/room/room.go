package room

import (
	"fmt"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Error refuses what would exceed a bound on memory or on queues.
type Error struct {
	What  string // has no room
	Limit string // the name of the setting
	Bytes int64  // its value
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: the limit is %d bytes (limits.%s)", e.What, e.Bytes, e.Limit)
}

// OfBlocks is what blocks take, in bytes.
func OfBlocks(blocks provider.Blocks) (n int64) {
	const block = 64
	for _, b := range blocks {
		n += block + int64(len(provider.StateOf(b).Data))
		switch b := b.(type) {
		case provider.Text:
			n += int64(len(b.Text))
		case provider.Thinking:
			n += int64(len(b.Text))
		case provider.ToolCall:
			n += int64(len(b.Input) + len(b.Invalid))
		case provider.ToolResult:
			n += OfBlocks(b.Blocks)
		case provider.Media:
			n += int64(len(b.Data))
		case provider.ServerTool:
			n += int64(len(b.Input) + len(b.Text))
			for _, s := range b.Sources {
				n += block + int64(len(s.URL)+len(s.Title)+len(s.Quote))
			}
		case provider.Opaque:
		}
	}
	return n
}

// OfRecord is what a session's record takes, in bytes.
func OfRecord(s session.Session) (n int64) {
	n = int64(len(s.System) + len(s.Instructions.Text) + len(s.CWD) + session.MetadataSize(s.Metadata))
	for _, t := range s.Tools {
		n += int64(len(t.Name) + len(t.Title) + len(t.Description) + len(t.Schema))
	}
	return n
}

// OfView is what a loaded session takes, in bytes. It belongs to the goroutine of the view, and takes time in proportion to
// the conversation.
func OfView(v *session.View) (n int64) {
	const turn, message = 512, 256
	n = OfRecord(v.Session)
	if c := v.Compaction(); c != nil {
		n += int64(len(c.Summary))
	}
	for _, t := range v.Turns {
		n += turn
		for _, m := range t.Messages {
			n += message
			for _, p := range m.Parts {
				n += OfBlocks(provider.Blocks{p.Block})
			}
		}
	}
	return n
}
