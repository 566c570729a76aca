package registry

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// TestFacts applies the rule of listed.go: each case has one model that several sources speak of, and names the winner
// of each fact.
func TestFacts(t *testing.T) {
	effort := func(levels ...provider.Level) provider.Capability {
		return provider.Capability{Control: provider.ControlEffort, Levels: levels}
	}
	price := func(in float64) *provider.Price { return &provider.Price{Rates: provider.Rates{Input: in, Output: in}} }
	const table, list, refusal = "models.dev", "list of p", "refusal of p"
	row := func(m provider.Model, day string) []provider.Model {
		m.ID, m.Tools, m.Source, m.AsOf = "claude-opus-5-5", true, provider.FromRefreshed, day
		return []provider.Model{m}
	}
	all := provider.Model{Window: 5, MaxOutput: 5, Input: []string{"text"}, Price: price(5), Thinking: effort("low", "medium"), Lifecycle: &provider.Lifecycle{State: provider.LifecycleDeprecated}}
	for _, tt := range []struct {
		name string
		p    Provider
		want string // fact=state:source
	}{
		{"the catalog", Provider{}, "levels=confirmed:page default=confirmed:page limits=confirmed:page input=confirmed:page media=confirmed:page price=confirmed:page"},
		{"a table does not correct what is confirmed", Provider{Noted: row(all, "2026-12-01")},
			"levels=confirmed:page default=confirmed:page limits=confirmed:page input=confirmed:page media=confirmed:page price=confirmed:page"},
		{"the vendor's list corrects the catalog", Provider{Refreshed: row(all, "2026-12-01")},
			"levels=confirmed:list default=confirmed:page limits=confirmed:list input=confirmed:list media=confirmed:page price=confirmed:list lifecycle=confirmed:list"},
		{"the vendor's list corrects a table", Provider{Refreshed: row(all, "2026-12-01"), Noted: row(provider.Model{Window: 7}, "2026-12-02")},
			"levels=confirmed:list default=confirmed:page limits=confirmed:list input=confirmed:list media=confirmed:page price=confirmed:list lifecycle=confirmed:list"},
		{"a refusal corrects the list", Provider{Refreshed: row(all, "2026-12-01"), Lessons: []Lesson{{Model: "claude-opus-5-5", AsOf: "2026-12-02",
			Learned: provider.Learned{Levels: []provider.Level{"low", "high"}, Window: 4, Retired: true}}}},
			"levels=learned:refusal default=learned:refusal limits=learned:refusal input=confirmed:list media=confirmed:page price=confirmed:list lifecycle=learned:refusal"},
		{"the configuration corrects all", Provider{Refreshed: row(all, "2026-12-01"),
			Lessons: []Lesson{{Model: "claude-opus-5-5", AsOf: "2026-12-02", Learned: provider.Learned{Levels: []provider.Level{"low", "high"}, Window: 4}}},
			Rows:    []Row{{ID: "claude-opus-5-5", Levels: []provider.Level{"high", "max"}, Default: "max", Window: 9, MaxOutput: 3, Input: []string{"text"}, Price: price(1)}}},
			"levels=confirmed:config default=confirmed:config limits=confirmed:config input=confirmed:config media=confirmed:page price=confirmed:config lifecycle=confirmed:list"},
	} {
		tt.p.ID, tt.p.Vendor = "p", "anthropic"
		c, err := New([]Provider{tt.p})
		if err != nil || len(c.Skipped()) > 0 {
			t.Errorf("%s: %v, %v", tt.name, err, c.Skipped())
			continue
		}
		m := c.Model("p", "claude-opus-5-5")
		if got := factsOf(m); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
		for _, value := range []struct {
			fact provider.Fact
			ours string
			is   string
		}{
			{m.Facts.Limits, table, "7"}, {m.Facts.Limits, list, "5"}, {m.Facts.Limits, refusal, "4"}, {m.Facts.Limits, "config", "9"},
		} {
			if value.fact.Source == value.ours && fmt.Sprint(m.Window) != value.is {
				t.Errorf("%s: the window is %d, and its source %s states %s", tt.name, m.Window, value.ours, value.is)
			}
		}
	}
}

