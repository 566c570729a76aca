package session

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/thinkd/thinkd/provider"
)

// TestViewEqualsFold draws a life of a session and compares the view that lived it with the fold of what was stored.
func TestViewEqualsFold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		store := NewMem()
		record := Session{ID: testID(1), Title: rapid.SampledFrom([]string{"", "named"}).Draw(r, "title")}
		if err := store.Create(t.Context(), record); err != nil {
			r.Fatal(err)
		}
		live := NewView(record)
		refused := 0
		for i := range rapid.IntRange(1, 40).Draw(r, "entries") {
			e := drawEntry(r, i)
			if live.Apply(e) != nil {
				refused++ // and not stored: an agent applies before it appends
				continue
			}
			if _, err := store.Append(t.Context(), record.ID, e); err != nil {
				r.Fatal(err)
			}
		}
		folded, err := Load(t.Context(), store, record.ID)
		if err != nil {
			r.Fatalf("after %d refused entries: %v", refused, err)
		}
		if diff := cmp.Diff(live, folded, viewFields, cmpopts.EquateEmpty()); diff != "" {
			r.Fatalf("(-live +folded):\n%s", diff)
		}
		kept, err := store.Get(t.Context(), record.ID)
		if err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(live.Session, kept, cmpopts.EquateEmpty()); diff != "" {
			r.Fatalf("record (-live +stored):\n%s", diff)
		}
	})
}

func drawEntry(r *rapid.T, i int) Entry {
	word := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(r, name) }
	turn := TurnID(word("turn", "A", "B", "C"))
	message := MessageID(word("message", "1", "2")) + MessageID(turn)
	number := rapid.IntRange(0, 3).Draw(r, "number")
	e := Entry{Seq: uint64(rapid.IntRange(0, 1000).Draw(r, "seq")), Time: int64(i), Turn: turn}
	switch word("kind", "prompt", "turn_start", "block", "block", "message_end", "retry", "setting", "repair", "compaction", "turn_end") {
	case "prompt":
		p := Prompt{Message: MessageID("P" + turn), Content: provider.Blocks{provider.Text{Text: word("text", "", "one\ntwo", "é")}}}
		if stamp := word("stamp", "none", "", "a"); stamp != "none" {
			p.Stamp = &Stamp{stamp, []byte{byte(i)}}
		}
		e.Body = p
	case "turn_start":
		e.Body = TurnStart{Model: ModelRef{"p", "m"}}
	case "block":
		e.Body = Sealed{message, number, provider.Text{Text: fmt.Sprint(i)}}
	case "message_end":
		e.Body = MessageEnd{Message: message, StopReason: "end_turn", Usage: provider.Usage{Output: i}}
	case "retry":
		e.Body = Retry{Message: message, Discarded: []int{number}}
	case "setting":
		title := word("title", "", "t")
		level := provider.Level(word("level", "low", "high"))
		value := word("value", "null", "1", `"x"`)
		e.Turn = ""
		e.Body = Setting{Title: &title, Level: &level, Metadata: map[string]json.RawMessage{word("member", "a", "b"): json.RawMessage(value)}}
	case "repair":
		e.Body = Repair{"messages", "strip"}
	case "compaction":
		e.Body = Compaction{Upto: message, Summary: "s", Usage: provider.Usage{Output: i}}
	case "turn_end":
		e.Body = TurnEnd{StopReason: "end_turn", Usage: provider.Usage{Output: i}}
	}
	return e
}

func TestViewRefuses(t *testing.T) {
	setup := []Entry{said(turnA, "x"), started(turnA), sealed(turnA, msgA, 0, "y"), said(turnB, "z")}
	for _, c := range []struct {
		name string
		e    Entry
		want string
	}{
		{"a second prompt", said(turnA, "again"), "has a prompt already"},
		{"an unknown turn", ended("nowhere"), "no such turn"},
		{"a second start", started(turnA), "has started or ended already"},
		{"a block twice", sealed(turnA, msgA, 0, "y"), "sealed already"},
		{"no body", Entry{Turn: turnA}, "no body"},
	} {
		v, before := NewView(Session{}), NewView(Session{})
		for _, e := range setup {
			if err := v.Apply(e); err != nil {
				t.Fatal(err)
			}
			if err := before.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := v.Apply(c.e); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
		if diff := cmp.Diff(before, v, viewFields); diff != "" {
			t.Errorf("%s changed the view (-before +after):\n%s", c.name, diff)
		}
	}
}

func TestCheckID(t *testing.T) {
	for range 10 {
		if id := string(NewID()); CheckID(id) != nil {
			t.Errorf("%s, ours, is refused: %v", id, CheckID(id))
		}
	}
	for _, word := range []string{
		"", ".", "..", "../../../../../../etc/passwd", strings.Repeat("0", 25), strings.Repeat("0", 27), strings.Repeat("x", 10<<10),
		"01k00000000000000000000000", "01K0000000000000000000000I", "01K0000000000000000000000\x00", "81K00000000000000000000000",
		"01K00000000000000000/../00", "%2e%2e%2f01K0000000000000", "０１K00000000000000000000", "01K000000000000000000000-0",
	} {
		if CheckID(word) == nil {
			t.Errorf("%.40q was taken", word)
		}
	}
}
