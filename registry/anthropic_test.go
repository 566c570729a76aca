package registry

import (
	"slices"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
)

// What each model of Anthropic takes, written by hand from the vendor's own matrix (docs: thinking, effort,
// extended-thinking, models/overview), policy downgrade. One column per group of models that answer alike.
var anthropicGrids = []struct {
	models string
	want   map[string]string
}{
	{
		"claude-fable-5 claude-fable-5-1 claude-fable-5-2 claude-mythos-5 claude-mythos-5-1 claude-mythos-5-2 " +
			"copilot/claude-fable-5.1 copilot/claude-fable-5 vertex/claude-fable-5 vertex/claude-fable-5-1" +
			" bedrock/global.anthropic.claude-fable-5 bedrock/us.anthropic.claude-fable-5 bedrock/global.anthropic.claude-fable-5-1 bedrock/us.anthropic.claude-fable-5-1 bedrock/global.anthropic.claude-fable-5-2 bedrock/us.anthropic.claude-fable-5-2",
		map[string]string{
			"":        "high model_default effort:high/summarized",
			"off":     "low off_not_supported effort:low/summarized",
			"auto":    "auto as_requested on/summarized",
			"on":      "high as_requested effort:high/summarized",
			"minimal": "low level_not_supported effort:low/summarized",
			"low":     "low as_requested effort:low/summarized",
			"medium":  "medium as_requested effort:medium/summarized",
			"high":    "high as_requested effort:high/summarized",
			"xhigh":   "xhigh as_requested effort:xhigh/summarized",
			"max":     "max as_requested effort:max/summarized",
		},
	},
	{
		"claude-opus-5-5 sim/claude-always " +
			"copilot/claude-opus-5.5 vertex/claude-opus-5-5" +
			" bedrock/global.anthropic.claude-opus-5-5 bedrock/us.anthropic.claude-opus-5-5",
		map[string]string{
			"":        "medium model_default effort:medium/summarized",
			"off":     "low off_not_supported effort:low/summarized",
			"auto":    "auto as_requested on/summarized",
			"on":      "medium as_requested effort:medium/summarized",
			"minimal": "low level_not_supported effort:low/summarized",
			"low":     "low as_requested effort:low/summarized",
			"medium":  "medium as_requested effort:medium/summarized",
			"high":    "high as_requested effort:high/summarized",
			"xhigh":   "xhigh as_requested effort:xhigh/summarized",
			"max":     "max as_requested effort:max/summarized",
		},
	},
	{
		"claude-opus-5 claude-sonnet-5 sim/claude " +
			"copilot/claude-sonnet-5 copilot/claude-opus-5 vertex/claude-sonnet-5 vertex/claude-opus-5" +
			" bedrock/global.anthropic.claude-opus-5 bedrock/us.anthropic.claude-opus-5 bedrock/global.anthropic.claude-sonnet-5 bedrock/us.anthropic.claude-sonnet-5",
		map[string]string{
			"":        "high model_default effort:high/summarized",
			"off":     "off as_requested off",
			"auto":    "auto as_requested on/summarized",
			"on":      "high as_requested effort:high/summarized",
			"minimal": "low level_not_supported effort:low/summarized",
			"low":     "low as_requested effort:low/summarized",
			"medium":  "medium as_requested effort:medium/summarized",
			"high":    "high as_requested effort:high/summarized",
			"xhigh":   "xhigh as_requested effort:xhigh/summarized",
			"max":     "max as_requested effort:max/summarized",
		},
	},
	{
		"claude-sonnet-5-5 sim/claude-between-tools " +
			"copilot/claude-sonnet-5.5 vertex/claude-sonnet-5-5" +
			" bedrock/global.anthropic.claude-sonnet-5-5 bedrock/us.anthropic.claude-sonnet-5-5",
		map[string]string{
			"":        "high model_default effort:high/summarized",
			"off":     "off off_up_front_only off",
			"auto":    "auto as_requested on/summarized",
			"on":      "high as_requested effort:high/summarized",
			"minimal": "low level_not_supported effort:low/summarized",
			"low":     "low as_requested effort:low/summarized",
			"medium":  "medium as_requested effort:medium/summarized",
			"high":    "high as_requested effort:high/summarized",
			"xhigh":   "xhigh as_requested effort:xhigh/summarized",
			"max":     "max as_requested effort:max/summarized",
		},
	},
	{
		"claude-haiku-5-5 " +
			"copilot/claude-haiku-5.5 vertex/claude-haiku-5-5" +
			" bedrock/global.anthropic.claude-haiku-5-5 bedrock/us.anthropic.claude-haiku-5-5",
		map[string]string{
			"":        "medium model_default effort:medium/summarized",
			"off":     "off as_requested off",
			"auto":    "auto as_requested on/summarized",
			"on":      "medium as_requested effort:medium/summarized",
			"minimal": "low level_not_supported effort:low/summarized",
			"low":     "low as_requested effort:low/summarized",
			"medium":  "medium as_requested effort:medium/summarized",
			"high":    "high as_requested effort:high/summarized",
			"xhigh":   "xhigh as_requested effort:xhigh/summarized",
			"max":     "max as_requested effort:max/summarized",
		},
	},
	{
		"claude-opus-4-8 claude-opus-4-7 " +
			"copilot/claude-opus-4.8 copilot/claude-opus-4.7 vertex/claude-opus-4-8 vertex/claude-opus-4-7" +
			" bedrock/global.anthropic.claude-opus-4-8 bedrock/us.anthropic.claude-opus-4-8 bedrock/global.anthropic.claude-opus-4-7 bedrock/us.anthropic.claude-opus-4-7",
		map[string]string{
			"":        "off model_default off",
			"off":     "off as_requested off",
			"auto":    "auto as_requested omit",
			"on":      "medium as_requested effort:medium/summarized",
			"minimal": "low level_not_supported effort:low/summarized",
			"low":     "low as_requested effort:low/summarized",
			"medium":  "medium as_requested effort:medium/summarized",
			"high":    "high as_requested effort:high/summarized",
			"xhigh":   "xhigh as_requested effort:xhigh/summarized",
			"max":     "max as_requested effort:max/summarized",
		},
	},
	{
		"claude-opus-4-6 claude-sonnet-4-6 " +
			"copilot/claude-sonnet-4.6 copilot/claude-opus-4.6 vertex/claude-opus-4-6 vertex/claude-sonnet-4-6" +
			" bedrock/global.anthropic.claude-opus-4-6-v1 bedrock/anthropic.claude-opus-4-6-v1 bedrock/global.anthropic.claude-sonnet-4-6 bedrock/anthropic.claude-sonnet-4-6",
		map[string]string{
			"":        "off model_default off",
			"off":     "off as_requested off",
			"auto":    "auto as_requested omit",
			"on":      "medium as_requested effort:medium/summarized",
			"minimal": "low level_not_supported effort:low/summarized",
			"low":     "low as_requested effort:low/summarized",
			"medium":  "medium as_requested effort:medium/summarized",
			"high":    "high as_requested effort:high/summarized",
			"xhigh":   "high level_not_supported effort:high/summarized",
			"max":     "max as_requested effort:max/summarized",
		},
	},
	{
		"claude-opus-4-5-20251101 claude-opus-4-5 vertex/claude-opus-4-5@20251101" +
			" bedrock/global.anthropic.claude-opus-4-5-20251101-v1:0 bedrock/us.anthropic.claude-opus-4-5-20251101-v1:0",
		map[string]string{
			"":        "off model_default off",
			"off":     "off as_requested off",
			"auto":    "auto as_requested omit",
			"on":      "medium as_requested budget:10000+medium/summarized",
			"minimal": "low level_not_supported budget:4096+low/summarized",
			"low":     "low as_requested budget:4096+low/summarized",
			"medium":  "medium as_requested budget:10000+medium/summarized",
			"high":    "high as_requested budget:32000+high/summarized",
			"xhigh":   "high level_not_supported budget:32000+high/summarized",
			"max":     "high level_not_supported budget:32000+high/summarized",
		},
	},
	{
		"claude-sonnet-4-5-20250929 claude-sonnet-4-5 claude-haiku-4-5-20251001 claude-haiku-4-5 sim/claude-budget " +
			"copilot/claude-haiku-4.5 copilot/claude-opus-4.5 copilot/claude-sonnet-4.5 " +
			"vertex/claude-sonnet-4-5@20250929 vertex/claude-haiku-4-5@20251001" +
			" bedrock/global.anthropic.claude-sonnet-4-5-20250929-v1:0 bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0 bedrock/global.anthropic.claude-haiku-4-5-20251001-v1:0 bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0",
		map[string]string{
			"":        "off model_default off",
			"off":     "off as_requested off",
			"auto":    "auto as_requested omit",
			"on":      "medium as_requested budget:10000/summarized",
			"minimal": "low level_not_supported budget:4096/summarized",
			"low":     "low as_requested budget:4096/summarized",
			"medium":  "medium as_requested budget:10000/summarized",
			"high":    "high as_requested budget:32000/summarized",
			"xhigh":   "high level_not_supported budget:32000/summarized",
			"max":     "high level_not_supported budget:32000/summarized",
		},
	},
}

