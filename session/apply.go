package session

import (
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session/tool"
)

// Apply takes in one entry. An entry that does not fit what came before is an error and changes nothing.
func (v *View) Apply(e Entry) error {
	if e.Body == nil {
		return fmt.Errorf("entry of turn %q has no body", e.Turn)
	}
	if err := v.apply(e); err != nil {
		return fmt.Errorf("entry %s of turn %q: %w", e.Body.kind(), e.Turn, err)
	}
	v.at++
	v.LastSeq = max(v.LastSeq, e.Seq)
	v.running = v.Session.Project(e, v.running)
	return nil
}

func (v *View) apply(e Entry) error {
	switch b := e.Body.(type) {
	case Prompt:
		return v.prompted(e.Turn, e.Time, b)
	case Setting:
		if len(b.Revoke) > 0 { // Session.Apply has the rest
			v.Grants = Without(v.Grants, b.Revoke)
		}
		return nil
	case Repair:
		v.Repairs = append(v.Repairs, b)
		return nil
	case LeftOut:
		v.LeftOut = append(v.LeftOut, b)
		return nil
	case Compaction:
		if t := v.turns[e.Turn]; b.InTurn && t != nil {
			t.Usage = t.Usage.Add(b.Usage)
		}
		return v.compact(e, b)
	case Uncompaction:
		return v.uncompact(b)
	}
	t := v.turns[e.Turn]
	if t == nil {
		return fmt.Errorf("no such turn")
	}
	switch b := e.Body.(type) {
	case Reserved: // Session.Project has it
	case Settled:
		t.Usage = t.Usage.Add(b.Usage)
	case Steered:
		return v.steered(t, b)
	case Moved:
		return v.moved(t, b)
	case ToolStart:
		return v.toolStarted(t, b)
	case ToolEnd:
		return v.toolEnded(t, e.Time, b)
	case Verdict:
		if g, ok := b.granted(); ok {
			v.Grants = g.AddTo(v.Grants)
		}
	case TurnStart:
		if !t.Queued() {
			return fmt.Errorf("the turn has started or ended already")
		}
		v.settle()
		v.advance(t)
		t.Start, t.began = &b, v.now()
		if b.Returned != nil {
			t.Steps = append(t.Steps, Step{At: len(t.Messages), Time: e.Time, Switch: &Switch{From: *b.Returned, To: b.used(), Payer: b.Payer}})
		}
		if len(t.Messages) > 0 {
			t.Messages[0].place = v.now()
		}
	case FellBack:
		if !t.Running() {
			return fmt.Errorf("the turn does not run")
		}
		t.Steps = append(t.Steps, Step{At: len(t.Messages), Time: e.Time,
			Switch: &Switch{From: t.Now().used(), To: b.used(), Payer: b.Payer, Why: &b.Why, Continues: b.Continues}})
		t.fell = append(t.fell, fell{len(t.Messages), &b.TurnStart, b.Continues})
	case Sealed:
		m := t.open(b.Message, e.Time)
		if m.has(b.Number) {
			return fmt.Errorf("block %d is sealed already", b.Number)
		}
		m.add(Part{b.Number, b.Block})
		m.place = v.now()
	case Retry:
		t.Usage = t.Usage.Add(b.Usage)
		m := t.open(b.Message, e.Time)
		m.place = v.now()
		m.remove(b.Discarded)
	case MessageEnd:
		t.Usage = t.Usage.Add(b.Usage)
		m := t.open(b.Message, e.Time)
		m.End, m.place = &b, v.now()
		m.cite(b.Cited)
	case TurnParked:
		if !t.Running() {
			return fmt.Errorf("the turn does not run")
		}
		t.Parked = &b
		t.Agreed = t.Agreed && !b.asksPrompt()
	case TurnResumed:
		if t.Parked == nil {
			return fmt.Errorf("the turn is not parked")
		}
		t.Agreed = t.Agreed || t.Parked.asksPrompt()
		t.unpark(e.Time, b.By)
	case TurnEnd:
		if t.End != nil {
			return fmt.Errorf("the turn has ended already")
		}
		if t.Prompt.Append && t.Queued() && b.StopReason == StopEndTurn {
			v.advance(t)
			t.began, t.Messages[0].place = v.now(), v.now()
		}
		t.unpark(e.Time, "")
		t.End, t.ended = &b, v.now()
		for _, id := range t.Took {
			v.turns[id].End = &b
		}
	default:
		return fmt.Errorf("body %T has no case", e.Body)
	}
	return nil
}

