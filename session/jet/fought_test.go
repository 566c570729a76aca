package jet_test

import (
	"errors"
	"testing"
	"time"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/jet/jettest"
	"github.com/thinkd/thinkd/session/storetest"
)

// Two nodes that each take the other for gone do not take a session from each other again and again: each claim back waits twice as long as
// the one before, up to a minute.
func TestFought(t *testing.T) {
	link := jettest.Start(t, 1).Dial()
	a, c, id := openOne(t, link), openOne(t, link), storetest.ID(1)
	now := time.Unix(1_000_000, 0)
	for _, s := range []*jet.Store{a, c} {
		s.SetClock(func() time.Time { return now })
	}
	storetest.Create(t, a.For(session.Operator), session.Session{ID: id})
	log := storetest.Claim(t, a.For(session.Operator), id)
	fenced := func(log session.Log) {
		t.Helper()
		if _, err := log.Append(t.Context()); !errors.Is(err, session.ErrFenced) {
			t.Fatalf("the log of the holder before: %v", err)
		}
	}
	rests := func(s *jet.Store, want bool) {
		t.Helper()
		l, err := s.For(session.Operator).Claim(t.Context(), id)
		if elsewhere, ok := errors.AsType[*jet.ElsewhereError](err); ok != want || err != nil && !ok || ok && elsewhere.Node == s.Node() {
			t.Fatalf("claim at %v: %v, want that it is refused: %v", now, err, want)
		}
		if err == nil {
			log = l
		}
	}
	for _, delay := range []time.Duration{2, 4, 8, 16, 32, 60, 60} {
		before := log
		rests(c, false)
		fenced(before)
		rests(a, true)
		if _, err := log.Append(t.Context()); err != nil {
			t.Fatalf("the holder: %v", err)
		}
		now = now.Add(delay*time.Second - 1)
		rests(a, true)
		now = now.Add(1)
		taken := log
		rests(a, false)
		fenced(taken)
		now = now.Add(delay * time.Second) // c waits as long
	}

	now = now.Add(2 * time.Minute) // since the claim of a
	before := log
	rests(c, false)
	fenced(before)
	rests(a, false) // a has had it for long: this is no fight
}
