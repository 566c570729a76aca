package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
)

func TestOddEvents(t *testing.T) {
	thinking, text := provider.Thinking{Kind: provider.ThinkingSummary}, provider.Text{}
	call := provider.ToolCall{ID: "t", Name: "read", Input: json.RawMessage(`{}`)}
	hidden := signed("")
	hidden.Kind = provider.ThinkingRedacted
	for _, test := range []struct {
		name string
		list []any
		told []string // between message_start and message_end
	}{
		{"begun twice", []any{provider.Begin{Index: 0, Block: text}, provider.Delta{Index: 0, Text: "a"}, provider.Begin{Index: 0, Block: text},
			provider.Delta{Index: 0, Text: "b"}, provider.End{Index: 0, Block: provider.Text{Text: "ab"}}},
			[]string{"message_delta ab", "text_end ab"}},
		{"ended twice", []any{provider.End{Index: 0, Block: provider.Text{Text: "a"}}, provider.End{Index: 0, Block: provider.Text{Text: "a"}},
			provider.Delta{Index: 0, Text: "x"}, provider.Begin{Index: 0, Block: text}},
			[]string{"text_end a"}},
		{"growth before its begin", []any{provider.Delta{Index: 0, Text: "x"}, provider.Begin{Index: 0, Block: text},
			provider.End{Index: 0, Block: provider.Text{Text: "xy"}}},
			[]string{"text_end xy"}},
		{"an end of another kind", []any{provider.Begin{Index: 0, Block: thinking}, provider.Delta{Index: 0, Text: "a"},
			provider.End{Index: 0, Block: call}, provider.End{Index: 0, Block: signed("a")}, provider.End{Index: 1, Block: provider.Text{Text: "b"}}},
			[]string{"thinking_start", "thinking_delta a", "thinking_end a signed=true", "text_end b"}},
		{"no block at all", []any{provider.Begin{Index: 0}, provider.End{Index: 1}, provider.Event(nil), provider.End{Index: 2, Block: provider.Text{Text: "a"}}},
			[]string{"text_end a"}},
		{"empty thinking is not told", []any{provider.Begin{Index: 0, Block: thinking}, provider.End{Index: 0, Block: thinking},
			provider.End{Index: 1, Block: provider.Text{Text: "a"}}},
			[]string{"text_end a"}},
		{"redacted thinking is", []any{provider.Begin{Index: 0, Block: thinking}, provider.End{Index: 0, Block: hidden},
			provider.End{Index: 1, Block: provider.Text{Text: "a"}}},
			[]string{"thinking_start", "thinking_end  signed=true", "text_end a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, events(append(test.list, ended)...))
				defer b.close()
				id := b.session("sim/claude", "")
				sub, err := b.agent(id).Subscribe(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				e := b.turn(id, "go")
				check(t, "stop", string(e.End.StopReason), "end_turn")
				check(t, "incomplete", e.Message.End.Incomplete, session.Incomplete(""))
				got := methods(sub)
				check(t, "told", got[3:len(got)-4], test.told)
			})
		})
	}
}

func TestBlockWithoutItsEndIsNotSentAsWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(append(append([]any{}, think("half")[:2]...), append(say("all"), ended)...)...))
		defer b.close()
		id := b.session("sim/claude", "")
		e := b.turn(id, "one")
		check(t, "incomplete", e.Message.End.Incomplete, session.Failed)
		b.turn(id, "two")
		check(t, "sent", b.fake.requests[1].Messages[1].Blocks, provider.Blocks{provider.Text{Text: "all"}})
	})
}

func TestWhatComesWithTheEndAloneCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(provider.End{Index: 0, Block: provider.Text{Text: string(make([]byte, 2000))}}, ended))
		b.group.Close()
		b.cfg.Limits.TurnBytes = 1000
		b.start()
		defer b.close()
		e := b.turn(b.session("sim/claude", ""), "go")
		check(t, "limit", e.End.Limit, "bytes")
	})
}

func TestRepairTellsWhatIsVoid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := &provider.Error{API: "fake", Kind: provider.KindBadRequest, Status: 400, Repair: "strip"}
		b := newBench(t, events(append(think("x"), refused)...), answer("y", "z"))
		defer b.close()
		id := b.session("sim/claude", "")
		sub, err := b.agent(id).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.turn(id, "go")
		check(t, "told", methods(sub)[6:8], []string{"retry 2 [0]", "notice history_repaired"})
	})
}

// A change of models sends one notice of what it does to earlier thinking. Later calls, and a turn after one without an answer, do not
// repeat it. The next change sends it again.
func TestConversionIsToldOnceASwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		notice := provider.Conversion{Dropped: 1}.Notices()[0]
		broken := events(notice, &provider.Error{Kind: provider.KindBadRequest, Status: 400})
		paused := events(append(append([]any{notice}, say("y")...), provider.Stop{Reason: provider.StopPause, Usage: ended.Usage})...)
		said := events(append(append([]any{notice}, say("y")...), ended)...)
		b := newBench(t, answer("x", "y"), broken, paused, said, said, said, said, said)
		defer b.close()
		id := b.session("sim/claude", "")
		sub, err := b.agent(id).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		to := func(name string) {
			if _, err := b.agent(id).Set(t.Context(), Change{Model: &session.ModelRef{Provider: "anthropic", ID: name}}); err != nil {
				t.Fatal(err)
			}
		}
		turn := func() (told int) {
			b.turn(id, "go")
			for _, m := range methods(sub) {
				if m == "thinking_converted" {
					told++
				}
			}
			return told
		}
		got := []int{turn()}
		to("claude-opus-5")
		got = append(got, turn(), turn(), turn()) // without an answer, with two calls, with one
		to("claude-opus-5-5")
		got = append(got, turn())
		to("claude-opus-5")
		got = append(got, turn(), turn())
		check(t, "told by turn", got, []int{0, 1, 0, 0, 1, 1, 0})
	})
}

func TestRepairsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var scripts []script
		for i := range 20 {
			scripts = append(scripts, events(&provider.Error{API: "fake", Kind: provider.KindBadRequest, Status: 400,
				Repair: provider.Repair(fmt.Sprint("drop_block ", i))}))
		}
		b := newBench(t, scripts...)
		defer b.close()
		e := b.turn(b.session("sim/claude", ""), "go")
		check(t, "stop", string(e.End.StopReason), "error")
		check(t, "calls", len(b.fake.requests), maxTries)
	})
}

func TestPausesLeaveTheBudgetOfRetriesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pause := events(append(say("y"), provider.Stop{Reason: provider.StopPause})...)
		overloaded := events(&provider.Error{Kind: provider.KindOverloaded, Status: 529})
		b := newBench(t, pause, pause, pause, pause, pause, pause, overloaded, answer("a", "b"))
		defer b.close()
		check(t, "stop", string(b.turn(b.session("sim/claude", ""), "go").End.StopReason), "end_turn")
	})
}

// Changes from several clients at once never make the metadata larger than the bound together.
func TestMetadataBoundTogether(t *testing.T) {
	b := newBench(t)
	defer b.close()
	id := b.session("sim/claude", "")
	a := b.agent(id)
	value, err := json.Marshal(strings.Repeat("x", MaxMetadata/4))
	if err != nil {
		t.Fatal(err)
	}
	var taken, refused atomic.Int64
	var setting sync.WaitGroup
	for i := range 16 {
		setting.Go(testgo.Guard(t, func() { // ends with one change
			_, err := a.Set(t.Context(), Change{Metadata: map[string]json.RawMessage{fmt.Sprint(i): value}})
			switch {
			case err == nil:
				taken.Add(1)
			case errors.Is(err, ErrMetadata):
				refused.Add(1)
			default:
				t.Error(err)
			}
		}))
	}
	setting.Wait()
	check(t, "taken and refused", [2]int64{taken.Load(), refused.Load()}, [2]int64{3, 13})
	st, err := a.State(t.Context())
	if err != nil || session.MetadataSize(st.Session.Metadata) > MaxMetadata {
		t.Errorf("there are %d bytes, %v", session.MetadataSize(st.Session.Metadata), err)
	}
	// What makes room may bring something in the same change.
	null := json.RawMessage("null")
	change := Change{Metadata: map[string]json.RawMessage{"more": value}}
	for name := range st.Session.Metadata {
		change.Metadata[name] = null
	}
	if _, err := a.Set(t.Context(), change); err != nil {
		t.Error(err)
	}
}

// No turn ends in silence. After an answer with neither text nor a call, the model is called once more; a second such answer is an
// error. After tool results the model may have nothing to add: then the turn ends with a notice.
func TestEmptyAnswers(t *testing.T) {
	stop := provider.Stop{Reason: provider.StopEndTurn, Usage: provider.Usage{Input: 10, Output: 5}}
	empty, blank := events(concat(think("x"), []any{stop})...), events(concat(say("\n\n"), []any{stop})...)
	for _, test := range []struct {
		name    string
		scripts []script
		ends    string
		calls   int
		input   int
	}{
		{"thinking alone, once", []script{empty}, "end_turn", 2, 20},
		{"thinking alone, twice", []script{empty, empty}, "error empty_answer", 2, 20},
		{"nothing at all, twice", []script{events(stop), events(stop)}, "error empty_answer", 2, 20},
		{"blank text, once", []script{blank}, "end_turn", 2, 20},
		{"blank text, twice", []script{blank, blank}, "error empty_answer", 2, 20},
		{"text that goes on with nothing", []script{events(concat(say("a"), []any{provider.Stop{Reason: provider.StopPause, Usage: stop.Usage}})...), empty}, "end_turn", 2, 20},
		{"cut off before a word", []script{events(provider.Stop{Reason: provider.StopMaxTokens, Usage: stop.Usage})}, "max_tokens", 1, 10},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, test.scripts...)
				defer b.close()
				id := b.session("sim/claude", "")
				e := b.turn(id, "go")
				ends := string(e.End.StopReason)
				if e.End.Error != nil {
					ends += " " + e.End.Error.Kind
				}
				check(t, "ends", ends, test.ends)
				check(t, "calls", len(b.fake.requests), test.calls)
				check(t, "what is void is paid for", e.End.Usage.Input, test.input)
				check(t, "the next turn", string(b.turn(id, "on").End.StopReason), "end_turn")
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		b, id := toolBench(t, &host{run: func(context.Context, provider.ToolCall, func(string)) provider.ToolResult { return said("file") }}, calls("t", `{}`), empty)
		defer b.close()
		sub, err := b.agent(id).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check(t, "after a result", string(b.turn(id, "go").End.StopReason), "end_turn")
		check(t, "calls", len(b.fake.requests), 2)
		if told := methods(sub); !slices.Contains(told, "notice empty_answer") {
			t.Errorf("told: %q", told)
		}
	})
}