func (v *View) prompted(id TurnID, time int64, p Prompt) error {
	if t := v.turns[id]; t != nil {
		return v.replaced(t, p)
	}
	v.settle()
	t := &Turn{ID: id, Prompt: p, said: v.now()}
	if p.Continues == nil {
		said := &Message{ID: p.Message, Turn: id, Role: provider.User, Time: time, place: v.now()}
		for i, b := range p.Content {
			said.add(Part{i, b})
		}
		t.Messages = []*Message{said}
	}
	v.Turns = append(v.Turns, t)
	v.turns[id] = t
	if p.Stamp != nil {
		v.stamp(t)
	}
	return nil
}

// replaced puts a prompt in the place of one that waits.
func (v *View) replaced(t *Turn, p Prompt) error {
	if !p.Replaces || !t.Queued() || p.Message != t.Prompt.Message {
		return fmt.Errorf("the turn has a prompt already")
	}
	said := &Message{ID: p.Message, Turn: t.ID, Role: provider.User, Time: t.Messages[0].Time, place: v.now()}
	for i, b := range p.Content {
		said.add(Part{i, b})
	}
	t.Prompt, t.said, t.Unloaded, t.Messages = p, v.now(), false, []*Message{said}
	return nil
}

// moved puts a queued turn in front of another one, or behind all.
func (v *View) moved(t *Turn, m Moved) error {
	before := v.turns[m.Before]
	if !t.Queued() || t.Prompt.Steer || m.Before != "" && (before == nil || before == t || !before.Queued() || before.Prompt.Steer) {
		return fmt.Errorf("the turn does not wait, or turn %q does not", m.Before)
	}
	v.Turns = slices.Delete(v.Turns, slices.Index(v.Turns, t), slices.Index(v.Turns, t)+1)
	to := len(v.Turns)
	if before != nil {
		to = slices.Index(v.Turns, before)
	}
	v.Turns = slices.Insert(v.Turns, to, t)
	return nil
}

func (v *View) steered(t *Turn, s Steered) error {
	into := v.turns[s.Into]
	if !t.Queued() || into == nil || !into.Running() {
		return fmt.Errorf("the turn does not wait, or turn %q does not run", s.Into)
	}
	v.settle()
	t.Into = s.Into
	into.Took = append(into.Took, t.ID)
	for _, m := range t.Messages {
		m.place = v.now()
	}
	into.Messages, t.Messages = append(into.Messages, t.Messages...), nil
	return nil
}

// advance moves a turn that starts, or is appended, ahead of those that wait. Models see turns in this order, and a prompt that was meant to steer
// starts before earlier ones.
func (v *View) advance(t *Turn) {
	from := len(v.Turns) - 1
	for v.Turns[from] != t {
		from--
	}
	to := from
	for i := from - 1; i >= 0 && v.Turns[i].Start == nil && !v.Turns[i].Appended(); i-- {
		if v.Turns[i].Queued() {
			to = i
		}
	}
	copy(v.Turns[to+1:from+1], v.Turns[to:from])
	v.Turns[to] = t
}

// stamp remembers a turn by the stamp of its prompt. The oldest is forgotten, unless its id has been used again since.
func (v *View) stamp(t *Turn) {
	if len(v.stamped) == MaxStamps {
		oldest := v.stamped[0]
		if id := oldest.Prompt.Stamp.ID; v.stamps[id] == oldest {
			delete(v.stamps, id)
		}
		v.stamped[0] = nil
		v.stamped = v.stamped[1:]
	}
	if v.stamps == nil {
		v.stamps = make(map[string]*Turn)
	}
	v.stamps[t.Prompt.Stamp.ID] = t
	v.stamped = append(v.stamped, t)
}

// Without returns the grants whose ids are not in ids.
func Without(list []tool.Grant, ids []string) []tool.Grant {
	return slices.DeleteFunc(slices.Clone(list), func(g tool.Grant) bool { return slices.Contains(ids, g.ID) })
}

func (v *View) toolStarted(t *Turn, s ToolStart) error {
	m := t.Message(s.Message)
	if m == nil || !m.has(s.Block) || slices.Contains(m.Begun, s.Block) {
		return fmt.Errorf("message %s has no call %d, or it was begun before", s.Message, s.Block)
	}
	m.Begun, m.place = append(m.Begun, s.Block), v.now()
	return nil
}

func (v *View) toolEnded(t *Turn, time int64, e ToolEnd) error {
	reply := t.Message(e.Reply)
	if reply == nil || e.Number < 0 || e.Number >= reply.calls {
		return fmt.Errorf("message %s has no call %d", e.Reply, e.Number)
	}
	if m := t.Results(e.Reply); m != nil && m.has(e.Number) {
		return fmt.Errorf("call %d of message %s has its result already", e.Number, e.Reply)
	}
	t.result(e, time).place = v.now()
	return nil
}
