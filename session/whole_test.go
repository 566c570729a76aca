package session_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/mem"
	"github.com/thinkd/thinkd/session/storetest"
)

// What a view releases comes back from the log as it was: with prompts that were taken in, results of tools, and retries.
func TestReleasedTurnsAreWhole(t *testing.T) {
	turnC, turnD := session.TurnID("01K0000000000000000000000C"), session.TurnID("01K0000000000000000000000D")
	call := func(number int) session.Entry {
		return session.Entry{Turn: storetest.TurnA, Body: session.Sealed{storetest.MsgA, number, provider.ToolCall{ID: "c", Name: "look", Input: json.RawMessage(`{}`)}}}
	}
	log := []session.Entry{
		storetest.Said(storetest.TurnA, "one"), storetest.Said(storetest.TurnB, "steers"), storetest.Started(storetest.TurnA), storetest.Sealed(storetest.TurnA, storetest.MsgA, 0, "void"),
		{Turn: storetest.TurnA, Body: session.Retry{Message: storetest.MsgA, Discarded: []int{0}}}, call(1), storetest.MessageEnded(storetest.TurnA, storetest.MsgA, 3), storetest.Said(turnC, "taken out"),
		{Turn: storetest.TurnA, Body: session.ToolStart{storetest.MsgA, 1}}, {Turn: turnC, Body: session.TurnEnd{StopReason: "cancelled"}},
		{Turn: storetest.TurnA, Body: session.ToolEnd{Message: "R", Reply: storetest.MsgA, CallID: "c", Content: provider.Blocks{provider.Text{Text: "seen"}}}},
		{Turn: storetest.TurnB, Body: session.Steered{storetest.TurnA}}, {Body: session.Repair{API: "messages"}},
		storetest.Sealed(storetest.TurnA, "MB", 0, "reply"), storetest.MessageEnded(storetest.TurnA, "MB", 4), storetest.Ended(storetest.TurnA),
		storetest.Said(turnD, "two"), storetest.Started(turnD), storetest.Sealed(turnD, "MD", 0, "reply two"), storetest.MessageEnded(turnD, "MD", 3), storetest.Ended(turnD),
	}
	s := mem.New().For(session.Operator)
	storetest.Create(t, s, session.Session{ID: storetest.ID(0)})
	storetest.Add(t, s, storetest.ID(0), log...)
	before, err := session.Load(t.Context(), s, storetest.ID(0))
	if err != nil {
		t.Fatal(err)
	}
	storetest.Add(t, s, storetest.ID(0), session.Entry{Turn: turnD, Body: session.Compaction{Upto: "MD", Summary: "numbers"}},
		storetest.Said("01K0000000000000000000000E", "after which it cannot be undone"))
	v, err := session.Load(t.Context(), s, storetest.ID(0))
	if err != nil {
		t.Fatal(err)
	}
	text := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	released := 0
	for i, turn := range v.Turns[:len(before.Turns)] {
		if turn.Released {
			released++
			if len(turn.Messages[0].Parts) != 0 || turn.Prompt.Content != nil {
				t.Errorf("turn %s holds what it said", turn.ID)
			}
		}
		whole, err := v.Whole(t.Context(), s, turn)
		if err != nil {
			t.Fatal(err)
		}
		if turn.ID == storetest.TurnB { // its message is in the turn that took it in
			continue
		}
		storetest.Equal(t, "turn "+string(turn.ID), text(whole), text(before.Turns[i]))
	}
	if released != 1 {
		t.Errorf("%d turns were released, want 1", released)
	}
	if err := s.Delete(t.Context(), storetest.ID(0)); err != nil {
		t.Fatal(err)
	}
	_, err = v.Whole(t.Context(), s, v.Turns[0])
	if !errors.Is(err, session.ErrNotFound) {
		t.Errorf("without its log: %v", err)
	}
}
