package messages

import (
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/simtest"
)

// TestServedResults: the result of a search comes with the answer after the pause, and must come back behind its call, as it was.
func TestServedResults(t *testing.T) {
	s := sim.New(sim.Config{})
	prompt := simtest.Say("user", "[[sim: stop=pause_turn]] search")
	paused := simtest.Get[arr](simtest.Stream(t, s, simtest.Header(), obj{"messages": arr{prompt}}), "content")
	s.Script(sim.Answer{Parts: []sim.Part{{Kind: sim.Text, Text: "Found."}}})
	after := simtest.Get[arr](simtest.Stream(t, s, simtest.Header(), obj{"messages": arr{prompt, simtest.Say("assistant", paused)}}), "content")
	result := simtest.Get[obj](after, 0)
	if result["type"] != "web_search_tool_result" {
		t.Fatalf("the answer after the pause begins with %v", result)
	}
	next := simtest.Say("user", "And now?")
	changed := obj{"type": result["type"], "tool_use_id": result["tool_use_id"], "content": arr{obj{"type": "web_search_result",
		"url": simtest.Get[string](result, "content", 0, "url"), "title": "Another", "encrypted_content": simtest.Get[string](result, "content", 0, "encrypted_content")}}}
	for _, test := range []struct {
		name, says string
		messages   arr
	}{
		{"as it was", "", arr{prompt, simtest.Say("assistant", paused), simtest.Say("assistant", after), next}},
		{"changed", "Invalid `encrypted_content`", arr{prompt, simtest.Say("assistant", paused), simtest.Say("assistant", arr{changed, after[1]}), next}},
		{"missing", "without a corresponding result block", arr{prompt, simtest.Say("assistant", paused), next}},
		{"without its call", "must have a corresponding `server_tool_use` block before it", arr{prompt, simtest.Say("assistant", after), next}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.Script(sim.Answer{})
			got := simtest.Create(t, s, simtest.Header(), obj{"messages": test.messages})
			if (got.Status == 200) != (test.says == "") || !strings.Contains(string(got.Body), test.says) {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		})
	}
}
