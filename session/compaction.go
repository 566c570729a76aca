package session

import (
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// A summary can be undone until somebody says something. Until then the view keeps what the summary replaces:
//
//	compact ──► compactions: [the one before, the newest]   undoable
//	   │            │ uncompact                 │ settle: a prompt, a start of a turn, or a newer summary
//	   │            ▼                           ▼
//	   │        [the one before]            [the newest], and what it replaces is released
//
// In the shared logs of a fork nothing is released or dropped before the logs are cut: a summary may end up behind the cut.

func (v *View) compact(e Entry, c Compaction) error {
	if c.Upto == "" {
		return nil
	}
	if _, _, ok := v.find(c.Upto); !ok {
		return fmt.Errorf("there is no message %s", c.Upto)
	}
	v.settle()
	v.summaries = append(v.summaries, v.Summarised(Entry{Time: e.Time, Turn: e.Turn, Body: c}))
	v.compactions = append(v.compactions, compacted{c, v.now()})
	v.undoable = true
	return nil
}

func (v *View) uncompact(u Uncompaction) error {
	c := v.Compaction()
	if c == nil || !v.undoable || c.Name() != u.Summary {
		return fmt.Errorf("summary %s is not the newest, or somebody has said something since", u.Summary)
	}
	last := len(v.compactions) - 1
	v.undone = append(v.undone, stretch{v.compactions[last].place, v.now()})
	v.compactions = v.compactions[:last]
	v.undoable = false
	v.summaries[len(v.summaries)-1].Undone = true
	return nil
}

// settle makes the newest summary final, if it can still be undone.
func (v *View) settle() {
	if !v.undoable {
		return
	}
	v.undoable = false
	if v.span == len(v.Session.Shared) { // what is shared may be cut before it
		v.compactions = append(v.compactions[:0], v.compactions[len(v.compactions)-1])
		v.release()
	}
}

// Compaction is the newest compaction in effect, nil if there is none.
func (v *View) Compaction() *Compaction {
	if len(v.compactions) == 0 {
		return nil
	}
	return &v.compactions[len(v.compactions)-1].Compaction
}

// Undoable is the summary that an Uncompaction can take back now, empty if there is none: the newest one, until somebody says
// something.
func (v *View) Undoable() SummaryID {
	if !v.undoable {
		return ""
	}
	return v.Compaction().Name()
}

// Undone reports whether a summary was undone, and none was made since.
func (v *View) Undone() bool {
	n := len(v.summaries)
	return n > 0 && v.summaries[n-1].Undone
}

// Rebound reports whether a message was said behind something else than what models are sent in front of it now: before the newest
// compaction, or while a summary was in effect that was undone. Vendors bind thinking to what is in front of it, so that of such a
// message is not sent.
func (v *View) Rebound(m *Message) bool {
	n := len(v.compactions)
	return n > 0 && m.place.compare(v.compactions[n-1].place) < 0 || slices.ContainsFunc(v.undone, func(s stretch) bool {
		return m.place.compare(s.from) > 0 && m.place.compare(s.to) < 0
	})
}

// AskedSince reports whether a person's prompt has become a part of the conversation since the newest compaction.
func (v *View) AskedSince() bool {
	n := len(v.compactions)
	if n == 0 {
		return true
	}
	since := v.compactions[n-1].place
	for _, t := range slices.Backward(v.Turns) {
		for _, m := range t.Messages {
			if m.Role == provider.User && m.Answers == "" && !t.Queued() && m.place.compare(since) > 0 {
				return true
			}
		}
		if t.Start != nil && t.began.compare(since) < 0 {
			break
		}
	}
	return false
}

// With is the view as it would be with one more compaction, for reading only, until the view changes.
func (v *View) With(c Compaction) *View {
	with := *v
	with.compactions = append(slices.Clip(v.compactions), compacted{c, v.now()})
	return &with
}

// Summarised is the summary that the entry of a compaction would make now. The body of the entry must be a Compaction.
func (v *View) Summarised(e Entry) Summary {
	c := e.Body.(Compaction)
	s := Summary{ID: c.Name(), Upto: c.Upto, Turn: e.Turn, Time: e.Time, place: v.now(), After: v.lastSaid()}
	if before := v.Compaction(); before != nil {
		s.Includes = before.Name()
	}
	turn, message := v.Rest()
	for ; turn < len(v.Turns); turn, message = turn+1, 0 {
		list := v.Turns[turn].Messages
		for _, m := range list[min(message, len(list)):] {
			if s.Messages++; s.From == "" {
				s.From = m.ID
			}
			if m.ID == c.Upto {
				return s
			}
		}
	}
	return s
}

// lastSaid is the last message that is whole and that is not in the queue, empty if there is none.
func (v *View) lastSaid() MessageID {
	for _, t := range slices.Backward(v.Turns) {
		if t.Start == nil && !t.Appended() {
			continue
		}
		for _, m := range slices.Backward(t.Messages) {
			if m.Role != provider.Assistant || m.End != nil || t.Released {
				return m.ID
			}
		}
	}
	return ""
}

// Summaries lists all summaries, in order, also those that were undone. The caller must not change the list.
func (v *View) Summaries() []Summary { return v.summaries }

// Summary finds a summary; ok is false if there is none.
func (v *View) Summary(id SummaryID) (s Summary, ok bool) {
	at := slices.IndexFunc(v.summaries, func(s Summary) bool { return s.ID == id })
	if at < 0 {
		return s, false
	}
	return v.summaries[at], true
}

// Rest returns the first message that no summary replaces: the index of its turn, and its own index there.
func (v *View) Rest() (turn, message int) {
	c := v.Compaction()
	if c == nil {
		return 0, 0
	}
	turn, message, _ = v.find(c.Upto)
	return turn, message + 1
}

// find looks for a message, the newest first.
func (v *View) find(id MessageID) (turn, message int, ok bool) {
	for i, t := range slices.Backward(v.Turns) {
		for j, m := range slices.Backward(t.Messages) {
			if m.ID == id {
				return i, j, true
			}
		}
	}
	return 0, 0, false
}

// Models are not sent turns that a summary replaces. So a view drops their content, and a conversation of any length takes a few
// hundred bytes for each old turn. It keeps their ids, their order, and what later requests depend on. The rest is read from the log
// again when people want to see it: see Whole.

// release drops the content of the turns that the newest summary replaces, except that of the last one: the next turn is compared
// with it.
func (v *View) release() {
	first, _ := v.Rest()
	if first == 0 {
		return
	}
	for i := first - 1; i >= 0; i-- {
		t := v.Turns[i]
		if t.Released {
			return // and so are all before it, except some that will never be
		}
		if t.Start == nil && !t.Appended() || t.End == nil || t.cut {
			continue
		}
		t.Released = true
		t.Prompt.Content, t.Prompt.Override, t.Usage, t.Steps = nil, Override{}, provider.Usage{}, nil
		t.Start, t.End = v.slimStart(t.Start), v.slimEnd(t)
		for j := range t.fell {
			t.fell[j].start = v.slimStart(t.fell[j].start)
		}
		for _, id := range t.Took {
			v.turns[id].End, v.turns[id].Prompt.Content = t.End, nil
		}
		for j, m := range t.Messages {
			t.Messages[j] = &Message{ID: m.ID, Turn: m.Turn, Role: m.Role, Time: m.Time, place: m.place}
		}
		t.Messages = slices.Clip(t.Messages)
	}
}

// slimStart has only what later requests need of a start, nil if there is none. Equal turns share it.
func (v *View) slimStart(start *TurnStart) *TurnStart {
	if start == nil {
		return nil
	}
	slim := TurnStart{Model: start.Model, Address: start.Address}
	slim.Reasoning.Effective = start.Reasoning.Effective
	if s := v.slimmed.start; s != nil && s.Model == slim.Model && s.Address == slim.Address && s.Reasoning.Effective == slim.Reasoning.Effective {
		return s
	}
	v.slimmed.start = &slim
	return &slim
}

func (v *View) slimEnd(t *Turn) *TurnEnd {
	if e := v.slimmed.end; e != nil && e.StopReason == t.End.StopReason {
		return e
	}
	v.slimmed.end = &TurnEnd{StopReason: t.End.StopReason}
	return v.slimmed.end
}
