package session

import (
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/provider"
)

func (v *View) compact(c Compaction) error {
	if c.Upto == "" {
		return nil
	}
	if _, _, ok := v.find(c.Upto); !ok {
		return fmt.Errorf("there is no message %s", c.Upto)
	}
	if own := v.span == len(v.Session.Shared); own { // what is shared may be cut before it
		v.compactions = append(v.compactions[:0], compacted{c, v.now()})
		v.release()
		return nil
	}
	v.compactions = append(v.compactions, compacted{c, v.now()})
	return nil
}

// Compaction is the newest compaction, nil if there is none.
func (v *View) Compaction() *Compaction {
	if len(v.compactions) == 0 {
		return nil
	}
	return &v.compactions[len(v.compactions)-1].Compaction
}

// Precompacted reports whether a message was said before the newest compaction.
func (v *View) Precompacted(m *Message) bool {
	n := len(v.compactions)
	return n > 0 && m.place.compare(v.compactions[n-1].place) < 0
}

// Rest is the first message that no summary replaces, by the indexes of its turn and of itself.
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
		t.Prompt.Content, t.Prompt.Override, t.Usage = nil, Override{}, provider.Usage{}
		t.Start, t.End = v.slimStart(t), v.slimEnd(t)
		for _, id := range t.Took {
			v.turns[id].End, v.turns[id].Prompt.Content = t.End, nil
		}
		for j, m := range t.Messages {
			t.Messages[j] = &Message{ID: m.ID, Turn: m.Turn, Role: m.Role, place: m.place}
		}
		t.Messages = slices.Clip(t.Messages)
	}
}

// slimStart has only what later requests need of a start, nil if there is none. Equal turns share it.
func (v *View) slimStart(t *Turn) *TurnStart {
	if t.Start == nil {
		return nil
	}
	slim := TurnStart{Model: t.Start.Model, Address: t.Start.Address}
	slim.Reasoning.Effective = t.Start.Reasoning.Effective
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
