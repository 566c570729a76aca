package session

import (
	"context"
	"fmt"
	"slices"
)

// Unload drops the content of a queued prompt, which must be in the log. The turn keeps its place in the queue, and all else of the
// prompt. Reload must read the content again before the turn leaves the queue.
func (v *View) Unload(t *Turn) {
	if !t.Queued() || t.Unloaded || t.Prompt.Continues != nil {
		return
	}
	t.Unloaded, t.Prompt.Content = true, nil
	said := t.Messages[0]
	t.Messages = []*Message{{ID: said.ID, Turn: said.Turn, Role: said.Role, Time: said.Time, place: said.place}}
}

// Reload reads again what Unload dropped.
func (v *View) Reload(ctx context.Context, store Sessions, t *Turn) error {
	whole, err := v.Whole(ctx, store, t)
	if err != nil {
		return err
	}
	t.Unloaded, t.Prompt.Content, t.Messages = false, whole.Prompt.Content, whole.Messages
	return nil
}

// queued is a copy of an unloaded turn, with what its prompt says.
func (v *View) queued(ctx context.Context, store Sessions, t *Turn) (*Turn, error) {
	id := v.logOf(t.said)
	entries, err := store.Entries(ctx, id, t.said.at-1, 1)
	if err != nil {
		return nil, err
	}
	if len(entries) == 1 && entries[0].Turn == t.ID {
		if p, ok := entries[0].Body.(Prompt); ok {
			whole, said := *t, *t.Messages[0]
			for i, b := range p.Content {
				said.add(Part{i, b})
			}
			whole.Unloaded, whole.Prompt.Content, whole.Messages = false, p.Content, []*Message{&said}
			return &whole, nil
		}
	}
	return nil, fmt.Errorf("session %s: %w: position %d is not the prompt of turn %s", id, ErrDamaged, t.said.at, t.ID)
}

// logOf is the session in whose log a place is.
func (v *View) logOf(p place) ID {
	if p.span < len(v.Session.Shared) {
		return v.Session.Shared[p.span].Session
	}
	return v.Session.ID
}

// Whole is a turn with its content: t itself, or, if t is released or unloaded, a copy that is read from the log.
func (v *View) Whole(ctx context.Context, store Sessions, t *Turn) (*Turn, error) {
	if t.Unloaded {
		return v.queued(ctx, store, t)
	}
	if !t.Released {
		return t, nil
	}
	id := v.logOf(t.ended)
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
				switch e.Body.(type) {
				case Compaction, Uncompaction:
					continue // they are of the conversation
				}
				if !ours[e.Turn] {
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
		return nil, fmt.Errorf("session %s: %w: turn %s is incomplete", id, ErrDamaged, t.ID)
	}
	return whole, nil
}

// Compacted is what the log has of a summary. Errors: ErrDamaged, and those of the store.
func (v *View) Compacted(ctx context.Context, store Sessions, s Summary) (Compaction, error) {
	for _, c := range v.compactions {
		if c.place == s.place {
			return c.Compaction, nil
		}
	}
	id := v.logOf(s.place)
	entries, err := store.Entries(ctx, id, s.place.at-1, 1)
	if err != nil {
		return Compaction{}, err
	}
	if len(entries) == 1 {
		if c, ok := entries[0].Body.(Compaction); ok && c.Name() == s.ID {
			return c, nil
		}
	}
	return Compaction{}, fmt.Errorf("session %s: %w: position %d is not summary %s", id, ErrDamaged, s.place.at, s.ID)
}
