package welcome

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	for _, tt := range []struct {
		name     string
		accounts []account
		models   []model
		want     string // a part
		usable   int
	}{
		{"nothing", []account{{Provider: "openai", State: "missing"}, {Provider: "copilot", State: "missing", Login: true}, {Provider: "ollama", State: "not_needed"}, {Provider: "sim", State: "not_needed"}},
			[]model{{Provider: "openai", Why: "no API key"}, {Provider: "sim", Available: true}},
			"\nthinkd found no API key, no login and no local model server.\n\nWithout a model, the built-in simulator answers.", 0},
		{"offers", []account{{Provider: "openai", State: "missing"}, {Provider: "copilot", State: "refused", Login: true}}, nil, "\n  openai, copilot (login)\n", 0},
		{"keys", []account{{Provider: "openai", State: "ready", Source: "environment"}, {Provider: "xai", State: "ready", Source: "keys"}, {Provider: "copilot", State: "ready", Source: "login", Login: true}},
			[]model{{Provider: "openai", Available: true}, {Provider: "xai", Available: true}, {Provider: "copilot", Available: true}},
			"\nthinkd can use:\n  openai   a key in the environment\n  xai      a stored key\n  copilot  a login\n\n", 3},
		{"a server", []account{{Provider: "ollama", State: "not_needed"}}, []model{{Provider: "ollama", Available: true}, {Provider: "ollama", Available: true}},
			"\nthinkd can use:\n  ollama  a server without a key, 2 models\n\n", 1},
		{"a key without an address", []account{{Provider: "azure", State: "ready", Source: "keys"}}, []model{{Provider: "azure", Why: "no address: set base_url"}},
			"\nthinkd cannot use:\n  azure  a stored key, but: no address: set base_url\n\nWithout a model,", 0},
		{"a key without models", []account{{Provider: "own", State: "ready", Source: "keys"}}, nil, "\n  own  a stored key\n", 0},
	} {
		f := look(tt.accounts, tt.models)
		if got := report(f); !strings.Contains(got, tt.want) || len(f.usable) != tt.usable {
			t.Errorf("%s: %d usable, want %q in\n%s", tt.name, len(f.usable), tt.want, got)
		}
	}
}

// A list of many providers fits into a terminal, and has each of them.
func TestNames(t *testing.T) {
	var f found
	for i := range 40 {
		f.offers = append(f.offers, account{Provider: "provider" + strings.Repeat("x", i%9), Login: i%5 == 0})
	}
	got := f.names()
	for line := range strings.Lines(got) {
		if len(line) > 79 || strings.HasSuffix(line, " \n") {
			t.Errorf("a line of %d characters: %q", len(line), line)
		}
	}
	if n := strings.Count(got, "provider"); n != 40 {
		t.Errorf("%d of 40 providers", n)
	}
	if a, ok := f.offered("providerxx"); !ok || a.Provider != "providerxx" {
		t.Errorf("offered: %+v, %v", a, ok)
	}
	if _, ok := f.offered("sim"); ok {
		t.Error("the simulator is offered")
	}
}
