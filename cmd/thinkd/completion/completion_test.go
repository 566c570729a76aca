package completion

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestListed(t *testing.T) {
	answers := map[string]string{
		"models/list":  `{"models":[{"provider":"sim","id":"claude","name":"Simulated\nClaude"},{"provider":"ollama","id":"qwen3.5:9b"}]}`,
		"session/list": `{"sessions":[{"session_id":"01K","title":"Dates"}]}`,
		"agents/list":  `{"agents":[{"agent":"reviewer","model_id":"sim/gpt"}]}`,
		"auth/status":  `{"providers":[{"provider":"anthropic","state":"ready"}]}`,
	}
	call := func(method string, _, result any) error { return json.Unmarshal([]byte(answers[method]), result) }
	for kind, want := range map[Kind]string{Models: "sim/claude\tSimulated Claude ollama/qwen3.5:9b", Sessions: "01K\tDates", Agents: "reviewer\tsim/gpt", Providers: "anthropic\tready"} {
		if got, err := listed(kind, call); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v", kind, got, err)
		}
		broken := errors.New("no daemon")
		if _, err := listed(kind, func(string, any, any) error { return broken }); !errors.Is(err, broken) {
			t.Errorf("%s without a daemon: %v", kind, err)
		}
	}
	for use, want := range map[string]Kind{"continue ID": Sessions, "delete ID...": Sessions, "revoke ID...": "", "set PROVIDER": Providers, "prompt TEXT": "", "models": ""} {
		if got := OfArgument(use); got != want {
			t.Errorf("%s: %q, want %q", use, got, want)
		}
	}
}
