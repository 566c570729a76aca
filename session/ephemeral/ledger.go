package ephemeral

import (
	"context"
	"errors"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/mem"
)

// ledger is that of the durable store. What an ephemeral session has used in all, the store in memory knows.
type ledger struct {
	session.Ledger
	memory *mem.Store
}

func (l ledger) ephemeral(ctx context.Context, ref session.Ref) bool {
	_, err := l.memory.For(ref.Owner).Get(ctx, ref.ID)
	return err == nil
}

// Hold keeps a reservation.
func (l ledger) Hold(ctx context.Context, ref session.Ref, id string, r session.Reserved) error {
	err := l.Ledger.Hold(ctx, ref, id, r)
	if err == nil && l.ephemeral(ctx, ref) {
		err = l.memory.Ledger().Hold(ctx, ref, id, r)
	}
	return err
}

// Settle ends a reservation.
func (l ledger) Settle(ctx context.Context, ref session.Ref, id string, used provider.Usage, missed session.Missed) error {
	err := l.Ledger.Settle(ctx, ref, id, used, missed)
	if l.ephemeral(ctx, ref) {
		err = errors.Join(err, l.memory.Ledger().Settle(ctx, ref, id, used, missed))
	}
	return err
}

// Import adds lines.
func (l ledger) Import(ctx context.Context, name string, lines ...session.Line) error {
	var in []session.Line
	for _, line := range lines {
		if l.ephemeral(ctx, line.Ref) {
			in = append(in, line)
		}
	}
	return errors.Join(l.Ledger.Import(ctx, name, lines...), l.memory.Ledger().Import(ctx, name, in...))
}

// Total is what a session has used.
func (l ledger) Total(ctx context.Context, ref session.Ref) (provider.Usage, error) {
	if l.ephemeral(ctx, ref) {
		return l.memory.Ledger().Total(ctx, ref)
	}
	return l.Ledger.Total(ctx, ref)
}
