package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// mirror is what a client knows: it begins with a snapshot, folds updates, and complains about every update that does
// not fit what it knows.
type mirror struct {
	seq     uint64
	turn    session.TurnID    // running; empty: none
	message session.MessageID // open; empty: none
	parked  bool              // the turn that runs is
	blocks  map[blockKey]*shownBlock
	queue   []session.TurnID
	calls   map[string]int         // by id: calls that were published, with the number of their results, 0 or 1
	asked   map[string]bool        // open questions
	starts  map[session.TurnID]int // of turns, seen here
	ends    map[session.TurnID]int
}

type blockKey struct {
	message session.MessageID
	number  int
}

type shownBlock struct {
	kind provider.BlockKind
	text string
	open bool
}

func newMirror(snap Snapshot) *mirror {
	m := &mirror{seq: snap.Seq, blocks: make(map[blockKey]*shownBlock),
		calls: make(map[string]int), asked: make(map[string]bool), starts: make(map[session.TurnID]int), ends: make(map[session.TurnID]int)}
	take := func(list []Message) {
		for _, msg := range list {
			for _, p := range msg.Parts {
				m.blocks[blockKey{msg.ID, p.Number}] = &shownBlock{provider.KindOf(p.Block), blockText(p.Block), false}
			}
			for _, o := range msg.Open {
				m.blocks[blockKey{msg.ID, o.Number}] = &shownBlock{provider.KindOf(o.Block), blockText(o.Block), true}
			}
			if msg.Role == provider.Assistant && msg.End == nil {
				m.message = msg.ID
			}
		}
	}
	take(snap.Messages)
	if snap.Turn != nil {
		m.turn, m.parked = snap.Turn.ID, snap.Turn.Parked != nil
		take(snap.Turn.Messages)
		for _, c := range snap.Turn.Tools {
			m.calls[c.CallID] = 0
		}
		for _, c := range snap.Turn.Confirms {
			m.asked[c.ID] = true
		}
	}
	for _, q := range snap.Queue.Queue {
		m.queue = append(m.queue, q.Turn)
	}
	return m
}

func blockText(b provider.Block) string {
	switch b := b.(type) {
	case provider.Text:
		return b.Text
	case provider.Thinking:
		return b.Text
	}
	return ""
}

// apply takes in one update.
func (m *mirror) apply(u *feed.Update) error {
	if err := m.fold(u); err != nil {
		return fmt.Errorf("update %d %s %+v: %w", u.Seq, u.Event.Method(), u.Event, err)
	}
	return nil
}

func (m *mirror) fold(u *feed.Update) error {
	first := u.Seq
	if u.FirstSeq != 0 {
		first = u.FirstSeq
	}
	if first != m.seq+1 || u.Seq < first {
		return fmt.Errorf("it begins with %d after %d", first, m.seq)
	}
	m.seq = u.Seq
	switch u.Event.(type) {
	case feed.MessageStart, feed.ToolStart, feed.Confirm, feed.Retry:
		if m.parked {
			return fmt.Errorf("the turn is parked")
		}
	}
	switch e := u.Event.(type) {
	case feed.TurnStart:
		m.starts[u.Turn]++
		if m.turn != "" {
			return fmt.Errorf("turn %s runs", m.turn)
		}
		m.turn = u.Turn
	case feed.TurnEnd:
		if m.ends[u.Turn]++; m.ends[u.Turn] > 1 {
			return fmt.Errorf("the turn ended before")
		}
		if u.Turn != m.turn { // it was queued
			if m.starts[u.Turn] > 0 {
				return fmt.Errorf("the turn that runs is %q", m.turn)
			}
			return nil
		}
		if m.message != "" {
			return fmt.Errorf("message %s is open", m.message)
		}
		for id, results := range m.calls {
			if results != 1 {
				return fmt.Errorf("call %s has %d results", id, results)
			}
		}
		if len(m.asked) > 0 {
			return fmt.Errorf("questions are open: %v", m.asked)
		}
		clear(m.calls)
		m.turn, m.parked = "", false
	case feed.TurnParked:
		if m.turn != u.Turn || m.message != "" {
			return fmt.Errorf("in turn %q, message %q", m.turn, m.message)
		}
		for id, results := range m.calls {
			if results != 1 {
				return fmt.Errorf("call %s has %d results", id, results)
			}
		}
		m.parked = true
	case feed.TurnResumed:
		if m.turn != u.Turn || !m.parked {
			return fmt.Errorf("turn %q, parked: %v", m.turn, m.parked)
		}
		m.parked = false
	case feed.ToolStart:
		if _, known := m.calls[e.CallID]; known {
			return fmt.Errorf("the call was published before")
		}
		m.calls[e.CallID] = 0
		key := blockKey{e.Message, e.Block}
		if b := m.blocks[key]; b != nil && b.kind != provider.KindToolCall {
			return fmt.Errorf("block %v was a %s", key, b.kind)
		}
		m.blocks[key] = &shownBlock{kind: provider.KindToolCall}
	case feed.ToolEnd:
		if results, known := m.calls[e.CallID]; !known || results > 0 {
			return fmt.Errorf("the call was published: %v, and had %d results", known, results)
		}
		m.calls[e.CallID]++
		m.blocks[blockKey{e.Message, e.Number}] = &shownBlock{kind: provider.KindToolResult}
	case feed.ToolOutput:
		if results, known := m.calls[e.CallID]; !known || results > 0 {
			return fmt.Errorf("the call does not run")
		}
	case feed.Confirm:
		m.asked[e.ID] = true
	case feed.ConfirmResolved:
		if !m.asked[e.ID] {
			return fmt.Errorf("no such question")
		}
		delete(m.asked, e.ID)
	case feed.MessageStart:
		if m.turn == "" || m.message != "" {
			return fmt.Errorf("in turn %q, message %q", m.turn, m.message)
		}
		m.message = e.Message
	case feed.MessageEnd:
		if m.message != e.Message {
			return fmt.Errorf("the message that is open is %q", m.message)
		}
		for key, b := range m.blocks {
			if key.message == e.Message && b.open {
				return fmt.Errorf("block %d is open", key.number)
			}
		}
		m.message = ""
	case feed.ThinkingStart:
		return m.begin(e.Message, e.Block, provider.KindThinking)
	case feed.ThinkingDelta:
		if m.blocks[blockKey{e.Message, e.Block}] == nil {
			return fmt.Errorf("no such block")
		}
		return m.grow(e.Message, e.Block, e.Delta)
	case feed.MessageDelta:
		if m.blocks[blockKey{e.Message, e.Block}] == nil {
			if err := m.begin(e.Message, e.Block, provider.KindText); err != nil {
				return err
			}
		}
		return m.grow(e.Message, e.Block, e.Delta)
	case feed.ThinkingEnd:
		return m.end(e.Message, e.Block, e.Text)
	case feed.TextEnd:
		if m.blocks[blockKey{e.Message, e.Block}] == nil {
			if err := m.begin(e.Message, e.Block, provider.KindText); err != nil {
				return err
			}
		}
		return m.end(e.Message, e.Block, e.Text)
	case feed.Retry:
		for _, number := range e.Discarded {
			if b := m.blocks[blockKey{m.message, number}]; b != nil && b.open {
				return fmt.Errorf("block %d is open and void", number)
			}
			delete(m.blocks, blockKey{m.message, number})
		}
	case feed.QueueUpdate:
		m.queue = nil
		for _, q := range e.Queue {
			m.queue = append(m.queue, q.Turn)
		}
	}
	return nil
}

