package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// TestCompare finds what differs between configs, by its name, and says nothing of secrets.
func TestCompare(t *testing.T) {
	parse := func(doc string, env ...string) Inputs {
		t.Helper()
		c, err := Parse("config.toml", []byte(doc), proof.Environment(env...))
		if err != nil {
			t.Fatal(err)
		}
		return c.Inputs
	}
	const team = "[providers.anthropic]\nheaders = { \"x-team\" = \"%\" }"
	for _, tt := range []struct {
		name       string
		a, b       Inputs
		want       string // names; ! marks a secret
		sameInputs bool
	}{
		{"nothing", parse(""), parse(""), "", true},
		{"a comment", parse(""), parse("# nothing"), "", false},
		{"a variable that is not looked at", parse("", "OTHER=1"), parse("", "OTHER=2"), "", true},
		{"another key", parse("", "ANTHROPIC_API_KEY=sk-a"), parse("", "ANTHROPIC_API_KEY=sk-b"), "ANTHROPIC_API_KEY!", false},
		{"an operator's key", parse("providers.anthropic.api_key_env = \"MINE\"", "MINE=a"), parse("providers.anthropic.api_key_env = \"MINE\"", "MINE=b"), "MINE!", false},
		{"no key", parse("", "ANTHROPIC_API_KEY=sk-a"), parse(""), "ANTHROPIC_API_KEY", false},
		{"another address", parse("", "ANTHROPIC_BASE_URL=http://127.0.0.1:1"), parse("", "ANTHROPIC_BASE_URL=http://127.0.0.1:2"), "ANTHROPIC_BASE_URL", false},
		{"a header", parse(strings.Replace(team, "%", "a", 1)), parse(strings.Replace(team, "%", "b", 1)), "providers.anthropic.headers.x-team!", false},
		{"a model", parse(""), parse("model = \"sim/claude\""), "model", false},
		{"a level", parse("thinking_level = \"low\""), parse("Thinking_Level = \"high\""), "thinking_level", false},
		{"a limit", parse("[limits]\nmax_model_calls = 3"), parse("[limits]\nmax_model_calls = 4\nmax_turn_time = \"1m\""), "limits.max_model_calls limits.max_turn_time", false},
		{"a row", parse("[[providers.anthropic.models]]\nid = \"claude-opus-5-5\"\nmax_output_tokens = 5"),
			parse("[[providers.anthropic.models]]\nid = \"claude-opus-5-5\"\nmax_output_tokens = 6"), "providers.anthropic.models", false},
	} {
		var names []string
		for _, d := range Compare(tt.a.Facts, tt.b.Facts) {
			if d.Secret {
				d.Name += "!"
			}
			names = append(names, d.Name)
		}
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("%s: the differences are %q, want %q", tt.name, got, tt.want)
		}
		if !slices.Equal(Compare(tt.a.Facts, tt.b.Facts), Compare(tt.b.Facts, tt.a.Facts)) {
			t.Errorf("%s: the other way round it is something else", tt.name)
		}
		if (tt.a.Sum == tt.b.Sum) != tt.sameInputs {
			t.Errorf("%s: the sums are %s and %s", tt.name, tt.a.Sum, tt.b.Sum)
		}
		for name, value := range tt.a.Facts {
			for _, secret := range []string{"sk-a", "127.0.0.1", "low"} {
				if strings.Contains(value, secret) {
					t.Errorf("%s: the fact %s has the value itself: %s", tt.name, name, value)
				}
			}
		}
	}
}
