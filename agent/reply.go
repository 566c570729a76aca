package agent

import (
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// reply is the message that the model is writing.
type reply struct {
	id       session.MessageID // empty: not begun
	served   *feed.Served      // as its start says
	next     int               // number of the next block
	open     map[int]*block    // by the adapter's index
	over     map[int]int       // numbers of blocks that have ended, by index
	sealed   []int             // numbers
	shown    bool              // text was shown
	calling  bool              // a tool call was begun
	thinking bool              // thinking was seen
	visible  bool              // thinking with text was seen
	paused   bool              // the next one goes on with it
	calls    map[string]bool   // ids of the tool calls sealed
	twice    map[int]bool      // numbers of those whose id another one had
}

// block is an open block.
type block struct {
	number    int
	kind      provider.BlockKind
	as        provider.ThinkingKind
	begun     time.Time
	text      []byte
	announced bool // clients have its start
}

// Open is a block that is being written.
type Open struct {
	Number int
	Block  provider.Block // as far as it came
}

// repeatable reports whether the call may be made again after a failure: clients saw no text of it, or it was lost among
// its tool calls, of which they see nothing before they run. A file that is written is one long argument, so most losses
// happen there, and the text before a call is short.
func (m *reply) repeatable() bool { return !m.shown || m.calling }

// seen lists the open blocks of which people saw something, in order. Of a tool call they see nothing before its end.
func (m *reply) seen() []*block {
	return slices.SortedFunc(func(yield func(*block) bool) {
		for _, b := range m.open {
			if (b.announced || b.kind == provider.KindText && len(b.text) > 0) && !yield(b) {
				return
			}
		}
	}, func(a, b *block) int { return a.number - b.number })
}

// blocks is what is being written.
func (m *reply) blocks() []Open {
	var list []Open
	for _, b := range m.seen() {
		list = append(list, Open{b.number, b.soFar()})
	}
	return list
}

// soFar is the block as far as it came.
func (b *block) soFar() provider.Block {
	if b.kind == provider.KindThinking {
		return provider.Thinking{Text: string(b.text), Kind: b.as}
	}
	return provider.Text{Text: string(b.text)}
}

// identify knows a sealed tool call by its id. One that has none, or that of another, gets one of ours, and loses the vendor's
// state, which has the wrong one: a result must belong to just one call.
func (m *reply) identify(number int, c provider.ToolCall) provider.ToolCall {
	if m.calls == nil {
		m.calls, m.twice = make(map[string]bool), make(map[int]bool)
	}
	if m.calls[c.ID] {
		m.twice[number] = true
	}
	if c.ID == "" || m.calls[c.ID] {
		c.ID, c.State = "call_"+rand.Text()[:16], provider.State{}
	}
	m.calls[c.ID] = true
	return c
}

// late is the sources that were named behind the end of their texts, by the numbers of these.
func (m *reply) late(list []provider.Cited) (cited []session.Cited) {
	for _, c := range list {
		if number, ok := m.over[c.Index]; ok && slices.Contains(m.sealed, number) {
			cited = append(cited, session.Cited{Block: number, Sources: c.Sources})
		}
	}
	return cited
}

// speaks is says for a message of the log.
func speaks(m *session.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p session.Part) bool {
		switch b := p.Block.(type) {
		case provider.Text:
			return !blank(b.Text)
		case provider.ToolCall, provider.Media:
			return true
		case provider.Thinking, provider.Opaque, provider.ToolResult:
		}
		return false
	})
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

func thinkingEnd(id session.MessageID, number int, b provider.Thinking) feed.ThinkingEnd {
	return feed.ThinkingEnd{Message: id, Block: number, Text: b.Text, Kind: b.Kind, Signed: b.Signed,
		Tokens: b.Tokens, Estimated: b.Estimated, DurationMS: b.Duration.Milliseconds()}
}

// answering is the model that answers the running call, as far as it is known.
type answering struct {
	by  *session.Served // nil: the answer has not begun
	row provider.Model  // for the price
}

// corrected is the model that answers, if the message began with another one: the call was made again, or the answer names
// another model in its middle.
func (m *reply) corrected(by *session.Served) *feed.Served {
	now := feed.NewServed(by)
	if now == nil || m.served != nil && *now == *m.served {
		return nil
	}
	return now
}
