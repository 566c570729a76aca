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

// TestSteps keeps where a turn changed its model, and where it was parked.
func TestSteps(t *testing.T) {
	ref := session.ModelRef{Provider: "a", ID: "m"}
	v := session.NewView(session.Session{ID: "s"})
	var at int64
	apply := func(bodies ...session.Body) {
		for _, b := range bodies {
			at++
			if err := v.Apply(session.Entry{Turn: "t", Time: at, Body: b}); err != nil {
				t.Fatal(err)
			}
		}
	}
	quota := session.TurnParked{Why: session.ParkedQuota, Since: 3}
	apply(session.Prompt{Message: "m0"}, session.TurnStart{Model: ref, Returned: &session.Link{Model: ref, Key: "k"}}, // 1, 2
		quota, session.TurnResumed{By: session.ResumedByTime}, quota, session.TurnResumed{By: session.ResumedByClient}, // to 6
		session.Sealed{Message: "m1", Block: provider.Text{Text: "a"}}, session.MessageEnd{Message: "m1"}, // to 8
		session.FellBack{TurnStart: session.TurnStart{Model: ref, Key: "l", Reasoning: provider.Decision{Effective: provider.High}}, Why: session.Failure{Kind: "quota"}, Continues: true},
		session.FellBack{TurnStart: session.TurnStart{Model: ref}}, // 10
		session.TurnParked{Why: session.ParkedBudget, Since: 11}, session.TurnEnd{StopReason: session.StopCancelled})
	var got string
	for _, s := range v.Turn("t").Steps {
		got += fmt.Sprintf("%d at %d: ", s.Time, s.At)
		if s.Parked != nil {
			got += fmt.Sprintf("%s by %q; ", s.Parked.Why, s.By)
			continue
		}
		got += fmt.Sprintf("%s%s to %s%s %v %v; ", s.Switch.From.Key, s.Switch.From.Level, s.Switch.To.Key, s.Switch.To.Level, s.Switch.Why != nil, s.Switch.Continues)
	}
	if want := `2 at 1: k to  false false; 6 at 1: quota by "client"; 9 at 2:  to lhigh true true; 10 at 2: lhigh to  true false; 12 at 2: budget by ""; `; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
