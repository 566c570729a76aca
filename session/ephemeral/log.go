package ephemeral

import (
	"context"

	"github.com/thinkd/thinkd/session"
)

// log is the log of an ephemeral session. Its calls are charged to the ledger of the durable store.
type log struct {
	session.Log
	store *Store
	ref   session.Ref
}

// Append adds entries. A reservation is in the ledger first. If that cannot be, nothing is added.
func (l log) Append(ctx context.Context, entries ...session.Entry) (last uint64, err error) {
	now, settle, err := l.reserve(ctx, entries)
	if err != nil {
		return 0, err
	}
	if last, err = l.Log.Append(ctx, entries...); err != nil {
		if had := l.store.held(l.ref); now.id != had.id {
			l.store.settle(ctx, settling{ref: l.ref, id: now.id})
		}
		return 0, err
	}
	l.store.mu.Lock()
	if now.id == "" {
		delete(l.store.holds, l.ref)
	} else {
		l.store.holds[l.ref] = now
	}
	l.store.mu.Unlock()
	l.store.settle(ctx, settle...)
	return last, nil
}

// reserve keeps what the entries reserve. It returns the reservation that stands after them, and which ones they end.
func (l log) reserve(ctx context.Context, entries []session.Entry) (now hold, ends []settling, err error) {
	now = l.store.held(l.ref)
	end := func(used session.Line) {
		if now.id != "" {
			ends = append(ends, settling{l.ref, now.id, used.Usage, used.Missed})
		}
		now = hold{}
	}
	for _, e := range entries {
		if r, ok := e.Body.(session.Reserved); ok {
			id := session.NewConfirmID()
			if err := l.store.durable.Ledger().Hold(ctx, l.ref, id, r); err != nil {
				return now, nil, err
			}
			end(session.Line{})
			now = hold{id, e.Turn, r}
			continue
		}
		record := session.Session{ID: l.ref.ID, Reserved: &now.Reserved}
		if c, ok := record.Charge(l.ref.Owner, e); ok && now.id != "" {
			end(c.Line)
		} else if over(e, now.turn) {
			end(session.Line{})
		}
	}
	return now, ends, nil
}

// over reports whether an entry ends the reservation of a turn, whatever was used: see [session.Session.Project].
func over(e session.Entry, turn session.TurnID) bool {
	switch e.Body.(type) {
	case session.MessageEnd, session.Retry, session.Settled, session.Compaction, session.TurnParked:
		return true
	case session.TurnEnd:
		return e.Turn == turn
	}
	return false
}
