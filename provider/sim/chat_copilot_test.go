package sim

import (
	"strings"
	"testing"
)

// TestCopilotChat shows why Claude does not go there: no key makes the small one think.
func TestCopilotChat(t *testing.T) {
	h := header("authorization", "Bearer t", "editor-version", "e/1")
	ask := func(more obj) reply {
		return send(t, New(Config{}), "POST", "/copilot/chat/completions", h.Clone(), merged(obj{"model": "claude-haiku-4.5", "messages": arr{say("user", "hi")}}, more))
	}
	if got := ask(obj{"reasoning_effort": "high"}); got.status != 400 || !strings.Contains(string(got.body), "invalid_reasoning_effort") {
		t.Errorf("effort: %d %s", got.status, got.body)
	}
	if got := ask(obj{"thinking_budget": 4000}); got.status != 200 || strings.Contains(string(got.body), "reasoning_text") {
		t.Errorf("budget: %d %s", got.status, got.body)
	}
}
