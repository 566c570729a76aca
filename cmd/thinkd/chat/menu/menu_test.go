package menu

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var entries = []Entry{{"/models", "[NAME]", "choose a model"}, {"/compact", "", "summarise"}, {"/cost", "", "say what it costs"}, {"/summary", "", "show it"}}

func asIs(s string) string { return s }

func view(m *Menu, width, most int) []string {
	if m == nil {
		return nil
	}
	return m.Rows(width, most, "Esc closes", asIs, asIs)
}

func TestMenu(t *testing.T) {
	for typed, want := range map[string][]string{
		"/co": {"▸ /compact  summarise", "  /cost     say what it costs", "  2 of 4 · Esc closes"},
		"/m":  {"▸ /models [NAME]  choose a model", "  1 of 4 · Esc closes"},
		"MAR": {"▸ /summary  show it", "  1 of 4 · Esc closes"},
		"/cA": {"▸ /compact  summarise", "  1 of 4 · Esc closes"},
		"/x":  nil,
	} {
		if diff := cmp.Diff(want, view(New(entries, typed, 0), 60, 8)); diff != "" {
			t.Errorf("%q (-want +is):\n%s", typed, diff)
		}
	}
}

func TestMove(t *testing.T) {
	m := New(entries, "/", 0)
	m.Move(-1)
	if got := m.Selected().Text; got != "/summary" {
		t.Errorf("above the first is %s", got)
	}
	if diff := cmp.Diff([]string{"  /cost     say what i…", "▸ /summary  show it", "  4 of 4 · Esc closes"}, view(m, 24, 2)); diff != "" {
		t.Errorf("-want +is:\n%s", diff)
	}
	m.Move(1)
	if got := m.Selected().Text; got != "/models" {
		t.Errorf("below the last is %s", got)
	}
	m.Keep("/cost")
	m.Keep("/none")
	if got := m.Selected().Text; got != "/cost" {
		t.Errorf("%s is selected", got)
	}
}

// A name in a path counts more than a folder before it, and nothing in an entry moves the cursor.
func TestPaths(t *testing.T) {
	m := New([]Entry{{"cart/a.go", "", "1 KB"}, {"a/cart.go", "", "2 KB"}, {"x/\x1bcart.md", "", "\x1b[2J"}}, "cart.", 3)
	if got := strings.Join(view(m, 60, 8), "|"); got != "▸ a/cart.go   2 KB|  x/\uFFFDcart.md  \uFFFD[2J|  cart/a.go   1 KB|  3 of 3 · Esc closes" || m.From != 3 {
		t.Errorf("%q", got)
	}
}