func TestResolveAnthropic(t *testing.T) {
	catalog := Default()
	covered := map[string]bool{}
	for _, g := range anthropicGrids {
		if len(g.want) != len(provider.AllLevels())+1 {
			t.Errorf("%s: not every level has its line", g.models)
		}
		for _, id := range strings.Fields(g.models) {
			m, err := catalog.Find(id)
			if err != nil || !m.Known {
				t.Errorf("%s: row %+v, error %v", id, m, err)
				continue
			}
			covered[m.Ref()] = true
			for level, want := range g.want {
				if got := brief(Resolve(Ask{Level: provider.Level(level)}, m)); got != want {
					t.Errorf("%s, %q:\n got %s\nwant %s", id, level, got, want)
				}
			}
		}
	}
	for _, m := range catalog.Models() {
		if m.API == "messages" && !covered[m.Ref()] {
			t.Errorf("%s is in no group: write down what its vendor says", m.Ref())
		}
	}
}

func TestResolveAnthropicPolicies(t *testing.T) {
	catalog := Default()
	for _, tt := range []struct {
		id, level, policy string
		want              string
	}{
		{"claude-opus-5-5", "off", "off", "low off_not_supported effort:low/summarized"},
		{"claude-opus-5-5", "off", "provider_default", "auto off_not_supported on/summarized"},
		{"claude-opus-5-5", "off", "error", "error low,medium,high,xhigh,max"},
		{"claude-fable-5-2", "minimal", "off", "low level_not_supported effort:low/summarized"},
		{"claude-sonnet-5-5", "minimal", "off", "off level_not_supported off"},
		{"claude-sonnet-5-5", "off", "error", "off off_up_front_only off"},
		{"claude-opus-4-8", "minimal", "provider_default", "auto level_not_supported omit"},
		{"claude-opus-4-6", "xhigh", "off", "off level_not_supported off"},
		{"claude-opus-4-6", "xhigh", "provider_default", "auto level_not_supported omit"},
		{"claude-sonnet-4-6", "xhigh", "error", "error off,low,medium,high,max"},
		{"claude-opus-4-5", "max", "off", "off level_not_supported off"},
		{"claude-haiku-4-5", "xhigh", "provider_default", "auto level_not_supported omit"},
		{"claude-haiku-4-5", "max", "error", "error off,low,medium,high"},
		{"claude-haiku-5-5", "minimal", "provider_default", "auto level_not_supported on/summarized"},
	} {
		m, err := catalog.Find(tt.id)
		if err != nil {
			t.Fatal(err)
		}
		if got := brief(Resolve(Ask{Level: provider.Level(tt.level), Policy: provider.Policy(tt.policy)}, m)); got != tt.want {
			t.Errorf("%s, %s, policy %s:\n got %s\nwant %s", tt.id, tt.level, tt.policy, got, tt.want)
		}
	}
}