func (m *mirror) begin(id session.MessageID, number int, kind provider.BlockKind) error {
	if m.message != id {
		return fmt.Errorf("the message that is open is %q", m.message)
	}
	if m.blocks[blockKey{id, number}] != nil {
		return fmt.Errorf("block %d was there before", number)
	}
	m.blocks[blockKey{id, number}] = &shownBlock{kind: kind, open: true}
	return nil
}

func (m *mirror) grow(id session.MessageID, number int, text string) error {
	b := m.blocks[blockKey{id, number}]
	if !b.open {
		return fmt.Errorf("block %d is not open", number)
	}
	b.text += text
	return nil
}

func (m *mirror) end(id session.MessageID, number int, text string) error {
	b := m.blocks[blockKey{id, number}]
	if b == nil || !b.open {
		return fmt.Errorf("block %d is not open", number)
	}
	if b.text != "" && b.text != text {
		return fmt.Errorf("block %d was published as %q", number, b.text)
	}
	b.text, b.open = text, false
	return nil
}

// compare holds what the client knows against the session. live: the client saw everything up to now; otherwise it
// went away at some time, and only what was sealed for it must be there.
func (m *mirror) compare(history []Message, snap Snapshot, live bool) error {
	want := make(map[blockKey]*shownBlock)
	for _, msg := range history {
		for _, p := range msg.Parts {
			want[blockKey{msg.ID, p.Number}] = &shownBlock{provider.KindOf(p.Block), blockText(p.Block), false}
		}
		for _, o := range msg.Open {
			want[blockKey{msg.ID, o.Number}] = &shownBlock{provider.KindOf(o.Block), blockText(o.Block), true}
		}
	}
	for key, b := range m.blocks {
		w := want[key]
		switch {
		case b.open && !live: // its text in the log is a prefix, or more than the client saw, or nothing
			if w != nil && !strings.HasPrefix(w.text, b.text) && !strings.HasPrefix(b.text, w.text) {
				return fmt.Errorf("block %v was open with %q, and is %+v", key, b.text, *w)
			}
		case w == nil && m.message == key.message && !live: // a retry that the client did not see made it void
		case w == nil:
			return fmt.Errorf("block %v %+v is not in the session", key, *b)
		case *w != *b:
			return fmt.Errorf("block %v is %+v for the client, and %+v", key, *b, *w)
		}
	}
	if !live {
		return nil
	}
	for key, w := range want {
		told := w.kind == provider.KindText || w.kind == provider.KindThinking || w.kind == provider.KindToolResult
		if told && m.blocks[key] == nil && m.saw(key.message) {
			return fmt.Errorf("block %v %+v is not known to the client", key, *w)
		}
	}
	var running session.TurnID
	if snap.Turn != nil {
		running = snap.Turn.ID
	}
	if m.turn != running {
		return fmt.Errorf("for the client turn %q runs, and it is %q", m.turn, running)
	}
	if m.seq != snap.Seq {
		return fmt.Errorf("the client stands at %d, the session at %d", m.seq, snap.Seq)
	}
	var queue []session.TurnID
	for _, q := range snap.Queue.Queue {
		queue = append(queue, q.Turn)
	}
	if !slices.Equal(queue, m.queue) {
		return fmt.Errorf("for the client %v wait, and it is %v", m.queue, queue)
	}
	return nil
}

// saw reports whether any block of a message came to the client: one that attached late knows nothing of old ones.
func (m *mirror) saw(id session.MessageID) bool {
	for key := range m.blocks {
		if key.message == id {
			return true
		}
	}
	return false
}
