package chat

import (
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/simtest"
)

// TestCopilotChat shows why Claude does not go there: no key makes the small one think.
func TestCopilotChat(t *testing.T) {
	h := simtest.Header("authorization", "Bearer t", "editor-version", "e/1")
	ask := func(more obj) simtest.Reply {
		return simtest.Send(t, sim.New(sim.Config{}), "POST", "/copilot/chat/completions", h.Clone(), simtest.Merged(obj{"model": "claude-haiku-4.5", "messages": arr{simtest.Say("user", "hi")}}, more))
	}
	if got := ask(obj{"reasoning_effort": "high"}); got.Status != 400 || !strings.Contains(string(got.Body), "invalid_reasoning_effort") {
		t.Errorf("effort: %d %s", got.Status, got.Body)
	}
	if got := ask(obj{"thinking_budget": 4000}); got.Status != 200 || strings.Contains(string(got.Body), "reasoning_text") {
		t.Errorf("budget: %d %s", got.Status, got.Body)
	}
}
