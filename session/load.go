package session

import (
	"context"
	"fmt"
)

// Load reads a session's log and folds it. A log that cannot be folded is ErrDamaged.
func Load(ctx context.Context, store Sessions, id ID) (*View, error) {
	record, err := store.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	view, err := Fold(ctx, store, record, nil)
	if err != nil {
		return nil, err
	}
	return view, nil
}

// Fold reads all that was said in a session, shared or its own. f is called with each of its own entries once that is applied;
// it may be nil. What cannot be folded is ErrDamaged.
func Fold(ctx context.Context, store Sessions, record Session, f func(*View, Entry)) (*View, error) {
	v := NewView(record)
	for _, s := range record.Shared {
		if err := Replay(ctx, store, s.Session, s.Upto, v.share); err != nil {
			return nil, fmt.Errorf("session %s: %w", record.ID, err)
		}
		if v.at != s.Upto {
			return nil, fmt.Errorf("session %s: %w: the shared log of session %s ends at %d of %d", record.ID, ErrDamaged, s.Session, v.at, s.Upto)
		}
		if err := v.cut(s); err != nil {
			return nil, fmt.Errorf("session %s: %w: %w", record.ID, ErrDamaged, err)
		}
	}
	err := Replay(ctx, store, record.ID, WholeLog, func(e Entry) error {
		if err := v.Apply(e); err != nil {
			return err
		}
		if f != nil {
			f(v, e)
		}
		return nil
	})
	v.Session.Ended = min(v.Session.Ended, record.Ended) // a record that is older than this member counts from then on
	return v, err
}

// Replay calls f with each entry of a log, in order, up to a position: that of the last one, or [WholeLog]. It reads the
// log in pages, and f may use the store. An error of f is ErrDamaged and ends the log: f is what makes sense of it.
func Replay(ctx context.Context, store Sessions, id ID, upto uint64, f func(Entry) error) error {
	for at := uint64(0); at < upto; {
		entries, err := store.Entries(ctx, id, at, int(min(pageSize, upto-at)))
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return nil
		}
		for _, e := range entries {
			at++
			if err := f(e); err != nil {
				return fmt.Errorf("session %s: %w: position %d: %w", id, ErrDamaged, at, err)
			}
		}
	}
	return nil
}

// WholeLog is a position behind any log's end.
const WholeLog = ^uint64(0)

// pageSize is how many entries Replay reads with one call.
const pageSize = 500
