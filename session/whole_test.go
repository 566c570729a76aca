package session

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/thinkd/thinkd/provider"
)

// What a view lets go of comes back from the log as it was: with prompts that were taken in, results of tools, and retries.
func TestReleasedTurnsAreWhole(t *testing.T) {
	turnC, turnD := TurnID("01K0000000000000000000000C"), TurnID("01K0000000000000000000000D")
	call := func(number int) Entry {
		return Entry{Turn: turnA, Body: Sealed{msgA, number, provider.ToolCall{ID: "c", Name: "look", Input: json.RawMessage(`{}`)}}}
	}
	log := []Entry{
		said(turnA, "one"), said(turnB, "steers"), started(turnA), sealed(turnA, msgA, 0, "void"),
		{Turn: turnA, Body: Retry{Message: msgA, Discarded: []int{0}}}, call(1), messageEnded(turnA, msgA, 3), said(turnC, "taken out"),
		{Turn: turnA, Body: ToolStart{msgA, 1}}, {Turn: turnC, Body: TurnEnd{StopReason: "cancelled"}},
		{Turn: turnA, Body: ToolEnd{Message: "R", Reply: msgA, CallID: "c", Content: provider.Blocks{provider.Text{Text: "seen"}}}},
		{Turn: turnB, Body: Steered{turnA}}, {Body: Repair{API: "messages"}},
		sealed(turnA, "MB", 0, "reply"), messageEnded(turnA, "MB", 4), ended(turnA),
		said(turnD, "two"), started(turnD), sealed(turnD, "MD", 0, "reply two"), messageEnded(turnD, "MD", 3), ended(turnD),
	}
	s := NewMem()
	create(t, s, Session{ID: testID(0)})
	add(t, s, testID(0), log...)
	before, err := Load(t.Context(), s, testID(0))
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, testID(0), Entry{Turn: turnD, Body: Compaction{Upto: "MD", Summary: "numbers"}})
	v, err := Load(t.Context(), s, testID(0))
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
	for i, turn := range v.Turns {
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
		if turn.ID == turnB { // its message is in the turn that took it in
			continue
		}
		equal(t, "turn "+string(turn.ID), text(whole), text(before.Turns[i]))
	}
	if released != 1 {
		t.Errorf("%d turns were let go of, want 1", released)
	}
	if err := s.Delete(t.Context(), testID(0)); err != nil {
		t.Fatal(err)
	}
	_, err = v.Whole(t.Context(), s, v.Turns[0])
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("without its log: %v", err)
	}
}
