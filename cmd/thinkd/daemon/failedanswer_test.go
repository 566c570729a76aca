package daemon

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/vendors"
)

// An answer that failed, or that says nothing, is asked for again: nothing, thinking alone, Gemini's words for a call or an
// answer that it could not form, also behind a text, which is void then. Where it fails again and again, the turn ends with
// an error that has the vendor's words, and never as if it had gone well. The next turn is answered.
func TestFailedAnswers(t *testing.T) {
	thought := sim.Part{Kind: sim.Thinking, Text: "Which file is meant?"}
	text := sim.Part{Text: "I write the file."}
	for _, row := range []struct {
		name   string
		apis   []string // nil: all
		answer sim.Answer
		tries  int    // until it is given up
		ends   string // the error's kind then
		says   string // a part of its message
		void   int    // blocks of the first try that are void
	}{
		{name: "nothing", answer: sim.Answer{Parts: []sim.Part{}}, tries: 2, ends: "empty_answer", says: "neither text nor a tool call"},
		{name: "thinking alone", answer: sim.Answer{Parts: []sim.Part{thought}}, tries: 2, ends: "empty_answer", says: "neither text nor a tool call", void: 1},
		{name: "a malformed call", apis: []string{"gemini", "chat"}, answer: sim.Answer{Parts: []sim.Part{thought}, Stop: "MALFORMED_FUNCTION_CALL"},
			tries: 5, ends: "transport", says: "MALFORMED_FUNCTION_CALL", void: 1},
		{name: "a malformed call, behind a text", apis: []string{"gemini", "chat"}, answer: sim.Answer{Parts: []sim.Part{thought, text}, Stop: "MALFORMED_FUNCTION_CALL"},
			tries: 5, ends: "transport", says: "MALFORMED_FUNCTION_CALL", void: 2},
		{name: "a malformed call and nothing else", apis: []string{"gemini", "chat"}, answer: sim.Answer{Parts: []sim.Part{}, Stop: "MALFORMED_FUNCTION_CALL"},
			tries: 5, ends: "transport", says: "MALFORMED_FUNCTION_CALL"},
		{name: "a malformed answer", apis: []string{"gemini", "chat"}, answer: sim.Answer{Parts: []sim.Part{thought}, Stop: "MALFORMED_RESPONSE"},
			tries: 5, ends: "transport", says: "MALFORMED_RESPONSE", void: 1},
		{name: "another reason", apis: []string{"gemini"}, answer: sim.Answer{Parts: []sim.Part{thought}, Stop: "OTHER"},
			tries: 5, ends: "transport", says: "OTHER", void: 1},
		{name: "no finish reason", apis: []string{"chat"}, answer: sim.Answer{Parts: []sim.Part{thought}, Fault: sim.FaultNoFinishReason},
			tries: 5, ends: "transport", says: "without a finish reason", void: 1},
		{name: "a network error", apis: []string{"chat"}, answer: sim.Answer{Parts: []sim.Part{thought}, Stop: "network_error"},
			tries: 5, ends: "transport", says: "network_error", void: 1},
	} {
		for _, api := range vendors.APIs {
			if row.apis != nil && !slices.Contains(row.apis, api.Name) {
				continue
			}
			for _, once := range []bool{true, false} {
				name := map[bool]string{true: "once", false: "for ever"}[once]
				t.Run(row.name+"/"+api.Name+"/"+name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						tries, ends := row.tries, row.ends
						vendor := sim.New(sim.Config{})
						if once {
							tries, ends = 2, "end_turn"
							vendor.Script(row.answer, sim.Answer{Parts: []sim.Part{{Text: "Done."}}})
						} else {
							vendor.Script(slices.Repeat([]sim.Answer{row.answer}, tries)...)
						}
						through := lineTo(t, vendor)
						c := newClockwork(t, api, through, 0)
						defer c.group.Close()
						e := c.turn()
						if how := howEnded(e); how != ends {
							t.Errorf("ended with %s, want %s: %+v", how, ends, e.End.Error)
						}
						if !once && (e.End.Error == nil || !strings.Contains(e.End.Error.Message, row.says)) {
							t.Errorf("the error is %+v, want it to say %q", e.End.Error, row.says)
						}
						want := row.void
						if api.Name == "gemini" && want > 0 {
							want-- // it shows no thinking at this level
						}
						retries, void := c.retries()
						if retries != tries-1 || void != want*retries {
							t.Errorf("%d retries with %d void blocks, want %d with %d each", retries, void, tries-1, want)
						}
						if how := howEnded(c.prompt("what is next? [[sim: pace=0]]")); how != "end_turn" {
							t.Error("the next turn ended with ", how)
						}
						if refused := vendor.Refusals(); len(refused) > 0 {
							t.Errorf("refused: %+v", refused)
						}
					})
				})
			}
		}
	}
}

// [DONE] without a finish reason ends an answer that was cut off. What was shown stays, as incomplete, and the turn is no
// success. A call of which all came runs.
func TestNoFinishReason(t *testing.T) {
	api, _ := vendors.APINamed("chat")
	for _, row := range []struct {
		name  string
		parts []sim.Part
		ends  string
		ran   int
	}{
		{"text", []sim.Part{{Text: "Half an"}}, "transport", 0},
		{"a whole call", []sim.Part{{Text: "I read it."}, {Kind: sim.Call, Name: proof.PoisonTool, Input: []byte(`{"path":"a"}`)}}, "end_turn", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				vendor := sim.New(sim.Config{})
				vendor.Script(sim.Answer{Parts: row.parts, Fault: sim.FaultNoFinishReason}, sim.Answer{Parts: []sim.Part{{Text: "Done."}}})
				through := lineTo(t, vendor)
				files := &oddity{schema: `{"type":"object"}`, result: provider.ToolResult{Blocks: provider.Blocks{provider.Text{Text: "a file"}}}}
				c := newClockwork(t, api, through, 0, files)
				defer c.group.Close()
				if how := howEnded(c.prompt("read it")); how != row.ends || files.ran != row.ran {
					t.Errorf("ended with %s after %d calls, want %s after %d", how, files.ran, row.ends, row.ran)
				}
				if how := howEnded(c.prompt("what is next? [[sim: pace=0]]")); how != "end_turn" {
					t.Error("the next turn ended with ", how)
				}
				if refused := vendor.Refusals(); len(refused) > 0 {
					t.Errorf("refused: %+v", refused)
				}
			})
		})
	}
}
