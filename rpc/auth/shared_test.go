package auth

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/conn"
)

// cutTable is one that a test can cut off.
type cutTable struct {
	durable.MemoryTable
	cut atomic.Bool
}

func (t *cutTable) Fresh() bool { return !t.cut.Load() }

// A token that one node creates is admitted by another, and void there after it was revoked.
func TestSharedTokens(t *testing.T) {
	table := new(durable.MemoryTable)
	here, there := Shared{table}, NewTokens(Shared{table}, discard())
	made, token, err := here.Create(ann)
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := here.Create(ann)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := here.List(); err != nil || len(list) != 2 || list[0].ID != made.ID && list[1].ID != made.ID {
		t.Errorf("%+v, %v", list, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := testgo.Go(t, func() { there.Watch(ctx) })
	g, ok := admit(t, there, token.Reveal())
	if !ok || g.Principal.Owner != ann.Owner() || g.ID != made.ID {
		t.Fatalf("%+v, %v", g, ok)
	}
	if err := here.Revoke(made.ID); err != nil {
		t.Fatal(err)
	}
	<-g.Valid.Done()
	if cause := context.Cause(g.Valid); !errors.Is(cause, conn.ErrRevoked) {
		t.Error(cause)
	}
	if _, ok := admit(t, there, token.Reveal()); ok {
		t.Error("a revoked token is admitted")
	}
	for _, id := range []string{made.ID, "../x"} {
		if err := here.Revoke(id); !errors.Is(err, ErrNoToken) {
			t.Errorf("revoke of %s: %v", id, err)
		}
	}
	rows, _ := table.Rows()
	if _, ok := rows[second.ID]; len(rows) != 1 || !ok {
		t.Errorf("the rows are %s", rows)
	}
	stop()
	<-done
}

// A row that is no record of its token grants nothing, and the others do.
func TestDamagedRows(t *testing.T) {
	table := new(durable.MemoryTable)
	_, token, err := Shared{table}.Create(ann)
	if err != nil {
		t.Fatal(err)
	}
	rows, _ := table.Rows()
	for _, text := range rows {
		for _, damaged := range []string{string(text), "{"} {
			if err := table.Change(t.Context(), "aaaaaaaaaaaa", func([]byte) ([]byte, error) { return []byte(damaged), nil }); err != nil {
				t.Fatal(err)
			}
			list, err := Shared{table}.List()
			if err == nil || len(list) != 1 {
				t.Errorf("%+v, %v", list, err)
			}
			if _, ok := admit(t, NewTokens(Shared{table}, discard()), token.Reveal()); !ok {
				t.Error("the other token is not admitted")
			}
		}
	}
}

// A node that cannot learn what was revoked takes no token, also none that it took before, until it can.
func TestUnconfirmedTokens(t *testing.T) {
	table := new(cutTable)
	tokens := NewTokens(Shared{table}, discard())
	made, token, err := Shared{table}.Create(ann)
	if err != nil {
		t.Fatal(err)
	}
	g, ok := admit(t, tokens, token.Reveal())
	if !ok || tokens.Unconfirmed() != nil {
		t.Fatal("not admitted")
	}
	table.cut.Store(true)
	_, ok, err = tokens.Admit(t.Context(), token.Reveal())
	if refusal, is := errors.AsType[*Refusal](err); ok || !is || refusal.Status != 503 || refusal.RetryAfter == 0 {
		t.Errorf("%v, %v", ok, err)
	}
	if cause := context.Cause(g.Valid); !errors.Is(cause, conn.ErrUnconfirmed) || errors.Is(cause, conn.ErrRevoked) {
		t.Error(cause)
	}
	if _, ok := tokens.ByID(made.ID); ok || tokens.Unconfirmed() == nil {
		t.Error("the token is confirmed")
	}
	table.cut.Store(false)
	if g, ok := admit(t, tokens, token.Reveal()); !ok || g.Valid.Err() != nil {
		t.Error("it is not admitted again")
	}
}