// Facts beside thinking, from docs: models/overview and the sampling rules of docs: thinking.
func TestAnthropicFacts(t *testing.T) {
	const newModels, older = provider.SamplingNever, provider.SamplingNotInThinking
	type facts struct {
		window, output int
		sampling       provider.SamplingRule
		input, outp    float64 // USD per million tokens; 0: not known
		updates        bool    // display can be updates
	}
	want := map[string]facts{
		"claude-fable-5-2":           {1_000_000, 128_000, newModels, 8, 40, true},
		"claude-mythos-5-2":          {1_000_000, 128_000, newModels, 0, 0, true},
		"claude-fable-5-1":           {1_000_000, 128_000, newModels, 10, 50, true},
		"claude-mythos-5-1":          {1_000_000, 128_000, newModels, 0, 0, true},
		"claude-fable-5":             {1_000_000, 128_000, newModels, 10, 50, true},
		"claude-mythos-5":            {1_000_000, 128_000, newModels, 10, 50, false},
		"claude-opus-5-5":            {1_000_000, 128_000, newModels, 4, 20, true},
		"claude-opus-5":              {1_000_000, 128_000, newModels, 5, 25, false},
		"claude-sonnet-5-5":          {1_000_000, 128_000, newModels, 2, 10, true},
		"claude-sonnet-5":            {1_000_000, 128_000, newModels, 2, 10, false},
		"claude-haiku-5-5":           {1_000_000, 128_000, newModels, 0.1, 0.5, false},
		"claude-opus-4-8":            {1_000_000, 128_000, newModels, 5, 25, false},
		"claude-opus-4-7":            {1_000_000, 128_000, newModels, 5, 25, false},
		"claude-opus-4-6":            {1_000_000, 128_000, older, 5, 25, false},
		"claude-sonnet-4-6":          {1_000_000, 128_000, older, 3, 15, false},
		"claude-opus-4-5-20251101":   {200_000, 64_000, older, 5, 25, false},
		"claude-sonnet-4-5-20250929": {200_000, 64_000, older, 3, 15, false},
		"claude-haiku-4-5-20251001":  {200_000, 64_000, older, 1, 5, false},
	}
	for _, m := range Default().Models() {
		if m.Provider != "anthropic" {
			continue
		}
		got := facts{window: m.Window, output: m.MaxOutput, sampling: m.Sampling}
		if m.Price != nil {
			got.input, got.outp = m.Price.Input, m.Price.Output
		}
		for _, d := range m.Thinking.Display {
			got.updates = got.updates || d == provider.Updates
		}
		if got != want[m.ID] {
			t.Errorf("%s:\n got %+v\nwant %+v", m.ID, got, want[m.ID])
		}
		delete(want, m.ID)
	}
	for id := range want {
		t.Errorf("%s: no row", id)
	}
}

// Rows that take the beginning of an answer, from docs: models up to 4.5 do, while thinking is off, and later ones never do.
// No other wire API documents that its models go on with a text.
func TestPrefill(t *testing.T) {
	var got []string
	for _, m := range Default().Models() {
		if m.Prefill == provider.PrefillNotInThinking {
			got = append(got, m.Ref())
		}
	}
	want := []string{"anthropic/claude-haiku-4-5-20251001", "anthropic/claude-opus-4-5-20251101", "anthropic/claude-sonnet-4-5-20250929", "sim/claude-budget",
		"vertex/claude-haiku-4-5@20251001", "vertex/claude-opus-4-5@20251101", "vertex/claude-sonnet-4-5@20250929"}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("prefill: %q, not %q", got, want)
	}
	moved := Row{ID: "claude-haiku-4-5", API: "chat"}.over(Default().Model("anthropic", "claude-haiku-4-5"), "anthropic")
	if moved.Prefill != provider.PrefillNever {
		t.Errorf("a row that moves to another wire API keeps prefill %q", moved.Prefill)
	}
}
