package mem

import (
	"context"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// ledger is the [session.Ledger] of a store.
type ledger struct{ *Store }

// Ledger is what model calls used.
func (m *Store) Ledger() session.Ledger { return ledger{m} }

// open runs f under the lock, with the books.
func (m ledger) open(ctx context.Context, f func(*books)) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return session.ErrClosed
	}
	f(&m.books)
	return nil
}

// Hold keeps a reservation.
func (m ledger) Hold(ctx context.Context, ref session.Ref, id string, r session.Reserved) error {
	return m.open(ctx, func(b *books) {
		b.budgets = b.budgets.Apply(session.Charge{Line: session.Line{Day: r.Day}, Budgets: r.Budgets})
		b.holds = append(b.holds, session.Hold{Ref: ref, ID: id, Reserved: r})
	})
}

// Settle ends a reservation.
func (m ledger) Settle(ctx context.Context, ref session.Ref, id string, used provider.Usage, missed session.Missed) error {
	return m.open(ctx, func(b *books) {
		at := slices.IndexFunc(b.holds, func(h session.Hold) bool { return h.Ref == ref && h.ID == id })
		if at < 0 {
			return
		}
		if !used.Unused() {
			line := b.holds[at].Line(ref, used)
			line.Missed = missed
			b.add(session.Charge{Line: line})
		}
		b.holds = slices.Delete(b.holds, at, at+1)
		if m.sessions[ref] == nil {
			delete(b.totals, ref)
		}
	})
}

// Holds lists the reservations.
func (m ledger) Holds(ctx context.Context) (list []session.Hold, err error) {
	err = m.open(ctx, func(b *books) { list = slices.Clone(b.holds) })
	return list, err
}

// Import adds lines.
func (m ledger) Import(ctx context.Context, name string, lines ...session.Line) error {
	return m.open(ctx, func(b *books) {
		if slices.Contains(b.imported, name) {
			return
		}
		b.imported = append(b.imported, name)
		for _, line := range lines {
			b.addLine(line)
		}
	})
}

// Lines lists what was used.
func (m ledger) Lines(ctx context.Context, owner *session.Owner, from, to session.Day) (list []session.Line, err error) {
	err = m.open(ctx, func(b *books) {
		for _, line := range b.lines {
			if from <= line.Day && line.Day <= to && (owner == nil || line.Ref.Owner == *owner) {
				list = append(list, *line)
			}
		}
	})
	slices.SortFunc(list, session.Line.Compare)
	return list, err
}

// Total is what a session has used.
func (m ledger) Total(ctx context.Context, ref session.Ref) (u provider.Usage, err error) {
	err = m.open(ctx, func(b *books) { u = b.totals[ref] })
	return u, err
}

// Budgets is what counts for the limits.
func (m ledger) Budgets(ctx context.Context, today session.Day) (found session.Budgets, err error) {
	err = m.open(ctx, func(b *books) {
		found = b.budgets
		for _, line := range b.lines {
			if line.Day == today && line.Usage.Cost != nil {
				found.Day += line.Usage.Cost.Amount
			}
		}
	})
	return found, err
}
