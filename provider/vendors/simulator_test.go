package vendors_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/vendors"
)

var simulatedTools = []provider.Tool{
	{Name: "read", Description: "read a file", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`)},
	{Name: "plan", Description: "write a plan", Schema: json.RawMessage(`{"type":"object","properties":{"items":{"type":"array","items":{"type":"object",
		"properties":{"text":{"type":"string"}},"required":["text"]}}},"required":["items"]}`)},
}

// TestSimulatedTools: over each wire API and dialect, the markers of one prompt call one tool after the other, with the arguments of
// the marker or some that fit the schema. A call that cannot be made is explained in the answer.
func TestSimulatedTools(t *testing.T) {
	c, err := loadConfig(proof.WriteConfig(t, ""), proof.Environment(""))
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := vendors.Catalog(c.Providers, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := vendors.Open(c.Providers, c.Dialects, noKeys(t), catalog, discard)
	defer p.Close()
	apis := make(map[string]int)
	for _, m := range catalog.ModelsOf(vendors.Simulator) {
		s := simulated{p.Find(vendors.Simulator), provider.Request{Model: m, Tools: simulatedTools, Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeOmit}}}}
		t.Run(m.ID, func(t *testing.T) {
			s.steps(t)
			s.wrong(t)
		})
		apis[m.API]++
	}
	if len(apis) != len(vendors.APIs) {
		t.Errorf("models by API: %v, want all wire APIs", apis)
	}
}

type simulated struct {
	provider provider.Provider
	request  provider.Request
}

// ask plays a turn to its end, and returns the calls and the text of the last answer.
func (s simulated) ask(t *testing.T, prompt string) (calls []string, text string, err error) {
	t.Helper()
	req := s.request
	req.Messages = []provider.Message{providertest.User(prompt)}
	for range 8 {
		reply := providertest.Check(t, s.provider.Stream(t.Context(), &req))
		if reply.Err != nil {
			return calls, "", reply.Err
		}
		text = ""
		for _, b := range reply.Blocks {
			switch b := b.(type) {
			case provider.ToolCall:
				calls = append(calls, fmt.Sprintf("%s %s", b.Name, b.Input))
			case provider.Text:
				text += b.Text
			}
		}
		if reply.Stop.Reason != provider.StopToolUse {
			return calls, text, nil
		}
		req.Messages = append(req.Messages, provider.Message{Role: provider.Assistant, Blocks: reply.Blocks}, providertest.Results(reply.Blocks, "done"))
	}
	t.Fatalf("tools without end: %q", calls)
	return nil, "", nil
}

func (s simulated) steps(t *testing.T) {
	calls, text, err := s.ask(t, `Look ahead. [[sim: tool=plan args={"items": [{"text": "Look ]] here"}]} pace=0]] [[sim: tool=read pace=0]]
		[[sim: tool=plan rounds=2 calls=2 text=5 pace=0]]`)
	if err != nil || len(calls) != 6 || len(strings.Fields(text)) != 5 {
		t.Fatalf("%q, then %q (%v), want six calls and five words", calls, text, err)
	}
	var given, wanted any
	const plan = `{"items": [{"text": "Look ]] here"}]}`
	if name, input, _ := strings.Cut(calls[0], " "); name != "plan" || json.Unmarshal([]byte(input), &given) != nil || json.Unmarshal([]byte(plan), &wanted) != nil || fmt.Sprint(given) != fmt.Sprint(wanted) {
		t.Errorf("the first call: %s, want plan %s", calls[0], plan)
	}
	if calls[1] != `read {"path":"look"}` && calls[1] != `read {"path":"ahead"}` { // a word of the prompt
		t.Errorf("the second call: %s", calls[1])
	}
	seen := make(map[string]bool)
	for _, call := range calls[2:] {
		seen[call] = true
		if !strings.HasPrefix(call, "plan ") || !strings.Contains(call, `"items":[{"text":"`) {
			t.Errorf("a call of plan: %s", call)
		}
	}
	if len(seen) != 4 {
		t.Errorf("%d different calls, want 4: %q", len(seen), calls[2:])
	}
}

func (s simulated) wrong(t *testing.T) {
	for marker, says := range map[string]string{
		"tool=nosuch":                "this request does not offer that tool. Tools of the request: plan, read.",
		`tool=plan args={"items":3}`: `"items" must be of type array`,
		"tool=read args={}":          `the object lacks "path"`,
	} {
		if calls, text, err := s.ask(t, "Look. [[sim: pace=0 "+marker+"]]"); err != nil || len(calls) > 0 || !strings.Contains(text, says) {
			t.Errorf("%s: calls %q, text %q (%v), want %q", marker, calls, text, err, says)
		}
		if calls, _, err := s.ask(t, "Look. [[sim: pace=0 unchecked "+marker+"]]"); err != nil || len(calls) != 1 {
			t.Errorf("unchecked %s: calls %q (%v), want one", marker, calls, err)
		}
	}
	for marker, says := range map[string]string{
		"[[sim: tool=read args={path:1}]]":           "args in the marker must be a JSON object",
		"[[sim: tool=read args=3]]":                  "args in the marker must be a JSON object",
		"[[sim: args={}]]":                           `"args" in the marker needs tool=NAME`,
		"[[sim: text=3]] [[sim: tool=read]]":         "marker 1 ends the turn",
		"[[sim: tool=read]] [[sim: tool=read args={": "args in the marker must be a JSON object",
	} {
		if _, _, err := s.ask(t, marker); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", marker, err, says)
		}
	}
}
