package session_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/mem"
	"github.com/thinkd/thinkd/session/storetest"
)

// TestViewEqualsFold draws a life of a session and compares the view that lived it with the fold of what was stored.
func TestViewEqualsFold(t *testing.T) {
	t.Parallel()
	testgo.Check(t, func(r *rapid.T) {
		store := mem.New().For(session.Operator)
		record := session.Session{ID: storetest.ID(1), Title: rapid.SampledFrom([]string{"", "named"}).Draw(r, "title")}
		if err := store.Create(t.Context(), record); err != nil {
			r.Fatal(err)
		}
		live := session.NewView(record)
		refused := 0
		for i := range rapid.IntRange(1, 40).Draw(r, "entries") {
			e := drawEntry(r, i)
			if live.Apply(e) != nil {
				refused++ // and not stored: an agent applies before it appends
				continue
			}
			if _, err := storetest.Append(t.Context(), store, record.ID, e); err != nil {
				r.Fatal(err)
			}
		}
		folded, err := session.Load(t.Context(), store, record.ID)
		if err != nil {
			r.Fatalf("after %d refused entries: %v", refused, err)
		}
		if diff := cmp.Diff(live, folded, session.ViewFields, cmpopts.EquateEmpty()); diff != "" {
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

func drawEntry(r *rapid.T, i int) session.Entry {
	word := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(r, name) }
	turn := session.TurnID(word("turn", "A", "B", "C"))
	message := session.MessageID(word("message", "1", "2")) + session.MessageID(turn)
	number := rapid.IntRange(0, 3).Draw(r, "number")
	e := session.Entry{Seq: uint64(rapid.IntRange(0, 1000).Draw(r, "seq")), Time: int64(i), Turn: turn}
	switch word("kind", "prompt", "turn_start", "block", "block", "message_end", "retry", "setting", "repair", "compaction", "uncompaction", "turn_end") {
	case "prompt":
		p := session.Prompt{Message: session.MessageID("P" + turn), Content: provider.Blocks{provider.Text{Text: word("text", "", "one\ntwo", "é")}}}
		if stamp := word("stamp", "none", "", "a"); stamp != "none" {
			p.Stamp = &session.Stamp{stamp, []byte{byte(i)}}
		}
		e.Body = p
	case "turn_start":
		e.Body = session.TurnStart{Model: session.ModelRef{"p", "m"}}
	case "block":
		e.Body = session.Sealed{message, number, provider.Text{Text: fmt.Sprint(i)}}
	case "message_end":
		e.Body = session.MessageEnd{Message: message, StopReason: "end_turn", Usage: provider.Usage{Output: i}}
	case "retry":
		e.Body = session.Retry{Message: message, Discarded: []int{number}}
	case "setting":
		title := word("title", "", "t")
		level := provider.Level(word("level", "low", "high"))
		value := word("value", "null", "1", `"x"`)
		e.Turn = ""
		e.Body = session.Setting{Title: &title, Level: &level, Metadata: map[string]json.RawMessage{word("member", "a", "b"): json.RawMessage(value)}}
	case "repair":
		e.Body = session.Repair{"messages", "strip"}
	case "compaction":
		e.Body = session.Compaction{Upto: message, Summary: "s", Usage: provider.Usage{Output: i}}
	case "uncompaction":
		e.Body = session.Uncompaction{Summary: session.SummaryID(message)}
	case "turn_end":
		e.Body = session.TurnEnd{StopReason: "end_turn", Usage: provider.Usage{Output: i}}
	}
	return e
}

func TestViewRefuses(t *testing.T) {
	setup := []session.Entry{storetest.Said(storetest.TurnA, "x"), storetest.Started(storetest.TurnA), storetest.Sealed(storetest.TurnA, storetest.MsgA, 0, "y"), storetest.Said(storetest.TurnB, "z")}
	for _, c := range []struct {
		name string
		e    session.Entry
		want string
	}{
		{"a second prompt", storetest.Said(storetest.TurnA, "again"), "has a prompt already"},
		{"an unknown turn", storetest.Ended("nowhere"), "no such turn"},
		{"a second start", storetest.Started(storetest.TurnA), "has started or ended already"},
		{"a block twice", storetest.Sealed(storetest.TurnA, storetest.MsgA, 0, "y"), "sealed already"},
		{"no body", session.Entry{Turn: storetest.TurnA}, "no body"},
	} {
		v, before := session.NewView(session.Session{}), session.NewView(session.Session{})
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
		if diff := cmp.Diff(before, v, session.ViewFields); diff != "" {
			t.Errorf("%s changed the view (-before +after):\n%s", c.name, diff)
		}
	}
}

func TestCheckID(t *testing.T) {
	for range 10 {
		if id := string(session.NewID()); session.CheckID(id) != nil {
			t.Errorf("%s, ours, is refused: %v", id, session.CheckID(id))
		}
	}
	for _, word := range []string{
		"", ".", "..", "../../../../../../etc/passwd", strings.Repeat("0", 25), strings.Repeat("0", 27), strings.Repeat("x", 10<<10),
		"01k00000000000000000000000", "01K0000000000000000000000I", "01K0000000000000000000000\x00", "81K00000000000000000000000",
		"01K00000000000000000/../00", "%2e%2e%2f01K0000000000000", "０１K00000000000000000000", "01K000000000000000000000-0",
	} {
		if session.CheckID(word) == nil {
			t.Errorf("%.40q was taken", word)
		}
	}
}
