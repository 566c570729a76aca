package session

import (
	"context"
	"fmt"
	"slices"
)

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
