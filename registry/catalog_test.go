package registry

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/thinkd/thinkd/provider"
)

// noFacts leaves out who states what: TestFacts is about that.
var noFacts = cmpopts.IgnoreFields(provider.Model{}, "Facts")

func TestCatalogFile(t *testing.T) {
	if !json.Valid([]byte(catalogJSON)) {
		t.Fatal("catalog.json is not JSON")
	}
	var ids []string
	date := regexp.MustCompile(`^20\d\d-\d\d-\d\d$`)
	for _, v := range embedded() {
		ids = append(ids, v.ID)
		if v.Name == "" || v.API == "" || v.Dialect == "" {
			t.Errorf("vendor %s lacks a member: %+v", v.ID, v.Vendor)
		}
		seen := map[string]bool{}
		for _, row := range v.rows() {
			for _, id := range append([]string{row.ID}, row.Aliases...) {
				if seen[id] {
					t.Errorf("%s/%s is there twice", v.ID, id)
				}
				seen[id] = true
			}
			if row.Source == "" || !date.MatchString(row.AsOf) {
				t.Errorf("%s/%s: source %q, as_of %q", v.ID, row.ID, row.Source, row.AsOf)
			}
			if row.Name == "" {
				t.Errorf("%s/%s lacks a name", v.ID, row.ID)
			}
			// What its documents do not state a row leaves out. Anthropic's state it all.
			if v.API == "messages" && row.API == "" && (row.Window == 0 || row.MaxOutput == 0 || len(row.Input) == 0) {
				t.Errorf("%s/%s lacks a member: %+v", v.ID, row.ID, row.Model)
			}
			if max := row.Thinking.BudgetMax; v.API == "messages" && row.API == "" && max >= row.MaxOutput {
				t.Errorf("%s/%s: budgets up to %d do not fit into an output of %d", v.ID, row.ID, max, row.MaxOutput)
			}
			// OpenRouter charges Gemini's cache by its storage, which is less than input.
			if p := row.Price; p != nil && (p.CachedInput > p.Input || p.CacheWrite != 0 && p.CacheWrite < p.Input && !strings.HasPrefix(row.ID, "google/")) {
				t.Errorf("%s/%s: reading the cache costs more than not, or writing it less: %+v", v.ID, row.ID, p)
			}
			if (row.API == "") != (row.Dialect == "") {
				t.Errorf("%s/%s: API %q with the dialect %q; a row names both or neither", v.ID, row.ID, row.API, row.Dialect)
			}
			m := row.Model
			m.Provider, m.Known = v.ID, true
			if err := check(m); err != nil {
				t.Error(err)
			}
		}
		if v.DefaultModel != "" && !seen[v.DefaultModel] {
			t.Errorf("vendor %s: default model %q has no row", v.ID, v.DefaultModel)
		}
	}
	want := []string{"anthropic", "openai", "gemini", "deepseek", "xai", "openrouter", "groq", "mistral", "moonshot", "zai", "minimax",
		"dashscope", "cohere", "copilot", "chatgpt", "azure", "vertex", "bedrock", "ollama", "lmstudio", "llamacpp", "vllm", "sglang", "sim"}
	if !slices.Equal(ids, want) {
		t.Errorf("vendors %v, want %v", ids, want)
	}
}

