package agent

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/relay"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// reply is the message that the model is writing.
type reply struct {
	id       session.MessageID // empty: not begun
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
	number int
	kind   provider.BlockKind
	as     provider.ThinkingKind
	begun  time.Time
	text   []byte
	told   bool // people saw it begin
}

// repeatable reports whether the call may be made again after a failure: clients saw no text of it, or it was lost among
// its tool calls, of which they see nothing before they run. A file that is written is one long argument, so most losses
// happen there, and the text before a call is short.
func (m *reply) repeatable() bool { return !m.shown || m.calling }

// says reports whether a reply has text, a tool call or media. Text that is blank says nothing.
func (s *state) says(m *reply) bool {
	if len(m.calls) > 0 || slices.ContainsFunc(m.seen(), func(b *block) bool { return b.kind == provider.KindText && !blank(string(b.text)) }) {
		return true
	}
	said := s.run.Turn.Message(m.id)
	return said != nil && speaks(said)
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

// seen lists the open blocks of which people saw something, in order. Of a tool call they see nothing before its end.
func (m *reply) seen() []*block {
	return slices.SortedFunc(func(yield func(*block) bool) {
		for _, b := range m.open {
			if (b.told || b.kind == provider.KindText && len(b.text) > 0) && !yield(b) {
				return
			}
		}
	}, func(a, b *block) int { return a.number - b.number })
}

// soFar is the block as far as it came.
func (b *block) soFar() provider.Block {
	if b.kind == provider.KindThinking {
		return provider.Thinking{Text: string(b.text), Kind: b.as}
	}
	return provider.Text{Text: string(b.text)}
}

// openMessage begins the reply when there is something to say.
func (s *state) openMessage() *reply {
	m := &s.run.reply
	if m.id == "" {
		m.id = session.NewMessageID()
		s.tell(s.run.ID, feed.MessageStart{Message: m.id, Role: provider.Assistant})
	}
	if m.open == nil {
		m.open, m.over = make(map[int]*block), make(map[int]int)
	}
	return m
}

// begin opens a block. An index stands for one block of a reply: what comes for it a second time is left out, since
// nobody can say which of the two is meant.
func (s *state) begin(ev provider.Begin) {
	m := s.openMessage()
	if _, over := m.over[ev.Index]; over || m.open[ev.Index] != nil || ev.Block == nil {
		s.run.call.odd++
		return
	}
	b := &block{number: m.next, kind: provider.KindOf(ev.Block), begun: time.Now()}
	m.next++
	m.calling = m.calling || b.kind == provider.KindToolCall
	m.open[ev.Index] = b
	if t, ok := ev.Block.(provider.Thinking); ok {
		b.as = cmp.Or(t.Kind, provider.ThinkingSummary)
	}
}

// announce tells that a block of thinking begins, once there is something of it: an empty one is not told.
func (s *state) announce(b *block) {
	if b.kind == provider.KindThinking && !b.told {
		b.told = true
		s.run.reply.thinking = true
		s.tell(s.run.ID, feed.ThinkingStart{Message: s.run.reply.id, Block: b.number})
	}
}

// grow takes in growth of one block.
func (s *state) grow(index int, list []relay.Step) {
	m := &s.run.reply
	b := m.open[index]
	if b == nil {
		s.run.call.odd += len(list)
		return
	}
	text, ends, empty := s.run.call.steps.Join(list)
	s.run.call.odd += empty
	if text == "" {
		return
	}
	s.announce(b)
	switch b.kind {
	case provider.KindThinking:
		m.visible = true
		s.tellGrowth(feed.ThinkingDelta{Message: m.id, Block: b.number, Delta: text}, ends)
	case provider.KindText:
		m.shown = true
		s.tellGrowth(feed.MessageDelta{Message: m.id, Block: b.number, Delta: text}, ends)
	}
	if b.kind == provider.KindThinking || b.kind == provider.KindText {
		ref := session.BlockRef{Turn: s.run.ID, Message: m.id, Number: b.number, Kind: b.kind}
		s.owned.Checkpoint(ref, len(b.text), text)
	}
	b.text = append(b.text, text...)
	s.count(b.kind, text)
}

// count ends the turn when it has said more than it may.
func (s *state) count(kind provider.BlockKind, text string) {
	s.run.estimate.Hear(kind, text)
	if s.run.bytes += len(text); s.run.bytes > s.cfg.Limits.TurnBytes {
		s.overLimit("bytes")
		return
	}
	s.affordable()
}

// seal keeps a finished block and tells its end. An end of another kind than the block is none of it.
func (s *state) seal(ev provider.End) {
	m := s.openMessage()
	if m.open[ev.Index] == nil {
		s.begin(provider.Begin(ev))
	}
	b := m.open[ev.Index]
	if b == nil || ev.Block == nil || b.kind != provider.KindOf(ev.Block) {
		s.run.call.odd++
		return
	}
	delete(m.open, ev.Index)
	m.over[ev.Index] = b.number
	sealed := fact{turn: s.run.ID}
	var whole string
	switch block := ev.Block.(type) {
	case provider.Thinking:
		if block.Text == "" && block.State.IsZero() && !b.told {
			return
		}
		s.announce(b)
		m.visible = m.visible || block.Text != ""
		block.Duration = time.Since(b.begun).Truncate(time.Millisecond)
		ev.Block = block
		whole = block.Text
		sealed.event = thinkingEnd(m.id, b.number, block)
	case provider.Text:
		if block.Text == "" && block.State.IsZero() && len(b.text) == 0 {
			return
		}
		m.shown = true
		whole = block.Text
		sealed.event = feed.TextEnd{Message: m.id, Block: b.number, Text: block.Text, Sources: block.Sources}
	case provider.Media:
		size := len(block.Data)
		if s.run.bytes += size; s.run.bytes > s.cfg.Limits.TurnBytes {
			s.overLimit("bytes")
			return
		}
		kept, err := s.cfg.stored(provider.Blocks{block})
		if err != nil {
			s.log.Warn("the media of an answer could not be stored", "err", err)
			s.tell(s.run.ID, warn(noticeMissing, fmt.Sprintf("%s of %d bytes in the answer could not be kept: %v", block.Type, size, err)))
			return
		}
		m.shown = true
		media := kept[0].(provider.Media)
		ev.Block = media
		sealed.event = feed.MediaEnd{Message: m.id, Block: b.number, MimeType: media.Type, Size: size, Hash: media.Hash}
	case provider.ToolCall:
		block = m.identify(b.number, block)
		ev.Block = block
		s.run.repeated(block)
		whole = string(block.Input) + block.Invalid
	}
	sealed.body = session.Sealed{Message: m.id, Number: b.number, Block: ev.Block}
	if s.record(sealed) == nil {
		m.sealed = append(m.sealed, b.number)
		s.count(b.kind, whole[min(len(b.text), len(whole)):]) // what came with the end alone
		if s.run != nil && s.run.same >= maxSame {
			s.overLimit(limitRepetition)
		}
	}
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

func thinkingEnd(id session.MessageID, number int, b provider.Thinking) feed.ThinkingEnd {
	return feed.ThinkingEnd{Message: id, Block: number, Text: b.Text, Kind: b.Kind, Signed: b.Signed,
		Tokens: b.Tokens, Estimated: b.Estimated, DurationMS: b.Duration.Milliseconds()}
}

// closeBlocks ends what is open, as far as it came. Kept, it can be shown, and text can be sent; void, it is only
// ended. Of half a tool call nothing is kept: it is of use to nobody.
func (s *state) closeBlocks(keep bool) []fact {
	m := &s.run.reply
	var facts []fact
	for _, b := range m.seen() {
		f := fact{turn: s.run.ID}
		said := b.soFar()
		switch block := said.(type) {
		case provider.Thinking:
			block.Duration = time.Since(b.begun).Truncate(time.Millisecond)
			said, f.event = block, thinkingEnd(m.id, b.number, block)
		case provider.Text:
			f.event = feed.TextEnd{Message: m.id, Block: b.number, Text: block.Text, Sources: nil}
		}
		if keep {
			f.body = session.Sealed{Message: m.id, Number: b.number, Block: said}
		}
		facts = append(facts, f)
	}
	m.open = nil
	return facts
}

// closeMessage ends a reply that is still open as incomplete.
func (s *state) closeMessage(reason session.StopReason, incomplete session.Incomplete) []fact {
	m := &s.run.reply
	if m.id == "" {
		return nil
	}
	usage := s.unmetered()
	facts := s.closeBlocks(true)
	facts = append(facts, fact{s.run.ID, session.MessageEnd{Message: m.id, StopReason: reason, Usage: usage, Incomplete: incomplete},
		feed.MessageEnd{Message: m.id, StopReason: reason, Usage: usage, Cited: nil}})
	*m = reply{}
	return facts
}

// maxSame is how often a turn may make the same tool call in a row: a model that gets the same answer once more goes
// on asking.
const maxSame = 3

// limitRepetition is how turn_end names it.
const limitRepetition = "repetition"

// repeated takes note of a tool call.
func (r *turn) repeated(call provider.ToolCall) {
	as := call.Name + "\x00" + string(call.Input) + call.Invalid
	if as != r.lastTool {
		r.lastTool, r.same = as, 0
	}
	r.same++
}
