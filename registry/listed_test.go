package registry

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
)

func TestFamilies(t *testing.T) {
	file := families()
	list := file.Open
	for vendor, own := range file.Vendors {
		if _, ok := embeddedVendor(vendor); !ok && vendor != "copilot" {
			t.Errorf("no vendor is named %q", vendor)
		}
		list = append(list, own...)
	}
	for _, f := range list {
		if _, err := path.Match(f.Match, ""); err != nil || f.Match != strings.ToLower(f.Match) || strings.Contains(f.Match, "/") {
			t.Errorf("pattern %q: %v", f.Match, err)
		}
		if err := check(complete(provider.Model{Provider: "p", ID: f.Match, Known: true, Thinking: f.Thinking}, nil)); err != nil {
			t.Error(err)
		}
	}
	for api, c := range file.APIs {
		if err := check(complete(provider.Model{Provider: "p", ID: api, Known: true, Thinking: c}, nil)); err != nil || !c.Thinks() {
			t.Errorf("%s: %v", api, err)
		}
	}
	// Whoever has a row in the catalog, of him a family says no other thing about whether he thinks. No word that switches thinking on is known
	// for partners' models at Google Cloud.
	for _, m := range Default().Models() {
		if c, _, ok := familyOf(m.Provider, m.ID); ok && m.Provider != "sim" && c.Thinks() != m.Thinking.Thinks() && m.Provider != "vertex" && m.Provider != "mistral" && m.Provider != "openrouter" {
			t.Errorf("%s: its row has the control %s, its family %s", m.Ref(), m.Thinking.Control, c.Control)
		}
	}
}

// levelsOf is a capability in few words.
func levelsOf(m provider.Model) string {
	if !m.Known {
		return "unknown"
	}
	list := []string{string(m.Thinking.Control)}
	for _, l := range m.Thinking.Levels {
		if l == m.Thinking.Default {
			l += "*"
		}
		list = append(list, string(l))
	}
	return strings.Join(list, " ")
}