// A fact of the catalog that is not confirmed gives way to a newer table, not to an older one.
func TestNewerTable(t *testing.T) {
	s := &stock{provider: "p", vendor: "anthropic"}
	base := provider.Model{Provider: "p", ID: "m", Known: true, Window: 1, Input: []string{"text"}, Thinking: provider.Capability{Control: provider.ControlAlways, Levels: []provider.Level{"on"}, Default: "on"},
		Facts: provider.Facts{Limits: provider.Fact{State: provider.FactTable, Source: "pi-ai", AsOf: "2026-11-10"},
			Input:  provider.Fact{State: provider.FactConfirmed, Source: "page", AsOf: "2026-01-01"},
			Levels: provider.Fact{State: provider.FactFamily, Source: "models named m", AsOf: "2026-11-20"}}}
	for day, want := range map[string]string{
		"2026-11-09": "1 [text] effort levels=table:models.dev default=table:models.dev limits=table:pi-ai input=confirmed:page",
		"2026-11-11": "2 [text] effort levels=table:models.dev default=table:models.dev limits=table:models.dev input=confirmed:page",
	} {
		m, err := s.note(base, true, provider.Model{ID: "m", Window: 2, Input: []string{"text", "image"}, AsOf: day, Source: provider.FromRefreshed, Tools: true,
			Thinking: provider.Capability{Control: provider.ControlEffort, Levels: []provider.Level{"low"}, Default: "low"}})
		if got := fmt.Sprint(m.Window, " ", m.Input, " ", m.Thinking.Control, " ", factsOf(m)); err != nil || got != want {
			t.Errorf("a table of %s: %s, want %s (%v)", day, got, want, err)
		}
	}
}

// factsOf are a row's facts in few words.
func factsOf(m provider.Model) string {
	var list []string
	m.Facts.Each(func(name string, f *provider.Fact) {
		if f.State != "" {
			source := f.Source
			switch {
			case strings.HasPrefix(source, "platform.claude.com"):
				source = "page"
			case source != "models.dev":
				source, _, _ = strings.Cut(source, " of p")
			}
			list = append(list, fmt.Sprintf("%s=%s:%s", name, f.State, source))
		}
	})
	return strings.Join(list, " ")
}

// A guess is not called the list's, and an absent kind of input is not an empty list.
func TestGuess(t *testing.T) {
	c, err := New([]Provider{{ID: "gemini", Vendor: "gemini", Refreshed: []provider.Model{{ID: "gemini-4.9-flash", Tools: true, Source: provider.FromRefreshed, AsOf: "2026-12-01", Input: []string{}}}}})
	if err != nil {
		t.Fatal(err)
	}
	m := c.Model("gemini", "gemini-4.9-flash")
	if m.Source != provider.FromFamily || m.Facts.Levels.State != provider.FactFamily || m.Facts.Levels.Source != "models named gemini-[34]*" || m.Input != nil || m.Facts.Input.State != "" {
		t.Errorf("%+v", m)
	}
}

// A model that a list names as retired is not added; one that there is gets the state, and keeps its successor.
func TestRetiredInList(t *testing.T) {
	told := []provider.Model{
		{ID: "gemini-9", Tools: true, Lifecycle: &provider.Lifecycle{State: provider.LifecycleRetired}},
		{ID: "gemini-2.5-pro", Tools: true, Lifecycle: &provider.Lifecycle{State: provider.LifecycleRetired}},
	}
	c, err := New([]Provider{{ID: "p", Vendor: "gemini", Refreshed: told}})
	if err != nil {
		t.Fatal(err)
	}
	if m := c.Model("p", "gemini-9"); m.Known || m.Lifecycle != nil {
		t.Errorf("%+v", m)
	}
	m := c.At(func() time.Time { return time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC) }).Model("p", "gemini-2.5-pro") // before it is redirected
	if l := m.Lifecycle; l == nil || l.State != provider.LifecycleRetired || l.ReplacedBy == "" || l.Retires != "2026-12-01" || m.Facts.Lifecycle.State != provider.FactConfirmed {
		t.Errorf("%+v %+v", m.Lifecycle, m.Facts.Lifecycle)
	}
}

// A row's source says which of its facts come from public tables.
func TestStated(t *testing.T) {
	m := provider.Model{Window: 1, Input: []string{"text"}, Price: &provider.Price{}, AsOf: "2026-11-22"}
	for source, want := range map[string]string{
		"docs.x.ai: reasoning": "levels=confirmed default=confirmed limits=confirmed input=confirmed price=confirmed",
		"docs.x.ai: reasoning; window and price: models.dev 2026-07-02; default not confirmed":     "levels=confirmed default=table limits=table input=confirmed price=table",
		"docs.z.ai: thinking-mode; window, output, input and price: models.dev; off not confirmed": "levels=table default=confirmed limits=table input=table price=table",
		"@earendil-works/pi-ai 1.5.2 (2026-11-10): github-copilot; thinking as at Anthropic":       "levels=table default=table limits=table input=table price=table",
	} {
		facts := stated(m, source)
		var got []string
		facts.Each(func(name string, f *provider.Fact) {
			if f.State != "" {
				got = append(got, name+"="+string(f.State))
			}
		})
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", source, got, want)
		}
	}
}
