package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// Where a summary stands for turns, models are not sent them again: a view lets go of what they hold, so that a conversation of
// any length takes a few hundred bytes for each of its old turns. Their ids, their order and what later requests depend on
// stay; the rest is read from the log again when people want to see it.

// release lets go of the turns before the newest that a summary stands for. That one stays, since what comes next is held
// against it.
func (v *View) release() {
	first, _ := v.Rest()
	if first == 0 {
		return
	}
	for i := first - 1; i >= 0; i-- {
		t := v.Turns[i]
		if t.Released {
			return // and so are all before it, but for some that will never be
		}
		if t.Start == nil || t.End == nil || t.cut {
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

// slimStart is what later requests depend on of a start; turns that are alike share it.
func (v *View) slimStart(t *Turn) *TurnStart {
	slim := TurnStart{Model: t.Start.Model}
	slim.Reasoning.Effective = t.Start.Reasoning.Effective
	if s := v.slimmed.start; s != nil && s.Model == slim.Model && s.Reasoning.Effective == slim.Reasoning.Effective {
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

// slimmed is what the turn that was let go of last has left.
type slimmed struct {
	start *TurnStart
	end   *TurnEnd
}

// Whole is a turn with all that was said in it: itself, or, where it was released, a copy from the log.
func (v *View) Whole(ctx context.Context, store Store, t *Turn) (*Turn, error) {
	if !t.Released {
		return t, nil
	}
	id := v.Session.ID
	if t.ended.span < len(v.Session.Shared) {
		id = v.Session.Shared[t.ended.span].Session
	}
	ours := map[TurnID]bool{t.ID: true}
	before := []uint64{t.said.at} // prompts that were said before the turn started
	for _, took := range t.Took {
		ours[took] = true
		if at := v.turns[took].said.at; at < t.began.at {
			before = append(before, at)
		}
	}
	slices.Sort(before)
	scratch := NewView(Session{})
	take := func(after, upto uint64) error {
		for at := after; at < upto; {
			entries, err := store.Entries(ctx, id, at, int(min(pageSize, upto-at)))
			if err != nil {
				return err
			}
			if len(entries) == 0 {
				return fmt.Errorf("session %s: %w: its log ends at %d, before %d", id, ErrDamaged, at, upto)
			}
			for _, e := range entries {
				at++
				if _, elsewhere := e.Body.(Compaction); elsewhere || !ours[e.Turn] {
					continue
				}
				if err := scratch.Apply(e); err != nil {
					return fmt.Errorf("session %s: %w: position %d: %w", id, ErrDamaged, at, err)
				}
			}
		}
		return nil
	}
	for _, at := range before {
		if err := take(at-1, at); err != nil {
			return nil, err
		}
	}
	if err := take(t.began.at-1, t.ended.at); err != nil {
		return nil, err
	}
	whole := scratch.Turn(t.ID)
	if whole == nil || whole.End == nil {
		return nil, fmt.Errorf("session %s: %w: turn %s is not whole", id, ErrDamaged, t.ID)
	}
	return whole, nil
}
