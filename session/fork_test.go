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

// A fork before a message is a fork at the message before it. Before the first message it shares nothing.
func TestForkBeforeMessage(t *testing.T) {
	s := mem.New().For(session.Operator)
	storetest.Conversed(t, s, storetest.ID(0))
	v, err := session.Load(t.Context(), s, storetest.ID(0))
	if err != nil {
		t.Fatal(err)
	}
	var previous session.MessageID
	for _, turn := range v.Turns {
		for _, m := range turn.Messages {
			got, ok, err := v.ForkBeforeMessage(m.ID)
			if previous == "" {
				if !ok || err != nil || len(got.Shared) > 0 || len(got.Pinned) > 0 || got.ID != "" || got.Model != v.Session.Model {
					t.Errorf("before the first message: %+v, %v, %v", got, ok, err)
				}
			} else {
				want, wantOK, wantErr := v.Fork(previous)
				if diff := cmp.Diff(want, got); diff != "" || ok != wantOK || !errors.Is(err, wantErr) {
					t.Errorf("before %s: %v, %v, want %v (-want +got):\n%s", m.ID, ok, err, wantErr, diff)
				}
			}
			if turn.Start != nil || turn.Appended() {
				previous = m.ID
			}
		}
	}
	if _, ok, err := v.ForkBeforeMessage("X"); ok || err != nil {
		t.Errorf("no such message: %v, %v", ok, err)
	}
}
