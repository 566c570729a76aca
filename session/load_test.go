package session_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/mem"
	"github.com/thinkd/thinkd/session/storetest"
)

// longLog makes a session with a log of many pages, and returns the log.
func longLog(t *testing.T) (session.Sessions, []session.Entry) {
	t.Helper()
	s := mem.New().For(session.Operator)
	storetest.Create(t, s, session.Session{ID: storetest.ID(1)})
	var log []session.Entry
	for i := range 1500 {
		turn := session.TurnID(fmt.Sprintf("%026d", i))
		log = append(log,
			session.Entry{Turn: turn, Body: session.Prompt{Message: session.MessageID(turn), Content: provider.Blocks{provider.Text{Text: fmt.Sprint(i)}}}},
			session.Entry{Turn: turn, Body: session.TurnEnd{StopReason: session.StopCancelled}})
	}
	if _, err := storetest.Append(t.Context(), s, storetest.ID(1), log...); err != nil {
		t.Fatal(err)
	}
	return s, log
}

func TestReplayInOrder(t *testing.T) {
	s, log := longLog(t)
	for _, upto := range []uint64{0, 1, 255, 256, 257, 511, 512, 513, 2048, 2999, 3000, 3001, session.WholeLog} {
		got := []session.Entry{}
		if err := session.Replay(t.Context(), s, storetest.ID(1), upto, func(e session.Entry) error { got = append(got, e); return nil }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(log[:min(upto, uint64(len(log)))], got); diff != "" {
			t.Errorf("up to %d: -want +got:\n%s", upto, diff)
		}
	}
}

// troubled is a store that fails at one position.
type troubled struct {
	session.Sessions
	at   uint64
	fail func() error
}

func (s troubled) Entries(ctx context.Context, id session.ID, after uint64, limit int) ([]session.Entry, error) {
	if after <= s.at && s.at < after+uint64(limit) {
		return nil, s.fail()
	}
	return s.Sessions.Entries(ctx, id, after, limit)
}

// A page that cannot be read ends the replay behind the pages before it, whichever was read first.
func TestReplayEndsAtTrouble(t *testing.T) {
	s, _ := longLog(t)
	broken := errors.New("broken")
	for _, at := range []uint64{0, 300, 1500, 2990} {
		read := uint64(0)
		count := func(session.Entry) error { read++; return nil }
		err := session.Replay(t.Context(), troubled{s, at, func() error { return broken }}, storetest.ID(1), session.WholeLog, count)
		if !errors.Is(err, broken) || read > at || read+256 <= at {
			t.Errorf("at %d: %v after %d entries", at, err, read)
		}
		read = 0
		func() {
			defer func() {
				if p := recover(); p != "trouble" || read > at {
					t.Errorf("at %d: panic %v after %d entries", at, p, read)
				}
			}()
			_ = session.Replay(t.Context(), troubled{s, at, func() error { panic("trouble") }}, storetest.ID(1), session.WholeLog, count)
			t.Errorf("at %d: no panic", at)
		}()
	}
	odd := errors.New("odd")
	if err := session.Replay(t.Context(), s, storetest.ID(1), session.WholeLog, func(session.Entry) error { return odd }); !errors.Is(err, odd) || !errors.Is(err, session.ErrDamaged) {
		t.Error(err)
	}
}

// short is a store that returns less than it is asked for.
type short struct{ session.Sessions }

func (s short) Entries(ctx context.Context, id session.ID, after uint64, limit int) ([]session.Entry, error) {
	return s.Sessions.Entries(ctx, id, after, min(limit, 7+int(after%256)))
}

func TestReplayOfShortPages(t *testing.T) {
	s, log := longLog(t)
	var got []session.Entry
	if err := session.Replay(t.Context(), short{s}, storetest.ID(1), session.WholeLog, func(e session.Entry) error { got = append(got, e); return nil }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(log, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
