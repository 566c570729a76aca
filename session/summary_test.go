package session_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/mem"
	"github.com/thinkd/thinkd/session/storetest"
)

// talk is a log with some turns, each a prompt and a reply of its number.
func talk(turns int) (log []session.Entry) {
	for i := range turns {
		turn, reply := session.TurnID(fmt.Sprint("T", i)), session.MessageID(fmt.Sprint("R", i))
		log = append(log, storetest.Said(turn, fmt.Sprint("ask ", i)), storetest.Started(turn), storetest.Sealed(turn, reply, 0, fmt.Sprint("say ", i)),
			storetest.MessageEnded(turn, reply, 1), storetest.Ended(turn))
	}
	return log
}

func summary(id session.SummaryID, upto int) session.Entry {
	return session.Entry{Time: 7, Body: session.Compaction{ID: id, Upto: session.MessageID(fmt.Sprint("R", upto)), Summary: "sum " + string(id)}}
}

func loaded(t *testing.T, log ...session.Entry) (*session.View, session.Sessions) {
	t.Helper()
	s := mem.New().For(session.Operator)
	storetest.Create(t, s, session.Session{ID: storetest.ID(0)})
	storetest.Add(t, s, storetest.ID(0), log...)
	v, err := session.Load(t.Context(), s, storetest.ID(0))
	if err != nil {
		t.Fatal(err)
	}
	return v, s
}

func TestSummaries(t *testing.T) {
	log := append(talk(4), summary("A", 1))
	log = append(log, talk(6)[20:]...)
	log = append(log, summary("", 4), session.Entry{Body: session.Uncompaction{Summary: "R4"}}, summary("C", 5))
	v, s := loaded(t, log...)
	var got []string
	for _, sum := range v.Summaries() {
		c, err := v.Compacted(t.Context(), s, sum)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(sum.ID, " after ", sum.Includes, ": ", sum.From, " to ", sum.Upto, " (", sum.Messages, ") at ", sum.After, " ", sum.Undone, " ", c.Summary))
	}
	want := []string{
		"A after : U" + "T0 to R1 (4) at R3 false sum A",
		"R4 after A: UT2 to R4 (6) at R5 true sum ", // of an older build
		"C after A: UT2 to R5 (8) at R5 false sum C",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if v.Undoable() != "C" || v.Undone() {
		t.Errorf("undoable %q, undone %v", v.Undoable(), v.Undone())
	}
}

// A summary can be undone once, until somebody says something. Then the view has what it had before, and lets go of nothing.
func TestUndo(t *testing.T) {
	rest := func(v *session.View) string {
		turn, message := v.Rest()
		return fmt.Sprint(turn, ".", message)
	}
	before, _ := loaded(t, talk(4)...)
	v, _ := loaded(t, append(talk(4), summary("A", 2))...)
	if v.Undoable() != "A" || rest(v) != "2.2" || v.Turns[0].Released {
		t.Errorf("right after it: undoable %q, rest %s, released %v", v.Undoable(), rest(v), v.Turns[0].Released)
	}
	undo := session.Entry{Body: session.Uncompaction{Summary: "A"}}
	if err := v.Apply(undo); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before.Turns, v.Turns, session.ViewFields); diff != "" || v.Compaction() != nil || !v.Undone() || rest(v) != "0.0" {
		t.Errorf("undone: %+v, rest %s\n%s", v.Compaction(), rest(v), diff)
	}
	for name, log := range map[string][]session.Entry{
		"twice":            append(talk(4), summary("A", 2), undo),
		"of another":       append(talk(4), summary("B", 2)),
		"of an older one":  append(talk(4), summary("A", 1), summary("B", 2)),
		"of none":          talk(4),
		"after a prompt":   append(talk(4), summary("A", 2), storetest.Said("T9", "more")),
		"after its undone": append(talk(4), summary("A", 1), summary("B", 2), session.Entry{Body: session.Uncompaction{Summary: "B"}}),
	} {
		v, _ := loaded(t, log...)
		if err := v.Apply(undo); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Thinking goes back only where the same messages are in front of it as when it was thought.
func TestRebound(t *testing.T) {
	log := append(talk(2), storetest.Said("T2", "ask"), storetest.Started("T2"), storetest.Sealed("T2", "R2", 0, "calls"), storetest.MessageEnded("T2", "R2", 1),
		session.Entry{Turn: "T2", Body: session.Compaction{ID: "A", Upto: "R1", Summary: "s"}},
		storetest.Sealed("T2", "R3", 0, "behind it"), storetest.MessageEnded("T2", "R3", 1), storetest.Ended("T2"))
	bound := func(v *session.View) (list []string) {
		for _, turn := range v.Turns {
			for _, m := range turn.Messages {
				if v.Rebound(m) {
					list = append(list, string(m.ID))
				}
			}
		}
		return list
	}
	v, _ := loaded(t, log...)
	if got := bound(v); !slices.Equal(got, []string{"UT0", "R0", "UT1", "R1", "UT2", "R2"}) {
		t.Errorf("with the summary: %q", got)
	}
	v, _ = loaded(t, append(slices.Clip(log), session.Entry{Body: session.Uncompaction{Summary: "A"}})...)
	if got := bound(v); !slices.Equal(got, []string{"R3"}) {
		t.Errorf("without it: %q", got)
	}
}

// A fork from before a summary has all that was there, and its own pins.
func TestForkBefore(t *testing.T) {
	pins := session.Entry{Body: session.Setting{Pin: []session.MessageID{"R0", "R3", "UT5"}}}
	log := append(talk(4), summary("A", 2))
	log = append(log, talk(6)[20:]...)
	log = append(log, pins, session.Entry{Body: session.Setting{Unpin: []session.MessageID{"R3"}}}, summary("B", 4))
	v, s := loaded(t, log...)
	for id, want := range map[session.SummaryID]struct{ turns, released, summaries, pins int }{"A": {4, 0, 0, 1}, "B": {6, 2, 1, 2}} {
		record, ok := v.ForkBefore(id)
		if !ok {
			t.Fatal("no fork before ", id)
		}
		record.ID = storetest.ID(int(id[0]))
		storetest.Create(t, s, record)
		fork, err := session.Load(t.Context(), s, record.ID)
		if err != nil {
			t.Fatal(err)
		}
		released := 0
		for _, turn := range fork.Turns {
			if turn.Released {
				released++
			}
		}
		if len(fork.Turns) != want.turns || released != want.released || len(fork.Summaries()) != want.summaries || len(fork.Session.Pinned) != want.pins || fork.Undoable() != "" {
			t.Errorf("before %s: %d turns, %d released, %d summaries, pinned %q", id, len(fork.Turns), released, len(fork.Summaries()), fork.Session.Pinned)
		}
	}
	if _, ok := v.ForkBefore("X"); ok {
		t.Error("a fork before a summary that is not there")
	}
}

// Compacted does not take something else for a summary.
func TestCompactedIsRead(t *testing.T) {
	log := append(talk(4), summary("A", 1))
	v, s := loaded(t, append(append(log, talk(5)[20:]...), summary("B", 3), storetest.Said("T9", "more"))...)
	sum, _ := v.Summary("A")
	if err := s.Delete(t.Context(), storetest.ID(0)); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Compacted(t.Context(), s, sum); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("without its log: %v", err)
	}
}

