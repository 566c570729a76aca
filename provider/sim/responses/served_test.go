package responses

import (
	"net/http"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/simtest"
)

// TestServedItems: items of the vendor's own tools must come back where they were, as they were, and to the account that has them.
func TestServedItems(t *testing.T) {
	s := sim.New(sim.Config{})
	tools := obj{"tools": arr{obj{"type": "web_search"}, obj{"type": "code_interpreter", "container": obj{"type": "auto"}}},
		"include": arr{"reasoning.encrypted_content", "web_search_call.action.sources", "code_interpreter_call.outputs"}}
	ask := simtest.Say("user", "Find. [[sim: search=1 code=1 text=5]]")
	respond := func(header http.Header, input arr) simtest.Reply {
		return simtest.Respond(t, s, "/v1/responses", header, simtest.Merged(obj{"model": "gpt-5.6-sol", "input": input}, tools))
	}
	first := respond(simtest.Bearer(), arr{ask})
	if first.Status != 200 {
		t.Fatalf("%d %s", first.Status, first.Body)
	}
	items := simtest.Get[arr](first.JSON(), "output")
	var kinds []string
	for i := range items {
		kinds = append(kinds, simtest.Get[string](items, i, "type"))
	}
	if got := strings.Join(kinds, " "); got != "reasoning web_search_call code_interpreter_call message" {
		t.Fatalf("the answer has %s", got)
	}
	if n := simtest.Get[float64](first.JSON(), "tool_usage", "web_search", "num_requests"); n != 1 {
		t.Errorf("%v searches are charged", n)
	}
	with := func(i int, members ...any) any { return simtest.With(simtest.Get[obj](items, i), members...) }
	for _, test := range []struct {
		name, says string
		header     http.Header
		items      arr
	}{
		{"as they were", "", simtest.Bearer(), items},
		{"the search is missing", "without its required following item", simtest.Bearer(), arr{items[0], items[2], items[3]}},
		{"the code is missing", "without the item of the tool that it followed", simtest.Bearer(), arr{items[0], items[1], items[3]}},
		{"the code has moved", "without the item of the tool that it followed", simtest.Bearer(), arr{items[0], items[1], items[3], items[2]}},
		{"the search has changed", "does not match", simtest.Bearer(), arr{items[0], with(1, "action", obj{"type": "search", "query": "else"}), items[2], items[3]}},
		{"the output has changed", "does not match", simtest.Bearer(), arr{items[0], items[1], with(2, "outputs", nil), items[3]}},
		{"no reasoning", "without its required 'reasoning' item", simtest.Bearer(), items[1:]},
		{"no id", "Missing required parameter", simtest.Bearer(), arr{with(1, "id", nil)}},
		{"of nobody", "not found", simtest.Bearer(), arr{with(1, "id", "ws_1")}},
		{"of another account", "does not match", simtest.Bearer("authorization", "Bearer sk-2"), items[1:]},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := respond(test.header, append(append(arr{ask}, test.items...), simtest.Say("user", "On.")))
			if (got.Status == 200) != (test.says == "") || !strings.Contains(got.Body, test.says) {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		})
	}
}
