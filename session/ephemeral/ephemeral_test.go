package ephemeral

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/mem"
	"github.com/thinkd/thinkd/session/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Sessions of either kind keep all promises of a store.
func TestDurable(t *testing.T) {
	t.Parallel()
	storetest.RunLocal(t, func(*testing.T) session.Local { return New(mem.New()) })
}

func TestEphemeral(t *testing.T) {
	t.Parallel()
	storetest.RunLocal(t, func(*testing.T) session.Local { return every{New(mem.New())} })
}

// every makes all sessions ephemeral, and does not show it.
type every struct{ *Store }

func (s every) For(owner session.Owner) session.Sessions { return everyOf{s.Store.For(owner)} }

type everyOf struct{ session.Sessions }

func (o everyOf) Create(ctx context.Context, s session.Session) error {
	s.Ephemeral = true
	return o.Sessions.Create(ctx, s)
}

func (o everyOf) CreateOnce(ctx context.Context, s session.Session, c session.Creation) (session.Creation, error) {
	s.Ephemeral = true
	return o.Sessions.CreateOnce(ctx, s, c)
}

func (o everyOf) Get(ctx context.Context, id session.ID) (session.Session, error) {
	s, err := o.Sessions.Get(ctx, id)
	s.Ephemeral = false
	return s, err
}

func (o everyOf) List(ctx context.Context, q session.Query) ([]session.Session, string, error) {
	page, next, err := o.Sessions.List(ctx, q)
	for i := range page {
		page[i].Ephemeral = false
	}
	return page, next, err
}

// The durable store has nothing of an ephemeral session except its lines in the ledger, and a listing has both kinds in order.
func TestBoth(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	disk := mem.New()
	s := New(disk)
	o := s.For(session.Operator)
	var want []session.ID
	for n := range 7 {
		storetest.Create(t, o, session.Session{ID: storetest.ID(n), Updated: int64(n), Ephemeral: n%3 == 1, Title: "t"})
		want = append([]session.ID{storetest.ID(n)}, want...)
	}
	for limit := 1; limit < 9; limit++ {
		var got []session.ID
		for q := (session.Query{Limit: limit}); ; {
			page, next, err := o.List(ctx, q)
			if err != nil || len(page) > limit {
				t.Fatal(page, err)
			}
			for _, s := range page {
				got = append(got, s.ID)
				if s.Ephemeral != (s.Updated%3 == 1) {
					t.Errorf("%s: ephemeral %v", s.ID, s.Ephemeral)
				}
			}
			if q.Cursor = next; next == "" {
				break
			}
		}
		storetest.Equal(t, "sessions", got, want)
	}
	for _, cursor := range []string{"x", "x.y", "*"} {
		if _, _, err := o.List(ctx, session.Query{Cursor: cursor}); !errors.Is(err, session.ErrCursor) {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
	secret := storetest.ID(1)
	storetest.Add(t, o, secret, storetest.Said(storetest.TurnA, "a secret"))
	if _, err := disk.For(session.Operator).Get(ctx, secret); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("the durable store has an ephemeral session: %v", err)
	}
	if entries, err := disk.For(session.Operator).Entries(ctx, secret, 0, 10); len(entries) > 0 || !errors.Is(err, session.ErrNotFound) {
		t.Errorf("the durable store has its log: %v, %v", entries, err)
	}
	fork := session.Session{ID: storetest.ID(20), Ephemeral: true, Shared: []session.Span{{Session: secret, Upto: 1}}}
	storetest.Create(t, o, fork)
	fork.ID, fork.Ephemeral = storetest.ID(21), false
	if err := o.Create(ctx, fork); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("a durable fork of an ephemeral session: %v", err)
	}
	// A stamp has one session, of whichever kind.
	stamp := session.Creation{Stamp: session.Stamp{ID: "c"}}
	first, err := o.CreateOnce(ctx, session.Session{ID: storetest.ID(30), Ephemeral: true}, stamp)
	again, failed := o.CreateOnce(ctx, session.Session{ID: storetest.ID(31)}, stamp)
	if err = errors.Join(err, failed); err != nil || first.Session != storetest.ID(30) || again.Session != first.Session {
		t.Errorf("%v, then %v, %v", first.Session, again.Session, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Each call of an ephemeral session is in the ledger before it is made, and once after it, whatever ends it.
func TestCharges(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	disk := mem.New()
	s := New(disk)
	o := s.For(session.Operator)
	id := storetest.ID(1)
	ref := session.Ref{ID: id}
	storetest.Create(t, o, session.Session{ID: id, Ephemeral: true})
	log, err := o.Claim(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	model := session.ModelRef{Provider: "sim", ID: "claude"}
	reserve := func(output int) session.Entry {
		return session.Entry{Turn: storetest.TurnA, Body: session.Reserved{Day: "2026-11-23", Model: model, Purpose: session.ForTurn, Usage: provider.Usage{Output: output}}}
	}
	entry := func(turn session.TurnID, b session.Body) session.Entry { return session.Entry{Turn: turn, Body: b} }
	used := provider.Usage{Output: 5}
	for _, step := range []struct {
		what    string
		entries []session.Entry
		holds   int
		output  int
	}{
		{"reserve", []session.Entry{storetest.Said(storetest.TurnA, "x"), storetest.Started(storetest.TurnA), reserve(100)}, 1, 0},
		{"reserve more", []session.Entry{reserve(200)}, 1, 0},
		{"another turn is removed from the queue", []session.Entry{storetest.Said(storetest.TurnB, "y"), entry(storetest.TurnB, session.TurnEnd{StopReason: session.StopCancelled})}, 1, 0},
		{"the answer ends, and the next call begins", []session.Entry{entry(storetest.TurnA, session.MessageEnd{Message: storetest.MsgA, Usage: used}), reserve(100)}, 1, 5},
		{"a call that used nothing", []session.Entry{entry(storetest.TurnA, session.Settled{})}, 0, 5},
		{"one more", []session.Entry{reserve(100)}, 1, 5},
		{"the turn ends", []session.Entry{entry(storetest.TurnA, session.TurnEnd{StopReason: session.StopCancelled})}, 0, 5},
	} {
		if _, err := log.Append(ctx, step.entries...); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		holds, err := disk.Ledger().Holds(ctx)
		if err != nil || len(holds) != step.holds {
			t.Errorf("%s: %d reservations, want %d, %v", step.what, len(holds), step.holds, err)
		}
		lines, err := disk.Ledger().Lines(ctx, nil, "2026-11-23", "2026-11-23")
		output := 0
		for _, l := range lines {
			output += l.Usage.Output
		}
		if err != nil || output != step.output {
			t.Errorf("%s: %d tokens in the ledger, want %d, %v", step.what, output, step.output, err)
		}
	}
	if total, err := s.Ledger().Total(ctx, ref); err != nil || total.Output != 5 {
		t.Errorf("in all %v, %v", total, err)
	}
	if err := errors.Join(o.Delete(ctx, id), s.Close()); err != nil {
		t.Error(err)
	}
}
