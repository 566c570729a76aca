package session_test

import (
	"fmt"
	"testing"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/storetest"
)

func stamped(turn session.TurnID, stamp string) session.Entry {
	e := storetest.Said(turn, "x")
	p := e.Body.(session.Prompt)
	p.Stamp = &session.Stamp{stamp, []byte(turn)}
	e.Body = p
	return e
}

func TestViewRemembersStamps(t *testing.T) {
	t.Parallel()
	v := session.NewView(session.Session{ID: storetest.ID(1)})
	turn := func(n int) session.TurnID { return session.TurnID(fmt.Sprint("turn ", n)) }
	const n = 2*session.MaxStamps + 7
	for i := range n {
		stamp := fmt.Sprint(i)
		if i == n-1 {
			stamp = "3" // comes again, long after it was forgotten
		}
		for _, e := range []session.Entry{storetest.Said(turn(-1-i), "without"), stamped(turn(i), stamp)} {
			if err := v.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		if i == session.MaxStamps {
			if v.Stamped("0") != nil || v.Stamped("1") == nil {
				t.Error("after one too many, the oldest is not the one that is forgotten")
			}
		}
	}
	if ids, order := v.Remembered(); ids != session.MaxStamps || order != session.MaxStamps {
		t.Errorf("%d and %d are remembered", ids, order)
	}
	for i := range n - 1 {
		got := v.Stamped(fmt.Sprint(i))
		want := i >= n-session.MaxStamps
		switch {
		case i == 3:
			if got == nil || got.ID != turn(n-1) {
				t.Errorf("3 is %+v", got)
			}
		case (got != nil) != want || got != nil && got.ID != turn(i):
			t.Fatalf("%d is %+v", i, got)
		}
	}
	err := (session.Stamp{"a", []byte{1}}).Repeats(session.Stamp{"a", []byte{2}})
	storetest.WantErr(t, "another request", err, session.ErrReused)
	storetest.WantErr(t, "the same", (session.Stamp{"a", []byte{1}}).Repeats(session.Stamp{"a", []byte{1}}), nil)
}
