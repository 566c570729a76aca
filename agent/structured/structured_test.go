package structured

import (
	"encoding/json"
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/providertest"
)

var schema = json.RawMessage(`{"type":"object","properties":{"later":{"type":"string","enum":["first","second"]},"days":{"type":"integer","minimum":0}},"required":["later"]}`)

func seqOf(events ...provider.Event) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func TestAsk(t *testing.T) {
	others := []provider.Tool{{Name: "read"}, {Name: "final_answer"}}
	for _, force := range []bool{false, true} {
		req := &provider.Request{Tools: slices.Clone(others), Options: provider.Options{Schema: &provider.OutputSchema{Schema: schema}}}
		Ask(req, force)
		if len(req.Tools) != 3 || req.Tools[2].Name != "final_answer_" || string(req.Tools[2].Schema) != string(schema) || req.Options.Schema != nil {
			t.Errorf("%+v", req)
		}
		if forced := req.Options.ToolChoice == "final_answer_"; forced != force {
			t.Errorf("force %v: %q", force, req.Options.ToolChoice)
		}
		Ask(req, force)
		if len(req.Tools) != 3 {
			t.Error("asked twice")
		}
	}
}

// A call of the tool is a text for everybody else, and the reply ends its turn unless it calls other tools.
func TestRead(t *testing.T) {
	answer := json.RawMessage(`{"later": "second"}`)
	called := provider.ToolCall{ID: "1", Name: "final_answer", Input: answer}
	other := provider.ToolCall{ID: "2", Name: "read", Input: json.RawMessage(`{}`)}
	stop := provider.Stop{Reason: provider.StopToolUse, Raw: "tool_use"}
	ended := provider.Stop{Reason: provider.StopEndTurn, Raw: "tool_use"}
	text := provider.Text{Text: string(answer)}
	for name, tt := range map[string]struct {
		events []provider.Event
		blocks provider.Blocks
		stop   provider.Stop
	}{
		"the answer": {[]provider.Event{provider.Begin{Index: 0, Block: provider.ToolCall{Name: "final_answer"}}, provider.Delta{Index: 0, Text: `{"later": `}, provider.Delta{Index: 0, Text: `"second"}`},
			provider.End{Index: 0, Block: called}, stop}, provider.Blocks{text}, ended},
		"no name at the beginning": {[]provider.Event{provider.Begin{Index: 0, Block: provider.ToolCall{}}, provider.End{Index: 0, Block: called}, stop}, provider.Blocks{text}, ended},
		"another tool":             {[]provider.Event{provider.Begin{Index: 0, Block: provider.ToolCall{ID: "2", Name: "read"}}, provider.Delta{Index: 0, Text: "{}"}, provider.End{Index: 0, Block: other}, stop}, provider.Blocks{other}, stop},
		"both": {[]provider.Event{provider.Begin{Index: 0, Block: provider.ToolCall{ID: "2", Name: "read"}}, provider.Delta{Index: 0, Text: "{}"}, provider.End{Index: 0, Block: other},
			provider.Begin{Index: 1, Block: provider.ToolCall{Name: "final_answer"}}, provider.End{Index: 1, Block: called}, stop}, provider.Blocks{other, text}, stop},
		"a text all the same": {[]provider.Event{provider.Begin{Index: 0, Block: provider.Text{}}, provider.Delta{Index: 0, Text: "No."}, provider.End{Index: 0, Block: provider.Text{Text: "No."}}, ended},
			provider.Blocks{provider.Text{Text: "No."}}, ended},
		"no object": {[]provider.Event{provider.Begin{Index: 0, Block: provider.ToolCall{Name: "final_answer"}}, provider.End{Index: 0, Block: provider.ToolCall{Name: "final_answer", Invalid: "oops"}}, stop},
			provider.Blocks{provider.Text{Text: "oops"}}, ended},
	} {
		served := append([]provider.Event{provider.Served{Model: "m"}}, tt.events...)
		reply := providertest.Check(t, Read(seqOf(served...), "final_answer"))
		if diff := cmp.Diff(tt.blocks, reply.Blocks); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if reply.Stop == nil || reply.Stop.Reason != tt.stop.Reason {
			t.Errorf("%s: stop %+v", name, reply.Stop)
		}
	}
}

func TestCheck(t *testing.T) {
	bySchema := provider.Options{Schema: &provider.OutputSchema{Schema: schema}}
	for _, tt := range []struct {
		o     provider.Options
		text  string
		valid bool
		want  []string
	}{
		{bySchema, " {\"later\":\"second\"}\n", true, nil},
		{bySchema, `{"later":"third","days":-1}`, false, []string{"later", "days"}},
		{bySchema, `{}`, false, []string{"later"}},
		{bySchema, "It is the second.", false, []string{"the answer is not JSON"}},
		{bySchema, "", false, []string{"the answer has no text"}},
		{provider.Options{Output: provider.OutputJSON}, `{"any":1}`, true, nil},
		{provider.Options{Output: provider.OutputJSON}, `[1]`, false, []string{"the answer is not a JSON object"}},
	} {
		value, faults := Check(tt.o, tt.text)
		if (value != nil) != tt.valid || (len(faults) > 0) == tt.valid || len(faults) < len(tt.want) && len(faults) > 0 && len(tt.want) > 1 {
			t.Errorf("%q: %s, %q", tt.text, value, faults)
		}
	}
}