// Whatever is summarised, undone and pinned, a view that follows a session is the one that its log makes.
func TestSummariesFold(t *testing.T) {
	testgo.Check(t, func(r *rapid.T) {
		s := mem.New().For(session.Operator)
		storetest.Create(t, s, session.Session{ID: storetest.ID(0)})
		live, err := session.Load(t.Context(), s, storetest.ID(0))
		if err != nil {
			t.Fatal(err)
		}
		turns := 0
		for i := range rapid.IntRange(1, 30).Draw(r, "entries") {
			var next []session.Entry
			switch rapid.SampledFrom([]string{"turn", "turn", "summary", "undo", "undo", "pin", "unpin"}).Draw(r, "entry") {
			case "turn":
				next, turns = talk(turns + 1)[turns*5:], turns+1
			case "summary":
				if turns > 0 {
					next = []session.Entry{summary(session.SummaryID(fmt.Sprint("S", i)), rapid.IntRange(0, turns-1).Draw(r, "upto"))}
				}
			case "undo":
				if id := live.Undoable(); id != "" {
					next = []session.Entry{{Body: session.Uncompaction{Summary: id}}}
				}
			case "pin", "unpin":
				if turns > 0 {
					ids := []session.MessageID{session.MessageID(fmt.Sprint("R", rapid.IntRange(0, turns-1).Draw(r, "pinned")))}
					next = []session.Entry{{Body: session.Setting{Pin: ids}}}
					if rapid.Bool().Draw(r, "off") {
						next = []session.Entry{{Body: session.Setting{Unpin: ids}}}
					}
				}
			}
			for _, e := range next {
				if err := live.Apply(e); err != nil {
					r.Fatal(err)
				}
			}
			storetest.Add(t, s, storetest.ID(0), next...)
		}
		again, err := session.Load(t.Context(), s, storetest.ID(0))
		if err != nil {
			r.Fatal(err)
		}
		live.Session.Created, live.Session.Updated = again.Session.Created, again.Session.Updated
		if diff := cmp.Diff(live, again, session.ViewFields); diff != "" {
			r.Fatalf("(-live +log)\n%s", diff)
		}
		for _, sum := range again.Summaries() {
			c, err := again.Compacted(t.Context(), s, sum)
			if err != nil || !strings.HasPrefix(c.Summary, "sum ") {
				r.Fatalf("%s: %+v, %v", sum.ID, c, err)
			}
		}
	})
}
