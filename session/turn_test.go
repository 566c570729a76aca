package session_test

import (
	"fmt"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// TestSections has the messages of a turn that fell back belong to the models that made them, also in a fork and behind a summary.
func TestSections(t *testing.T) {
	ref := func(name string) session.ModelRef { return session.ModelRef{Provider: name, ID: name} }
	entries := func(turn session.TurnID) []session.Entry {
		message := func(n int) session.MessageID { return session.MessageID(fmt.Sprint(turn, n)) }
		said := func(n int) []session.Body {
			return []session.Body{session.Sealed{Message: message(n), Block: provider.Text{Text: "a"}}, session.MessageEnd{Message: message(n)}}
		}
		var bodies []session.Body
		bodies = append(bodies, session.Prompt{Message: message(0)}, session.TurnStart{Model: ref("a")})
		bodies = append(bodies, said(1)...)
		bodies = append(bodies, session.FellBack{TurnStart: session.TurnStart{Model: ref("b")}}, session.FellBack{TurnStart: session.TurnStart{Model: ref("c")}, Continues: true})
		bodies = append(bodies, said(2)...)
		bodies = append(bodies, session.TurnEnd{StopReason: session.StopEndTurn})
		var list []session.Entry
		for _, b := range bodies {
			list = append(list, session.Entry{Turn: turn, Body: b})
		}
		return list
	}
	v := session.NewView(session.Session{ID: "s"})
	apply := func(list ...session.Entry) {
		for _, e := range list {
			if err := v.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(name string, turn *session.Turn) {
		var got string
		for i, part := range turn.Sections() {
			got += fmt.Sprintf("%d %s %d %v; ", i, part.Start.Model.ID, len(part.Messages), part.Continues)
		}
		if want := "0 a 2 false; 1 b 0 false; 2 c 1 true; "; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		for i, want := range []string{"a", "a", "c"} {
			if by := turn.By(turn.Messages[i]); by.Model != ref(want) {
				t.Errorf("%s: message %d is by %s", name, i, by.Model)
			}
		}
		if turn.Now().Model != ref("c") || turn.Start.Model != ref("a") {
			t.Errorf("%s: it runs with %s, and began with %s", name, turn.Now().Model, turn.Start.Model)
		}
	}
	apply(entries("t")...)
	check("new", v.Turn("t"))
	if err := v.Apply(session.Entry{Turn: "t", Body: session.FellBack{}}); err == nil {
		t.Error("a turn that has ended falls back")
	}
	apply(entries("u")...)
	apply(session.Entry{Body: session.Compaction{Upto: "u0", Summary: "s"}}, session.Entry{Turn: "w", Body: session.Prompt{Message: "w0"}},
		session.Entry{Turn: "w", Body: session.TurnStart{Model: ref("a")}}) // the summary can be undone until then
	if !v.Turn("t").Released {
		t.Fatal("the first turn is not released")
	}
	check("released", v.Turn("t"))
}
