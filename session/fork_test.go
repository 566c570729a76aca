package session

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/thinkd/thinkd/provider"
)

// viewFields has all of a view compared.
var viewFields = cmp.AllowUnexported(View{}, Turn{}, Message{}, place{}, compacted{}, slimmed{})

// words is what a view shows, a line for each message.
func words(v *View) (list []string) {
	for _, t := range v.Turns {
		for _, m := range t.Messages {
			line := string(m.ID) + ":"
			for _, p := range m.Parts {
				line += " " + p.Block.(provider.Text).Text
			}
			list = append(list, line)
		}
	}
	return list
}

// conversed is a session of three turns; the second has two replies, the third waits.
func conversed(t *testing.T, s Store, id ID) {
	t.Helper()
	record := Session{ID: id, System: "be brief"}
	record.Model = ModelRef{"sim", "claude"}
	create(t, s, record)
	title := "named"
	turnC := TurnID("01K0000000000000000000000C")
	add(t, s, id, said(turnA, "one"), started(turnA), sealed(turnA, msgA, 0, "reply one"), messageEnded(turnA, msgA, 3), ended(turnA),
		said(turnB, "two"), started(turnB), said(turnC, "three"), sealed(turnB, msgB, 0, "reply two"), messageEnded(turnB, msgB, 3),
		Entry{Body: Setting{Title: &title}},
		sealed(turnB, "MC", 0, "more"), messageEnded(turnB, "MC", 3), ended(turnB))
}

func testFork(t *testing.T, s Store) {
	ctx := t.Context()
	parent := testID(0)
	conversed(t, s, parent)
	load := func(id ID) *View {
		t.Helper()
		v, err := Load(ctx, s, id)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	next := 0
	fork := func(of ID, message MessageID) ID {
		t.Helper()
		record, ok, err := load(of).Fork(message)
		if !ok || err != nil {
			t.Fatalf("fork at %s: %v, %v", message, ok, err)
		}
		next++
		record.ID = testID(next)
		create(t, s, record)
		return record.ID
	}
	first, second := []string{"U" + string(turnA) + ": one", string(msgA) + ": reply one"},
		[]string{"U" + string(turnB) + ": two", string(msgB) + ": reply two"}
	for _, c := range []struct {
		at   MessageID
		want []string
	}{
		{MessageID("U" + turnA), first[:1]},
		{msgA, first},
		{msgB, append(first[:2:2], second...)},
		{"MC", append(first[:2:2], append(second[:2:2], "MC: more")...)},
		{"", append(first[:2:2], append(second[:2:2], "MC: more")...)},
	} {
		v := load(fork(parent, c.at))
		equal(t, fmt.Sprintf("fork at %q", c.at), words(v), c.want)
		if v.Running() != nil || len(v.Queue()) != 0 || v.Session.Usage.Output != 0 || v.Session.Title != "named" || v.LastSeq != 0 {
			t.Errorf("fork at %q: running %v, queue %v, %+v", c.at, v.Running(), v.Queue(), v.Session)
		}
		for _, turn := range v.Turns {
			if turn.End == nil {
				t.Errorf("fork at %q: turn %s is open", c.at, turn.ID)
			}
		}
	}
	if _, ok, _ := load(parent).Fork("nothing"); ok {
		t.Error("a fork at no message")
	}
	if _, _, err := load(parent).Fork("U01K0000000000000000000000C"); !errors.Is(err, ErrUnfinished) {
		t.Errorf("a fork at a prompt that waits: %v", err)
	}

	// A fork goes on by itself, and is forked in its own part and in the shared one.
	child := fork(parent, msgA)
	turnD := TurnID("01K0000000000000000000000D")
	add(t, s, child, said(turnD, "other"), started(turnD), sealed(turnD, "MD", 0, "reply other"), messageEnded(turnD, "MD", 3), ended(turnD))
	grown := append(first[:2:2], "U"+string(turnD)+": other", "MD: reply other")
	grandchild, back := fork(child, "MD"), fork(child, MessageID("U"+turnA))
	equal(t, "child", words(load(child)), grown)
	equal(t, "grandchild", words(load(grandchild)), grown)
	equal(t, "fork in the shared part", words(load(back)), first[:1])
	equal(t, "what it shares", load(back).Session.Shared, []Span{{parent, 2, MessageID("U" + turnA)}})
	recovered := fork(child, "")
	if err := Recover(ctx, s, recovered, time.UnixMilli(1_000_000)); err != nil {
		t.Error(err)
	}

	// What forks share outlives its session, and goes with the last of them.
	for _, id := range []ID{parent, child} {
		if err := s.Delete(ctx, id); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(ctx, s, id); !errors.Is(err, ErrNotFound) {
			t.Errorf("load of a deleted session: %v", err)
		}
		_, err := s.Append(ctx, id, said("01K0000000000000000000000E", "x"))
		wantErr(t, "append to a deleted session", err, ErrNotFound)
	}
	equal(t, "grandchild without the others", words(load(grandchild)), grown)
	again := fork(grandchild, msgA)
	equal(t, "a fork of a deleted session's part", words(load(again)), first)
	orphan := load(again).Session
	for i := 1; i <= next; i++ {
		if err := s.Delete(ctx, testID(i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []ID{parent, child} {
		_, err := s.Entries(ctx, id, 0, 1)
		wantErr(t, "entries that nobody shares", err, ErrNotFound)
	}
	orphan.ID = testID(next + 1)
	wantErr(t, "a fork of what is gone", s.Create(ctx, orphan), ErrNotFound)
}

// TestForkEqualsItsParent holds each fork against the view that it was made from.
func TestForkEqualsItsParent(t *testing.T) {
	s := NewMem()
	conversed(t, s, testID(0))
	v, err := Load(t.Context(), s, testID(0))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i, turn := range v.Turns {
		for j, m := range turn.Messages {
			record, ok, err := v.Fork(m.ID)
			if errors.Is(err, ErrUnfinished) {
				continue
			}
			n++
			record.ID = testID(n)
			if !ok || err != nil || s.Create(t.Context(), record) != nil {
				t.Fatalf("fork at %s: %v, %v", m.ID, ok, err)
			}
			f, err := Load(t.Context(), s, record.ID)
			if err != nil {
				t.Fatal(err)
			}
			last := f.Turns[len(f.Turns)-1]
			if diff := cmp.Diff(v.Turns[:i], f.Turns[:i], viewFields); diff != "" {
				t.Errorf("turns before %s (-parent +fork):\n%s", m.ID, diff)
			}
			if diff := cmp.Diff(turn.Messages[:j+1], last.Messages, viewFields, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("messages up to %s (-parent +fork):\n%s", m.ID, diff)
			}
		}
	}
	if n != 5 {
		t.Errorf("%d forks, want 5", n)
	}
}
