package registry

import "testing"

func TestBare(t *testing.T) {
	for id, want := range map[string][2]string{
		"us.anthropic.claude-opus-4-6-v1": {"anthropic", "claude-opus-4-6-v1"},
		"amazon.nova-pro-v1:0":            {"amazon", "nova-pro-v1:0"},
		"openai.gpt-oss-120b-1:0":         {"openai", "gpt-oss-120b-1:0"},
		"deepseek.v3.2":                   {"deepseek", "v3.2"}, // no maker before a digit
		"gemini-3.8-flash":                {"", "gemini-3.8-flash"},
		"gpt-5.6":                         {"", "gpt-5.6"},
		"anthropic.":                      {"", "anthropic."},
		".claude":                         {"", ".claude"},
		"":                                {"", ""},
	} {
		if maker, name := Bare(id); maker != want[0] || name != want[1] {
			t.Errorf("%q is %q's %q, want %q's %q", id, maker, name, want[0], want[1])
		}
	}
}
