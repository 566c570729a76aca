package session_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/mem"
	"github.com/thinkd/thinkd/session/storetest"
)

// TestForkEqualsItsParent holds each fork against the view that it was made from.
func TestForkEqualsItsParent(t *testing.T) {
	s := mem.New().For(session.Operator)
	storetest.Conversed(t, s, storetest.ID(0))
	v, err := session.Load(t.Context(), s, storetest.ID(0))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i, turn := range v.Turns {
		for j, m := range turn.Messages {
			record, ok, err := v.Fork(m.ID)
			if errors.Is(err, session.ErrUnfinished) {
				continue
			}
			n++
			record.ID = storetest.ID(n)
			if !ok || err != nil || s.Create(t.Context(), record) != nil {
				t.Fatalf("fork at %s: %v, %v", m.ID, ok, err)
			}
			f, err := session.Load(t.Context(), s, record.ID)
			if err != nil {
				t.Fatal(err)
			}
			last := f.Turns[len(f.Turns)-1]
			if diff := cmp.Diff(v.Turns[:i], f.Turns[:i], session.ViewFields); diff != "" {
				t.Errorf("turns before %s (-parent +fork):\n%s", m.ID, diff)
			}
			if diff := cmp.Diff(turn.Messages[:j+1], last.Messages, session.ViewFields, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("messages up to %s (-parent +fork):\n%s", m.ID, diff)
			}
		}
	}
	if n != 5 {
		t.Errorf("%d forks, want 5", n)
	}
}