// TestListings puts listings over the catalog: they add and correct, they take nothing away.
func TestListings(t *testing.T) {
	effort := func(off provider.OffForm, levels ...provider.Level) provider.Capability {
		return provider.Capability{Control: provider.ControlEffort, Levels: levels, Off: off}
	}
	for _, tt := range []struct {
		name, vendor string
		told         provider.Model
		want         string
	}{
		{"levels, default kept", "anthropic", provider.Model{ID: "claude-opus-5-5", Thinking: effort("", "low", "medium")}, "effort low medium*"},
		{"default gone", "anthropic", provider.Model{ID: "claude-opus-5", Thinking: effort("full", "low", "medium")}, "effort off low medium*"},
		{"off gone", "anthropic", provider.Model{ID: "claude-opus-5", Thinking: effort("", "low", "high")}, "effort low high*"},
		{"default off gone", "anthropic", provider.Model{ID: "claude-opus-4-8", Thinking: effort("")}, "effort low medium* high xhigh max"},
		{"another control", "anthropic", provider.Model{ID: "claude-haiku-4-5-20251001", Thinking: effort("full", "low", "high")}, "effort off low* high"},
		{"by another id", "anthropic", provider.Model{ID: "claude-haiku-4-5", Thinking: effort("full", "low", "high")}, "effort off low* high"},
		{"nothing told of thinking", "anthropic", provider.Model{ID: "claude-opus-5-5", Window: 9}, "effort low medium* high xhigh max"},
		{"does not think", "anthropic", provider.Model{ID: "claude-opus-5", Thinking: provider.Capability{Control: provider.ControlNone}}, "none off*"},
		{"a new model", "anthropic", provider.Model{ID: "claude-opus-6", Thinking: effort("up_front", "low", "high")}, "effort off low* high"},
		{"a new model of a family", "gemini", provider.Model{ID: "gemini-4.1-flash"}, "effort low medium* high"},
		{"a new model of open weights", "groq", provider.Model{ID: "qwen/Qwen3.6-27B"}, "toggle off on*"},
		{"a new model of no family", "groq", provider.Model{ID: "mystery"}, "unknown"},
		{"a new toggle", "moonshot", provider.Model{ID: "kimi-k9", Thinking: provider.Capability{Control: provider.ControlToggle}}, "toggle off on*"},
		{"always", "moonshot", provider.Model{ID: "kimi-k9", Thinking: provider.Capability{Control: provider.ControlAlways}}, "always on*"},
		{"a budget", "anthropic", provider.Model{ID: "claude-x", MaxOutput: 9000, Thinking: provider.Capability{Control: provider.ControlBudget, Off: "full"}}, "budget off low medium* high"},
	} {
		tt.told.Source, tt.told.AsOf, tt.told.Tools = provider.FromRefreshed, "2026-11-21", true
		before, err := New([]Provider{{ID: "p", Vendor: tt.vendor}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := New([]Provider{{ID: "p", Vendor: tt.vendor, Refreshed: []provider.Model{tt.told}}})
		if err != nil || len(c.Skipped()) > 0 {
			t.Errorf("%s: %v, skipped %v", tt.name, err, c.Skipped())
			continue
		}
		m := c.Model("p", tt.told.ID)
		if got := levelsOf(m); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		from := provider.FromRefreshed
		if m.Facts.Levels.State == provider.FactFamily {
			from = provider.FromFamily
		}
		if m.Known != (m.Source == from && m.AsOf == "2026-11-21") || (from == provider.FromFamily) != strings.HasSuffix(tt.name, "a family") && tt.name != "a new model of open weights" {
			t.Errorf("%s: from %s of %s", tt.name, m.Source, m.AsOf)
		}
		if m.ID != tt.told.ID || !m.Tools {
			t.Errorf("%s: %+v", tt.name, m)
		}
		for _, had := range before.Models() {
			if _, ok := c.stocks["p"]().byID[had.ID]; !ok {
				t.Errorf("%s: %s is gone", tt.name, had.ID)
			}
		}
	}
}

// A listing that contradicts itself says nothing; the error names provider and row. The other rows count.
func TestListingSkipped(t *testing.T) {
	c, err := New([]Provider{{ID: "p", Vendor: "anthropic", Refreshed: []provider.Model{
		{ID: "claude-opus-5", Thinking: provider.Capability{Control: provider.ControlEffort, Levels: []provider.Level{"low", "huge"}}},
		{ID: "claude-opus-4-8", Window: 7},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	list := c.Skipped()
	if len(list) != 1 || !strings.HasPrefix(list[0].Error(), `provider p: model "claude-opus-5": thinking.levels: "huge" is not a level`) {
		t.Errorf("skipped %v", list)
	}
	if m := c.Model("p", "claude-opus-5"); m.Source != provider.FromCatalog {
		t.Errorf("%+v", m)
	}
	if m := c.Model("p", "claude-opus-4-8"); m.Window != 7 || levelsOf(m) != "effort off* low medium high xhigh max" {
		t.Errorf("%+v", m)
	}
}

// TestRanks: the configuration comes first, then what the server tells now, then what it told once, then the catalog.
// What others say fills in.
func TestRanks(t *testing.T) {
	price := &provider.Price{Rates: provider.Rates{Input: 9}}
	live := []provider.Model{{ID: "claude-opus-5", Window: 3, Tools: true}, {ID: "new", Tools: true, Thinking: provider.Capability{Control: provider.ControlAlways}}}
	c, err := New([]Provider{{ID: "p", Vendor: "anthropic",
		Rows:      []Row{{ID: "claude-opus-5", Name: "Mine"}, {ID: "new", NumCtx: 8}, {ID: "absent", NumCtx: 9}},
		Refreshed: []provider.Model{{ID: "claude-opus-5", Window: 2, MaxOutput: 2, Tools: true, Source: provider.FromRefreshed}},
		Noted: []provider.Model{{ID: "claude-opus-5", Window: 1, Price: price, Tools: true}, {ID: "claude-mythos-5-2", Price: price, Tools: true},
			{ID: "claude-next", Price: price, Tools: true, Source: provider.FromRefreshed}},
		Live: func() []provider.Model { return live },
	}})
	if err != nil {
		t.Fatal(err)
	}
	m := c.Model("p", "claude-opus-5")
	if m.Name != "Mine" || m.Source != provider.FromConfig || m.Window != 3 || m.MaxOutput != 2 || m.Price.Input != 5 || !m.Thinking.CanDisable() {
		t.Errorf("%+v", m)
	}
	if m := c.Model("p", "claude-mythos-5-2"); m.Price != price || m.Source != provider.FromCatalog {
		t.Errorf("what others say: %+v", m)
	}
	if m := c.Model("p", "claude-next"); levelsOf(m) != "effort low medium high* max" || m.Source != provider.FromFamily {
		t.Errorf("a model that others know: %+v", m)
	}
	if m := c.Model("p", "new"); m.NumCtx != 8 || m.Source != provider.FromConfig || levelsOf(m) != "always on*" {
		t.Errorf("a row that waits for its server: %+v", m)
	}
	if m := c.Model("p", "absent"); m.NumCtx != 9 || m.Known {
		t.Errorf("a row whose server has no such model: %+v", m)
	}
	live = nil
	if m := c.Model("p", "claude-opus-5"); m.Window != 2 {
		t.Errorf("when the server is gone: %+v", m)
	}
}

func TestPlainForm(t *testing.T) {
	yes, no := true, false
	for _, tt := range []struct {
		vendor, api string
		row         Row
		want        string
	}{
		{"", "chat", Row{ID: "m", Reasoning: &yes}, "effort low medium* high"},
		{"", "messages", Row{ID: "m", Reasoning: &yes}, "effort low medium high*"},
		{"", "ollama", Row{ID: "m", Reasoning: &yes}, "toggle off on*"},
		{"", "chat", Row{ID: "m", Reasoning: &no}, "none off*"},
		{"", "chat", Row{ID: "qwen3.6-27b", Reasoning: &yes}, "toggle off on*"},
		{"", "chat", Row{ID: "llama-3.3-70b", Reasoning: &yes}, "effort low medium* high"}, // its operator knows better
		{"openai", "", Row{ID: "gpt-6.2-sol", Reasoning: &yes}, "effort low medium* high xhigh max"},
		{"anthropic", "", Row{ID: "claude-opus-4-8", Reasoning: &yes}, "effort off low medium* high xhigh max"},
		{"anthropic", "", Row{ID: "claude-opus-5-5", Reasoning: &yes}, "effort low medium* high xhigh max"},
		{"anthropic", "", Row{ID: "claude-opus-5-5", Reasoning: &no}, "none off*"},
		{"openai", "", Row{ID: "gpt-4.1", Reasoning: &yes}, "effort low medium* high"},
		{"", "chat", Row{ID: "m", Reasoning: &yes, Enabled: &no}, "effort off* low medium high"},
		{"", "chat", Row{ID: "m", Enabled: &yes}, "effort low medium* high"},
		{"", "chat", Row{ID: "qwq-plus", Reasoning: &yes, Enabled: &no}, "toggle off* on"},
		{"", "chat", Row{ID: "m", Reasoning: &yes, Levels: []provider.Level{"low", "high"}, Default: "high"}, "effort low high*"},
		{"anthropic", "", Row{ID: "claude-haiku-4-5", Reasoning: &yes, BudgetTokens: 6000}, "budget off low medium* high"},
		{"anthropic", "", Row{ID: "claude-haiku-4-5", BudgetTokens: 50_000, Enabled: &no}, "budget off* low medium high"},
	} {
		c, err := New([]Provider{{ID: "p", Vendor: tt.vendor, API: tt.api, Rows: []Row{tt.row}}})
		if err != nil {
			t.Errorf("%+v: %v", tt.row, err)
			continue
		}
		m := c.Model("p", tt.row.ID)
		if got := levelsOf(m); got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.vendor, tt.row.ID, got, tt.want)
		}
		if n := tt.row.BudgetTokens; n > 0 && (m.Thinking.Budgets["medium"] != n || m.Thinking.Budgets["low"] > n || m.Thinking.Budgets["high"] < n) {
			t.Errorf("%s: budgets %v", tt.row.ID, m.Thinking.Budgets)
		}
	}
}

// TestSilentRow: a row that states nothing of thinking follows the model's family. Without one nothing is assumed, and the other members
// of the row apply.
func TestSilentRow(t *testing.T) {
	for _, tt := range []struct {
		vendor, id, levels string
		source             provider.RowSource
	}{
		{"anthropic", "claude-opus-9", "effort low medium high* max", provider.FromFamily},
		{"", "deepseek/deepseek-r1-0528", "always on*", provider.FromFamily},
		{"", "muse-2", levelsOf(provider.Model{}), provider.FromNobody},
	} {
		c, err := New([]Provider{{ID: "p", Vendor: tt.vendor, API: "chat", Rows: []Row{{ID: tt.id, Window: 4000, Price: &provider.Price{Rates: provider.Rates{Input: 1, Output: 2}}}}}})
		if err != nil {
			t.Fatal(err)
		}
		m := c.Model("p", tt.id)
		if levelsOf(m) != tt.levels || m.Source != tt.source || m.Known != (tt.source == provider.FromFamily) {
			t.Errorf("%s: %s (%s), want %s (%s)", tt.id, levelsOf(m), m.Source, tt.levels, tt.source)
		}
		if m.Window != 4000 || m.Price == nil || m.Facts.Limits.Source != "config" || m.Name != tt.id {
			t.Errorf("%s: %+v", tt.id, m)
		}
		if list := c.ModelsOf("p"); !slices.ContainsFunc(list, func(one provider.Model) bool { return one.ID == tt.id }) {
			t.Errorf("%s is not listed", tt.id)
		}
	}
	if _, err := New([]Provider{{ID: "p", API: "chat", Rows: []Row{{ID: "muse-2", Window: -1}}}}); err == nil {
		t.Error("a window below 0 is taken")
	}
}

// A catalog is replaced while it is asked.
func TestCurrent(t *testing.T) {
	cur := NewCurrent(Default())
	next, err := New([]Provider{{ID: "p", Rows: []Row{{ID: "m", Control: provider.ControlNone}}}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	testgo.Go(t, func() { // ends by itself; the test waits below
		defer close(done)
		cur.Replace(next)
	})
	for range 100 {
		if n := len(cur.Models()); n != 1 && n < 150 {
			t.Errorf("%d models", n)
		}
	}
	<-done
	m, err := cur.Find("m")
	if err != nil || !cur.Model("p", "m").Known || m.Ref() != "p/m" || len(cur.Providers()) != 1 {
		t.Errorf("%+v, %v", m, err)
	}
}

// A row survives being kept as JSON.
func TestRowAsJSON(t *testing.T) {
	for _, m := range Default().At(func() time.Time { return time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC) }).Models() {
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got := provider.Model{Known: true}
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Fatalf("%s (-want +got)\n%s", m.Ref(), diff)
		}
	}
}
