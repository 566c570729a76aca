package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

func testFork(t *testing.T, s session.Sessions) {
	ctx := t.Context()
	parent := ID(0)
	Conversed(t, s, parent)
	load := func(id session.ID) *session.View {
		t.Helper()
		v, err := session.Load(ctx, s, id)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	next := 0
	fork := func(of session.ID, message session.MessageID) session.ID {
		t.Helper()
		record, ok, err := load(of).Fork(message)
		if !ok || err != nil {
			t.Fatalf("fork at %s: %v, %v", message, ok, err)
		}
		next++
		record.ID = ID(next)
		Create(t, s, record)
		return record.ID
	}
	first, second := []string{"U" + string(TurnA) + ": one", string(MsgA) + ": reply one"},
		[]string{"U" + string(TurnB) + ": two", string(MsgB) + ": reply two"}
	for _, c := range []struct {
		at   session.MessageID
		want []string
	}{
		{session.MessageID("U" + TurnA), first[:1]},
		{MsgA, first},
		{MsgB, append(first[:2:2], second...)},
		{"MC", append(first[:2:2], append(second[:2:2], "MC: more")...)},
		{"", append(first[:2:2], append(second[:2:2], "MC: more")...)},
	} {
		v := load(fork(parent, c.at))
		Equal(t, fmt.Sprintf("fork at %q", c.at), words(v), c.want)
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
	if _, _, err := load(parent).Fork("U01K0000000000000000000000C"); !errors.Is(err, session.ErrUnfinished) {
		t.Errorf("a fork at a prompt that waits: %v", err)
	}

	// A fork goes on alone, and is forked in its own part and in the shared one.
	child := fork(parent, MsgA)
	turnD := session.TurnID("01K0000000000000000000000D")
	Add(t, s, child, Said(turnD, "other"), Started(turnD), Sealed(turnD, "MD", 0, "reply other"), MessageEnded(turnD, "MD", 3), Ended(turnD))
	grown := append(first[:2:2], "U"+string(turnD)+": other", "MD: reply other")
	grandchild, back := fork(child, "MD"), fork(child, session.MessageID("U"+TurnA))
	Equal(t, "child", words(load(child)), grown)
	Equal(t, "grandchild", words(load(grandchild)), grown)
	Equal(t, "fork in the shared part", words(load(back)), first[:1])
	Equal(t, "what it shares", load(back).Session.Shared, []session.Span{{Session: parent, Upto: 2, Message: session.MessageID("U" + TurnA)}})
	recovered := fork(child, "")
	if _, err := session.Recover(ctx, s, Claim(t, s, recovered), recovered, time.UnixMilli(1_000_000)); err != nil {
		t.Error(err)
	}

	// What forks share outlives its session, and goes with the last of them.
	for _, id := range []session.ID{parent, child} {
		if err := s.Delete(ctx, id); err != nil {
			t.Fatal(err)
		}
		if _, err := session.Load(ctx, s, id); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("load of a deleted session: %v", err)
		}
		_, err := s.Claim(ctx, id)
		WantErr(t, "claim of a deleted session", err, session.ErrNotFound)
	}
	Equal(t, "grandchild without the others", words(load(grandchild)), grown)
	again := fork(grandchild, MsgA)
	Equal(t, "a fork of a deleted session's part", words(load(again)), first)
	orphan := load(again).Session
	for i := 1; i <= next; i++ {
		if err := s.Delete(ctx, ID(i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []session.ID{parent, child} {
		_, err := s.Entries(ctx, id, 0, 1)
		WantErr(t, "entries that nobody shares", err, session.ErrNotFound)
	}
	orphan.ID = ID(next + 1)
	WantErr(t, "a fork of what is gone", s.Create(ctx, orphan), session.ErrNotFound)
}

// words is what a view shows, a line for each message.
func words(v *session.View) (list []string) {
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
