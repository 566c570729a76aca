package registry

import (
	"testing"

	"github.com/thinkd/thinkd/provider"
)

// TestOllamaWindow: the window of a row is the one that the server is asked for, so that a conversation is summarised
// before it is full.
func TestOllamaWindow(t *testing.T) {
	live := []provider.Model{{ID: "big", API: "ollama", Window: 262_144}, {ID: "small", API: "ollama", Window: 8_192},
		{ID: "gpt-oss:120b-cloud", API: "ollama", Window: 131_072}}
	for i := range live {
		live[i].Thinking = provider.Capability{Control: provider.ControlNone, Levels: []provider.Level{provider.Off}, Default: provider.Off}
	}
	for _, test := range []struct {
		name, model string
		asked       int
		row         Row
		want        int
	}{
		{"trained for more", "big", 0, Row{}, 65_536},
		{"trained for less", "small", 0, Row{}, 8_192},
		{"configured", "big", 32_768, Row{}, 32_768},
		{"configured for the model", "big", 32_768, Row{ID: "big", NumCtx: 131_072}, 131_072},
		{"of the cloud", "gpt-oss:120b-cloud", 32_768, Row{}, 131_072},
		{"unknown", "other", 0, Row{}, 65_536},
		{"unknown, configured", "other", 16_384, Row{}, 16_384},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := Provider{ID: "ollama", Vendor: "ollama", API: "ollama", NumCtx: test.asked, Live: func() []provider.Model { return live }}
			if test.row.ID != "" {
				p.Rows = []Row{test.row}
			}
			c, err := New([]Provider{p})
			if err != nil {
				t.Fatal(err)
			}
			m := c.Model("ollama", test.model)
			if m.Window != test.want {
				t.Errorf("window %d, want %d", m.Window, test.want)
			}
			if sent := provider.OllamaWindow(m, test.asked); sent != 0 && sent != m.Window {
				t.Errorf("the server is asked for %d", sent)
			}
			for _, m := range c.ModelsOf("ollama") {
				if m.ID == test.model && m.Window != test.want {
					t.Errorf("listed with a window of %d, want %d", m.Window, test.want)
				}
			}
		})
	}
}