func TestCatalogOrder(t *testing.T) {
	c, err := New([]Provider{
		{ID: "b", Vendor: "sim", Rows: []Row{{ID: "new", Control: provider.ControlNone}, {ID: "claude", Name: "Mine"}}},
		{ID: "a", Rows: []Row{{ID: "z", Control: provider.ControlAlways}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range c.Models() {
		got = append(got, m.Ref())
	}
	sim, ok := embeddedVendor("sim")
	if !ok {
		t.Fatal("no simulator")
	}
	var want []string
	for _, row := range sim.rows() {
		want = append(want, "b/"+row.ID)
	}
	if want = append(want, "b/new", "a/z"); want[0] != "b/claude" {
		t.Errorf("the simulator's first model is %s", want[0])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"b", "a"}, c.Providers()); diff != "" {
		t.Error(diff)
	}
}

func TestModel(t *testing.T) {
	c := Default()
	got := c.Model("anthropic", "claude-opus-4-5")
	if got.ID != "claude-opus-4-5" || got.Name != "Claude Opus 4.5" || !got.Known || got.Source != provider.FromCatalog || got.AsOf == "" || !got.Thinking.EffortToo {
		t.Errorf("another id of a model: %+v", got)
	}
	want := provider.Model{Provider: "anthropic", ID: "claude-opus-9", Name: "claude-opus-9", API: "messages", Dialect: "anthropic",
		Source: provider.FromNobody}
	if diff := cmp.Diff(want, c.Model("anthropic", "claude-opus-9")); diff != "" {
		t.Errorf("without a row: %s", diff)
	}
	if m := c.Model("anthropic", "Claude-Opus-5"); m.Known {
		t.Errorf("ids are compared exactly, got %+v", m)
	}
}

// TestFindFirstHand: an id alone means the maker's model, not that of who resells it.
func TestFindFirstHand(t *testing.T) {
	c := Default()
	for id, want := range map[string]string{"gpt-5.5": "openai/gpt-5.5", "copilot/gpt-5.5": "copilot/gpt-5.5", "claude-opus-4.8": "copilot/claude-opus-4.8"} {
		if m, err := c.Find(id); err != nil || m.Ref() != want {
			t.Errorf("%s is %s (%v), want %s", id, m.Ref(), err, want)
		}
	}
	resellers, err := New([]Provider{{ID: "copilot", Vendor: "copilot"}, {ID: "azure", Vendor: "azure"}})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := resellers.Find("gpt-5.5"); err == nil {
		t.Errorf("gpt-5.5 of two resellers is %s", m.Ref())
	}
}

func TestFind(t *testing.T) {
	c, err := New([]Provider{
		{ID: "anthropic", Vendor: "anthropic"},
		{ID: "gateway", Rows: []Row{
			{ID: "claude-opus-5", Control: provider.ControlAlways},
			{ID: "elsewhere/llama", Control: provider.ControlNone},
			{ID: "anthropic/claude-opus-5", Control: provider.ControlNone},
		}},
		{ID: "sim", Vendor: "sim"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		id    string
		want  string // provider and id, with a space between; or the error
		known bool
	}{
		{"anthropic/claude-opus-5-5", "anthropic claude-opus-5-5", true},
		{"claude-opus-5-5", "anthropic claude-opus-5-5", true},
		{"claude-haiku-4-5", "anthropic claude-haiku-4-5", true},
		{"claude", `no model "claude"; near: anthropic/claude-opus-5-5, anthropic/claude-sonnet-5-5, anthropic/claude-haiku-5-5`, false},
		{"sim/claude", "sim claude", true},
		{"anthropic/claude-next", "anthropic claude-next", false},
		{"elsewhere/llama", "gateway elsewhere/llama", true},
		{"gateway/elsewhere/llama", "gateway elsewhere/llama", true},
		{"gateway/a/b/c", "gateway a/b/c", false},
		{"anthropic/claude-opus-5", "anthropic claude-opus-5", true},
		{"claude-opus-5", `model "claude-opus-5" is at several providers; say which: anthropic/claude-opus-5, gateway/claude-opus-5`, false},
		{"claude-opus-5.5", `no model "claude-opus-5.5"; near: anthropic/claude-opus-5-5, anthropic/claude-opus-5, gateway/claude-opus-5`, false},
		{"Fable-5-2", `no model "Fable-5-2"; near: anthropic/claude-fable-5-2`, false},
		{"antropic/claude-sonnet-5", `no model "antropic/claude-sonnet-5"; near: anthropic/claude-sonnet-5, anthropic/claude-sonnet-5-5, anthropic/claude-sonnet-4-6`, false},
		{"sim", `no model "sim"; near: sim/claude, sim/claude-always, sim/claude-budget`, false},
		{"sim/", `no model "sim/"; near: sim/claude, sim/claude-always, sim/claude-budget`, false},
		{"llama-9", `no model "llama-9"; name it as provider/id, with one of these providers: anthropic, gateway, sim`, false},
		{"", `no model ""; name it as provider/id, with one of these providers: anthropic, gateway, sim`, false},
		{"/", `no model "/"; name it as provider/id, with one of these providers: anthropic, gateway, sim`, false},
		{"\xff", `no model ""; name it as provider/id, with one of these providers: anthropic, gateway, sim`, false},
	} {
		m, err := c.Find(tt.id)
		got := m.Provider + " " + m.ID
		if err != nil {
			got = err.Error()
		}
		if got != tt.want || m.Known != tt.known {
			t.Errorf("%q:\n got %s, known %v\nwant %s, known %v", tt.id, got, m.Known, tt.want, tt.known)
		}
	}
	_, err = c.Find("claude-opus-5")
	if e, ok := errors.AsType[*AmbiguousError](err); !ok || len(e.Candidates) != 2 {
		t.Errorf("an id at two providers: %#v", err)
	}
	_, err = c.Find(strings.Repeat("x", 1<<20))
	if e, ok := errors.AsType[*NotFoundError](err); !ok || len(e.Error()) > 500 {
		t.Errorf("a very long id: %d bytes of error", len(err.Error()))
	}
}

func TestRowCorrects(t *testing.T) {
	yes, no, free := true, false, provider.SamplingFree
	base := Default()
	for _, tt := range []struct {
		name string
		row  Row
		want func(m *provider.Model)
	}{
		{"one member", Row{ID: "claude-opus-5", Window: 400_000}, func(m *provider.Model) { m.Window = 400_000 }},
		{"many", Row{ID: "claude-opus-5", Name: "Ours", MaxOutput: 9, Input: []string{"text"}, Tools: &no, Sampling: &free, Price: &provider.Price{Rates: provider.Rates{Input: 1, Output: 2}}},
			func(m *provider.Model) {
				m.Name, m.MaxOutput, m.Input, m.Tools, m.Sampling = "Ours", 9, []string{"text"}, false, ""
				m.Price = &provider.Price{Rates: provider.Rates{Input: 1, Output: 2}}
			}},
		{"default options", Row{ID: "claude-opus-5", Options: provider.Options{MaxOutput: 9000, Stop: []string{"END"}}}, func(m *provider.Model) {
			m.Options = &provider.Options{MaxOutput: 9000, Stop: []string{"END"}}
		}},
		{"levels keep their off", Row{ID: "claude-sonnet-5-5", Levels: []provider.Level{"low", "high"}},
			func(m *provider.Model) { m.Thinking.Levels = []provider.Level{"off", "low", "high"} }},
		{"off taken away", Row{ID: "claude-opus-5", CanDisable: &no}, func(m *provider.Model) {
			m.Thinking.Off, m.Thinking.Levels = "", []provider.Level{"low", "medium", "high", "xhigh", "max"}
		}},
		{"off added", Row{ID: "claude-opus-5-5", CanDisable: &yes, Default: "off"}, func(m *provider.Model) {
			m.Thinking.Off, m.Thinking.Default = "full", "off"
			m.Thinking.Levels = []provider.Level{"off", "low", "medium", "high", "xhigh", "max"}
		}},
		{"off that was there keeps its form", Row{ID: "claude-sonnet-5-5", CanDisable: &yes}, func(*provider.Model) {}},
		{"budgets follow the range", Row{ID: "claude-haiku-4-5-20251001", BudgetMin: 5000, BudgetMax: 6000}, func(m *provider.Model) {
			m.Thinking.BudgetMin, m.Thinking.BudgetMax = 5000, 6000
			m.Thinking.Budgets = map[provider.Level]int{"low": 5000, "medium": 6000, "high": 6000}
		}},
		{"budgets follow the output", Row{ID: "claude-haiku-4-5-20251001", MaxOutput: 16_000}, func(m *provider.Model) {
			m.MaxOutput, m.Thinking.BudgetMax = 16_000, 15_999
			m.Thinking.Budgets = map[provider.Level]int{"low": 4096, "medium": 10_000, "high": 15_999}
		}},
		{"budgets level by level", Row{ID: "claude-haiku-4-5-20251001", Budgets: map[provider.Level]int{"low": 2048}}, func(m *provider.Model) {
			m.Thinking.Budgets = map[provider.Level]int{"low": 2048, "medium": 10_000, "high": 32_000}
		}},
		{"a level beyond the standard", Row{ID: "claude-haiku-4-5-20251001", Levels: []provider.Level{"low", "max"}, Budgets: map[provider.Level]int{"max": 60_000}},
			func(m *provider.Model) {
				m.Thinking.Levels = []provider.Level{"off", "low", "max"}
				m.Thinking.Budgets = map[provider.Level]int{"low": 4096, "max": 60_000}
			}},
		{"another control", Row{ID: "claude-haiku-4-5-20251001", Control: "effort", Levels: []provider.Level{"low"}, Default: "low"}, func(m *provider.Model) {
			m.Thinking = provider.Capability{Control: "effort", Levels: []provider.Level{"low"}, Default: "low", Display: m.Thinking.Display}
		}},
		{"does not think", Row{ID: "claude-opus-5", Control: "none"}, func(m *provider.Model) {
			m.Thinking = provider.Capability{Control: "none", Levels: []provider.Level{"off"}, Default: "off", Display: m.Thinking.Display}
		}},
		{"another id of a model", Row{ID: "claude-haiku-4-5", Window: 1000}, func(m *provider.Model) { m.Window = 1000 }},
	} {
		c, err := New([]Provider{{ID: "anthropic", Vendor: "anthropic", Rows: []Row{tt.row}}})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		want := base.Model("anthropic", tt.row.ID)
		want.Source, want.AsOf = provider.FromConfig, ""
		tt.want(&want)
		if diff := cmp.Diff(want, c.Model("anthropic", tt.row.ID), noFacts); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tt.name, diff)
		}
	}
	if diff := cmp.Diff(Default().Models(), base.Models()); diff != "" {
		t.Errorf("corrections reached the embedded catalog: %s", diff)
	}
}

func TestRowAdds(t *testing.T) {
	yes := true
	for _, tt := range []struct {
		name string
		row  Row
		want provider.Model
	}{
		{"effort", Row{ID: "m", Control: "effort", Levels: []provider.Level{"low", "high"}, Default: "high", Window: 400_000, MaxOutput: 64_000},
			provider.Model{Window: 400_000, MaxOutput: 64_000,
				Thinking: provider.Capability{Control: "effort", Levels: []provider.Level{"low", "high"}, Default: "high"}}},
		{"budget", Row{ID: "m", Control: "budget", Levels: []provider.Level{"low", "medium", "high"}, Default: "off", CanDisable: &yes, MaxOutput: 30_000},
			provider.Model{MaxOutput: 30_000,
				Thinking: provider.Capability{Control: "budget", Levels: []provider.Level{"off", "low", "medium", "high"}, Default: "off", Off: "full",
					BudgetMin: 1024, BudgetMax: 29_999, Budgets: map[provider.Level]int{"low": 4096, "medium": 10_000, "high": 29_999}}}},
		{"toggle", Row{ID: "m", Control: "toggle", Default: "on"},
			provider.Model{Thinking: provider.Capability{Control: "toggle", Levels: []provider.Level{"off", "on"}, Default: "on", Off: "full"}}},
		{"always", Row{ID: "m", Control: "always"},
			provider.Model{Thinking: provider.Capability{Control: "always", Levels: []provider.Level{"on"}, Default: "on"}}},
		{"none", Row{ID: "m", Control: "none"},
			provider.Model{Thinking: provider.Capability{Control: "none", Levels: []provider.Level{"off"}, Default: "off"}}},
	} {
		tt.want.ID, tt.want.Name, tt.want.Known, tt.want.Tools, tt.want.Source = "m", "m", true, true, provider.FromConfig
		for _, p := range []Provider{{ID: "mine"}, {ID: "anthropic", Vendor: "anthropic"}} {
			p.Rows = []Row{tt.row}
			c, err := New([]Provider{p})
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
				continue
			}
			want := tt.want
			want.Provider = p.ID
			if p.Vendor != "" {
				want.API, want.Dialect = "messages", "anthropic" // the vendor's, as is what can be shown
				want.Thinking.Display = []provider.Display{"summarized", "omitted"}
			}
			if diff := cmp.Diff(want, c.Model(p.ID, "m"), noFacts); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", tt.name, diff)
			}
		}
	}
}

// A model is spoken to as its row in the configuration says, else its row in the catalog, else the provider, else the
// vendor; a dialect goes with its API.
func TestSpoken(t *testing.T) {
	none := func(id, api, dialect string) Row {
		return Row{ID: id, Control: provider.ControlNone, API: api, Dialect: dialect}
	}
	for _, tt := range []struct {
		name     string
		provider Provider
		model    string
		want     string
	}{
		{"vendor's", Provider{Vendor: "xai"}, "grok-4.5", "responses xai"},
		{"vendor's, without a row", Provider{Vendor: "xai"}, "grok-9", "responses xai"},
		{"catalog's row", Provider{Vendor: "xai"}, "grok-3-mini", "chat xai"},
		{"provider's", Provider{Vendor: "openai", API: "chat", Dialect: "openai"}, "gpt-5.5", "chat openai"},
		{"provider's, without a row", Provider{Vendor: "openai", API: "chat", Dialect: "openai"}, "gpt-9", "chat openai"},
		{"provider's, another dialect of the same API", Provider{Vendor: "openai", Dialect: "azure"}, "gpt-5.5", "responses azure"},
		{"provider's, another API without its dialect", Provider{Vendor: "xai", API: "chat"}, "grok-4.5", "chat "},
		{"catalog's row stays", Provider{Vendor: "xai", API: "messages", Dialect: "anthropic"}, "grok-3-mini", "chat xai"},
		{"without a vendor", Provider{API: "chat", Dialect: "vllm"}, "x", "chat vllm"},
		{"of nobody", Provider{}, "x", " "},
		{"configured row", Provider{Vendor: "xai", Rows: []Row{{ID: "grok-4.5", API: "chat", Dialect: "xai"}}}, "grok-4.5", "chat xai"},
		{"configured row without a dialect", Provider{Vendor: "xai", Rows: []Row{{ID: "grok-4.5", API: "chat"}}}, "grok-4.5", "chat "},
		{"configured row, dialect alone", Provider{Vendor: "xai", Rows: []Row{{ID: "grok-4.5", Dialect: "azure"}}}, "grok-4.5", "responses azure"},
		{"configured row that says nothing", Provider{Vendor: "xai", Rows: []Row{{ID: "grok-3-mini", Name: "Mini"}}}, "grok-3-mini", "chat xai"},
		{"new row", Provider{API: "chat", Dialect: "vllm", Rows: []Row{none("x", "messages", "")}}, "x", "messages "},
		{"new row that says nothing", Provider{API: "chat", Dialect: "vllm", Rows: []Row{none("x", "", "")}}, "x", "chat vllm"},
	} {
		tt.provider.ID = "p"
		c, err := New([]Provider{tt.provider})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if m := c.Model("p", tt.model); m.API+" "+m.Dialect != tt.want {
			t.Errorf("%s: spoken to by %q in dialect %q, want %q", tt.name, m.API, m.Dialect, tt.want)
		}
	}
}

func TestRowContradicts(t *testing.T) {
	yes, no, wrong := true, false, provider.SamplingRule("sometimes")
	levels := func(words string) []provider.Level {
		var list []provider.Level
		for _, w := range strings.Fields(words) {
			list = append(list, provider.Level(w))
		}
		return list
	}
	for _, tt := range []struct {
		row  Row
		want string // after "provider anthropic: model "m": "
	}{
		{Row{Options: provider.Options{TopK: new(int)}}, `options.top_k: must be a whole number from 1`},
		{Row{Options: provider.Options{ServiceTier: "gold"}}, `options.service_tier: is "gold", and must be one of auto, standard, flex, priority`},
		{Row{Levels: levels("low")}, `thinking.control: missing; it is one of effort, budget, toggle, always, none`},
		{Row{Control: "words"}, `thinking.control: "words" is not one of effort, budget, toggle, always, none`},
		{Row{Control: "effort"}, `thinking.levels: the control effort needs at least one of minimal, low, medium, high, xhigh, max`},
		{Row{Control: "effort", Levels: levels("off")}, `thinking.levels: the control effort needs at least one of minimal, low, medium, high, xhigh, max`},
		{Row{Control: "effort", Levels: levels("low ultra")}, `thinking.levels: "ultra" is not a level; known: off, on, minimal, low, medium, high, xhigh, max`},
		{Row{Control: "effort", Levels: levels("auto low")}, `thinking.levels: "auto" is not a level; known: off, on, minimal, low, medium, high, xhigh, max`},
		{Row{Control: "effort", Levels: levels("high low")}, `thinking.levels: low after high: levels go upwards, each once`},
		{Row{Control: "effort", Levels: levels("low low")}, `thinking.levels: low after low: levels go upwards, each once`},
		{Row{Control: "effort", Levels: levels("on low")}, `thinking.levels: on is for models without degrees, and the control is effort`},
		{Row{Control: "effort", Levels: levels("off low"), Default: "low"}, `thinking.levels: off is listed, but the model cannot be off: set can_disable = true, or leave off out`},
		{Row{Control: "effort", Levels: levels("off low"), Default: "low", CanDisable: &no}, `thinking.levels: off is listed, but the model cannot be off: set can_disable = true, or leave off out`},
		{Row{Control: "effort", Levels: levels("low high")}, `thinking.default: missing; it is one of the levels: low, high`},
		{Row{Control: "effort", Levels: levels("low high"), Default: "max"}, `thinking.default: "max" is not one of the levels: low, high`},
		{Row{Control: "effort", Levels: levels("low high"), Default: "off"}, `thinking.default: "off" is not one of the levels: low, high`},
		{Row{Control: "effort", Levels: levels("low"), Default: "low", Budgets: map[provider.Level]int{"low": 1}}, `thinking.budgets: the control is effort, which has no budget`},
		{Row{Control: "effort", Levels: levels("low"), Default: "low", BudgetMax: 5}, `thinking.budgets: the control is effort, which has no budget`},
		{Row{Control: "effort", Levels: levels("low"), Default: "low", Display: []provider.Display{"loud"}}, `thinking.display: "loud": each of summarized, omitted, updates may be named once`},
		{Row{Control: "effort", Levels: levels("low"), Default: "low", Display: []provider.Display{""}}, `thinking.display: "": each of summarized, omitted, updates may be named once`},
		{Row{Control: "toggle"}, `thinking.default: missing; it is one of the levels: off, on`},
		{Row{Control: "toggle", CanDisable: &no, Default: "on"}, `thinking.can_disable: a model that thinks and cannot be off has the control always, not toggle`},
		{Row{Control: "toggle", Levels: levels("off on high"), Default: "on"}, `thinking.levels: the control toggle has the levels off, on and no others`},
		{Row{Control: "always", CanDisable: &yes}, `thinking.can_disable: there is nothing to switch off where the control is always`},
		{Row{Control: "always", Levels: levels("high")}, `thinking.levels: the control always has the levels on and no others`},
		{Row{Control: "none", CanDisable: &yes}, `thinking.can_disable: there is nothing to switch off where the control is none`},
		{Row{Control: "none", Default: "high"}, `thinking.default: "high" is not one of the levels: off`},
		{Row{Control: "budget", Levels: levels("low max"), Default: "low"}, `thinking.budgets: no tokens for the level max`},
		{Row{Control: "budget", Levels: levels("low"), Default: "low", Budgets: map[provider.Level]int{"hihg": 5000}}, `thinking.budgets: tokens for "hihg", which is not one of the levels: low`},
		{Row{Control: "budget", Levels: levels("low"), Default: "low", BudgetMin: -1}, `thinking.budget_min: -1 is not a number of tokens`},
		{Row{Control: "budget", Levels: levels("low"), Default: "low", BudgetMin: 2000, BudgetMax: 1500}, `thinking.budget_max: 1500 is below the least budget, 2000`},
		{Row{Control: "budget", Levels: levels("low"), Default: "low", Budgets: map[provider.Level]int{"low": 100}}, `thinking.budgets: 100 tokens for low are below the least budget, 1024`},
		{Row{Control: "budget", Levels: levels("low"), Default: "low", BudgetMax: 5000, Budgets: map[provider.Level]int{"low": 6000}}, `thinking.budgets: 6000 tokens for low are above the greatest budget, 5000`},
		{Row{Control: "budget", Levels: levels("low high"), Default: "low", Budgets: map[provider.Level]int{"high": 2000}}, `thinking.budgets: 2000 tokens for high are less than for the level below`},
		{Row{Control: "none", Window: -1}, `context_window: -1 is not a number of tokens`},
		{Row{Control: "none", MaxOutput: -1}, `max_output_tokens: -1 is not a number of tokens`},
		{Row{Control: "none", Input: []string{"smell"}}, `input: "smell" is not one of text, image, pdf, audio, video`},
		{Row{Control: "none", Sampling: &wrong}, `sampling: "sometimes" is not one of free, never, not_in_thinking`},
		{Row{Control: "none", Price: &provider.Price{Rates: provider.Rates{Input: -1}}}, `price: input -1, output 0, cached_input 0, cache_write 0 and cache_write_1h 0 are not all USD per million tokens`},
		{Row{Control: "none", Price: &provider.Price{Rates: provider.Rates{CachedInput: math.NaN()}}}, `price: input 0, output 0, cached_input NaN, cache_write 0 and cache_write_1h 0 are not all USD per million tokens`},
	} {
		tt.row.ID = "m"
		_, err := New([]Provider{{ID: "anthropic", Vendor: "anthropic", Rows: []Row{tt.row}}})
		row, ok := errors.AsType[*RowError](err)
		if !ok {
			t.Errorf("%+v: got %v, want %s", tt.row, err, tt.want)
			continue
		}
		if want := `provider anthropic: model "m": ` + tt.want; err.Error() != want {
			t.Errorf("%+v:\n got %v\nwant %s", tt.row, err, want)
		}
		if !strings.HasPrefix(tt.want, row.Field+": ") {
			t.Errorf("field %q, want that of %s", row.Field, tt.want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	row := Row{ID: "m", Control: provider.ControlNone}
	for want, list := range map[string][]Provider{
		`provider "": the id must be a word without a slash`:         {{}},
		`provider "a/b": the id must be a word without a slash`:      {{ID: "a/b"}},
		`provider a: named twice`:                                    {{ID: "a"}, {ID: "a"}},
		`provider a: no vendor is named "nobody"`:                    {{ID: "a", Vendor: "nobody"}},
		`provider a: model "": id: missing`:                          {{ID: "a", Rows: []Row{{}}}},
		`provider a: model "m": id: a second row for the same model`: {{ID: "a", Rows: []Row{row, row}}},
		`provider sim: model "claude": thinking.default: "minimal" is not ` +
			`one of the levels: off, low, medium, high, xhigh, max`: {{ID: "sim", Vendor: "sim", Rows: []Row{{ID: "claude", Default: "minimal"}}}},
	} {
		if _, err := New(list); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestVendors(t *testing.T) {
	want := Vendor{
		ID: "anthropic", Name: "Anthropic", API: "messages", Dialect: "anthropic", BaseURL: "https://api.anthropic.com",
		KeyEnv: "ANTHROPIC_API_KEY", BaseURLEnv: "ANTHROPIC_BASE_URL", DefaultModel: "claude-opus-5-5",
		Display: []provider.Display{"summarized", "omitted"},
	}
	list := Vendors()
	if list[0].Media == nil || list[0].Media.Source == "" {
		t.Error("no limits of media")
	}
	list[0].Media = nil // see TestMedia
	if diff := cmp.Diff(want, list[0], noFacts); diff != "" {
		t.Error(diff)
	}
	if last := list[len(list)-1]; last.ID != "sim" || last.KeyEnv != "" || last.DefaultModel != "claude" {
		t.Errorf("the simulator is last and needs no key: %+v", last)
	}
}

func TestStandardBudgets(t *testing.T) {
	want := map[provider.Level]int{"low": 4096, "medium": 10_000, "high": 32_000}
	if !maps.Equal(standardBudgets, want) {
		t.Errorf("got %v", standardBudgets)
	}
	for _, id := range []string{"claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5"} {
		if got := Default().Model("anthropic", id).Thinking; !maps.Equal(got.Budgets, want) || got.BudgetMin != 1024 {
			t.Errorf("%s: %+v", id, got)
		}
	}
}

// TestLive looks models up that a server tells of: they come after what the configuration states, before the catalog,
// and only as long as the server has them.
// A correction adds to the default options of a row, one by one, and leaves the row as it was.
func TestDefaultOptionsAddUp(t *testing.T) {
	before := provider.Model{Options: &provider.Options{MaxOutput: 9000, Stop: []string{"END"}}}
	got := Row{Options: provider.Options{MaxOutput: 10, TopK: new(5)}}.over(before, "").Options
	if diff := cmp.Diff(&provider.Options{MaxOutput: 10, TopK: new(5), Stop: []string{"END"}}, got); diff != "" || before.Options.MaxOutput != 9000 {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Tools of a vendor send data away without a question: only people turn them on.
func TestCatalogAsksForNoServerTools(t *testing.T) {
	for _, m := range Default().Models() {
		if asked := m.Options.Or().ServerTools; len(asked) > 0 {
			t.Errorf("%s: %v", m.Ref(), asked)
		}
	}
}

func TestLive(t *testing.T) {
	toggle := provider.Capability{Control: provider.ControlToggle, Default: provider.On, Off: provider.OffFull}
	installed := []provider.Model{
		{ID: "a", Thinking: toggle, Window: 7, Tools: true},
		{ID: "grok-4.5", Thinking: toggle},
		{ID: "stated", Thinking: toggle},
		{ID: "broken", Thinking: provider.Capability{Control: "magic"}},
	}
	c, err := New([]Provider{
		{ID: "xai", Vendor: "xai"},
		{ID: "here", Vendor: "xai", Rows: []Row{{ID: "stated", Control: provider.ControlNone}},
			Live: func() []provider.Model { return installed }},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := provider.Model{Provider: "here", ID: "a", Name: "a", API: "responses", Dialect: "xai", Known: true, Thinking: toggle,
		Window: 7, Tools: true, Source: provider.FromLive}
	want.Thinking.Levels = []provider.Level{"off", "on"}
	want.Thinking.Display = []provider.Display{"summarized", "omitted"} // as all models of the vendor
	if diff := cmp.Diff(want, c.Model("here", "a"), noFacts); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if installed[0].Thinking.Levels != nil {
		t.Error("what the server told was changed")
	}
	for id, source := range map[string]provider.RowSource{"a": "live", "grok-4.5": "live", "stated": "config", "grok-4.3": "catalog", "broken": "unknown"} {
		if m := c.Model("here", id); m.Source != source || m.Known != (source != "unknown") {
			t.Errorf("%s: %+v", id, m)
		}
	}
	if m, err := c.Find("a"); err != nil || m.Ref() != "here/a" {
		t.Errorf("a bare id: %s, %v", m.Ref(), err)
	}
	if _, err := c.Find("grok-4.5"); err == nil || !strings.Contains(err.Error(), "xai/grok-4.5, here/grok-4.5") {
		t.Errorf("an id at two providers: %v", err)
	}
	count := func() (n, live int) {
		for _, m := range c.Models() {
			if m.Provider == "here" {
				n++
			}
			if m.Source == provider.FromLive {
				live++
			}
		}
		return n, live
	}
	if n, live := count(); n != 10 || live != 2 { // eight of the vendor, the stated one, and a
		t.Errorf("%d models listed, %d of them live", n, live)
	}
	installed = nil
	if m := c.Model("here", "a"); m.Known {
		t.Errorf("a model that is gone: %+v", m)
	}
	if n, live := count(); n != 9 || live != 0 {
		t.Errorf("when nothing is there: %d models listed, %d of them live", n, live)
	}
}
