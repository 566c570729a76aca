package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
)

var today = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// extracts are the committed extracts of the three tables: see testdata/README.md.
var extracts = []string{"testdata/litellm-2026-07-24.json", "testdata/models.dev-2026-07-01.json", "testdata/models.dev-2026-10-07.json", "testdata/pi-ai-2026-11-10.json"}

// Nothing differs from the committed extracts but what accepted.json explains or what is newer in the catalog, no model is
// absent without a reason, and each explanation is of a difference that is there.
func TestDrift(t *testing.T) {
	var out strings.Builder
	open, err := run(&out, extracts, true, today)
	if err != nil {
		t.Fatal(err)
	}
	if open > 0 {
		for line := range strings.Lines(out.String()) {
			if !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "absent") {
				t.Log(line)
			}
		}
		t.Errorf("%d differences are not explained: correct the catalog, or say in accepted.json why it is right", open)
	}
	reasons, err := accepted()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "; 0 models are not in the catalog") {
		t.Errorf("models are absent without a reason: add them, or say why they are not carried: %s", out.String()[strings.LastIndex(strings.TrimSpace(out.String()), "\n")+1:])
	}
	for k := range reasons {
		if k.Model != "*" && !strings.Contains(out.String(), " "+k.Vendor+"/"+k.Model+": "+k.Field+": ") {
			t.Errorf("accepted.json explains a difference that is not there: %v", k)
		}
	}
}

// docs/models.md is what the command makes of the catalog.
func TestPage(t *testing.T) {
	rows, err := readTables(extracts)
	if err != nil {
		t.Fatal(err)
	}
	want, err := page(rows, pageDay)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/models.md")
	if err != nil || string(got) != want {
		t.Errorf("docs/models.md is not that of the catalog (%v): run go generate ./registry/drift", err)
	}
	// What is not decided is listed, and its row is not called confirmed.
	var open []undecided
	if err := json.Unmarshal(undecidedJSON, &open); err != nil {
		t.Fatal(err)
	}
	catalog := registry.Default()
	for _, u := range open {
		m := catalog.Model(u.Vendor, u.Model)
		if !m.Known || u.Field == "levels" && m.Facts.Levels.State != provider.FactTable {
			t.Errorf("%+v: its row has %+v", u, m.Facts)
		}
	}
	reasons, err := accepted()
	if err != nil {
		t.Fatal(err)
	}
	for k, why := range reasons {
		if m := catalog.Model(k.Vendor, k.Model); k.Field == "levels" && why.Right == "unclear" && m.Facts.Levels.State != provider.FactTable {
			t.Errorf("%+v: its row has %+v", k, m.Facts)
		}
	}
}

// A row in the form of each table says the same.
func TestForms(t *testing.T) {
	yes := true
	want := []row{{vendor: "gemini", id: "m", window: 1000, output: 100, input: []string{"image", "text"}, thinks: &yes,
		price: &provider.Price{Rates: provider.Rates{Input: 1, Output: 5, CachedInput: 0.5, CacheWrite: 2},
			Tiers: []provider.PriceTier{{Above: 200_000, Rates: provider.Rates{Input: 2, Output: 10, CachedInput: 1}}}}}}
	for name, table := range map[string]string{
		"models.dev": `{"google":{"id":"google","models":{"m":{"id":"m","reasoning":true,"limit":{"context":1000,"output":100},"modalities":{"input":["text","image"]},
			"cost":{"input":1,"output":5,"cache_read":0.5,"cache_write":2,"context_over_200k":{"input":2,"output":10,"cache_read":1}}}}},"nobody":{"models":{"x":{}}}}`,
		"pi-ai": `{"google":{"m":{"provider":"google","id":"m","reasoning":true,"contextWindow":1000,"maxTokens":100,"input":["text","image"],
			"cost":{"input":1,"output":5,"cacheRead":0.5,"cacheWrite":2,"tiers":[{"inputTokensAbove":200000,"input":2,"output":10,"cacheRead":1}]}},
			"chat:x":{"type":"classifier","provider":"google","id":"x","contextWindow":1}}}`,
		"litellm": `{"sample_spec":{"mode":"x"},"gemini/m":{"litellm_provider":"gemini","mode":"chat","supports_reasoning":true,"supports_vision":true,"max_input_tokens":1000,"max_output_tokens":100,
			"input_cost_per_token":1e-6,"output_cost_per_token":5e-6,"cache_read_input_token_cost":5e-7,"cache_creation_input_token_cost":2e-6,
			"input_cost_per_token_above_200k_tokens":2e-6,"output_cost_per_token_above_200k_tokens":1e-5,"cache_read_input_token_cost_above_200k_tokens":1e-6},
			"gemini/embed":{"litellm_provider":"gemini","mode":"embedding"}}`,
	} {
		got, err := readTable([]byte(table))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want[0].promptOnly = name == "litellm"
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, broken := range []string{``, `{`, `[]`, `{"a":1}`, `{"a":{"b":{"provider":"google"}}}`} {
		if _, err := readTable([]byte(broken)); err == nil {
			t.Errorf("%q is taken for a table", broken)
		}
	}
}

// Each kind of difference is seen, and the severe ones come first.
func TestCompare(t *testing.T) {
	no := false
	price := &provider.Price{Rates: provider.Rates{Input: 1, Output: 5, CachedInput: 0.5}, Tiers: []provider.PriceTier{{Above: 100, Rates: provider.Rates{Input: 2, Output: 6}}},
		Peak: &provider.PeakHours{Factor: 2, Hours: [][2]int{{0, 1}}}}
	ours := []provider.Model{{Provider: "v", ID: "m", Window: 10, Input: []string{"text"}, Price: price, Thinking: provider.Capability{Control: provider.ControlAlways}}}
	ours[0].Known = true
	find := func(vendor, id string) provider.Model {
		if vendor == "v" && id == "m" {
			return ours[0]
		}
		return provider.Model{}
	}
	rates := func(in, out float64) *provider.Price {
		return &provider.Price{Rates: provider.Rates{Input: in, Output: out}}
	}
	var got []string
	for _, d := range compare(find, []row{
		{vendor: "v", id: "m", window: 20, output: 30, input: []string{"image", "text"}, thinks: &no, price: rates(1, 5)},
		{vendor: "v", id: "other"},
	}, today) {
		got = append(got, d.String())
	}
	want := []string{
		"wrong   v/m: context_window: catalog 10, table 20",
		"wrong   v/m: price: catalog 2/6 cached 0 write 0 above 100, table 1/5 cached 0 write 0 above 100",
		"wrong   v/m: thinking: catalog true, table false",
		"missing v/m: max_output_tokens: catalog -, table 30",
		"kinds   v/m: input: catalog text, table image text",
		"absent  v/other: model: catalog -, table has it",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	plain := &provider.Price{Rates: price.Rates, Peak: price.Peak}
	ours[0].Price = plain
	for _, theirs := range []*provider.Price{rates(1, 5), rates(2, 10)} {
		if list := compare(find, []row{{vendor: "v", id: "m", price: theirs}}, today); len(list) > 0 {
			t.Errorf("the price of either hour differs: %v", list)
		}
	}
}

// A table loses to a fact of the catalog that is a month newer, and to a newer table that agrees with the catalog. What it
// says of a fact that nobody else has is shown.
func TestOlderTables(t *testing.T) {
	fact := func(day string) provider.Fact { return provider.Fact{State: provider.FactConfirmed, AsOf: day} }
	model := provider.Model{Provider: "v", ID: "m", Known: true, Window: 10, MaxOutput: 5, Facts: provider.Facts{Limits: fact("2026-11-20")}}
	find := func(string, string) provider.Model { return model }
	day := func(text string) time.Time {
		at, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, test := range []struct {
		name  string
		facts provider.Fact
		rows  []row
		older bool
	}{
		{"a fresh table", fact("2026-11-20"), []row{{window: 20, asOf: day("2026-11-10")}}, false},
		{"an old table", fact("2026-11-20"), []row{{window: 20, asOf: day("2026-07-01")}}, true},
		{"a table without a day", fact("2026-11-20"), []row{{window: 20}}, false},
		{"a fact from an old table", provider.Fact{State: provider.FactTable, Source: "docs; window: models.dev 2026-07-02", AsOf: "2026-11-20"}, []row{{window: 20, asOf: day("2026-07-24")}}, false},
		{"a newer table that agrees", fact("2026-07-01"), []row{{window: 20, asOf: day("2026-07-24")}, {window: 10, asOf: day("2026-11-10")}}, true},
		{"an older table that agrees", fact("2026-07-01"), []row{{window: 10, asOf: day("2026-07-24")}, {window: 20, asOf: day("2026-11-10")}}, false},
		{"of two that differ the newer one", fact("2026-11-20"), []row{{window: 20, asOf: day("2026-07-24")}, {window: 30, asOf: day("2026-11-10")}}, false},
		{"a prompt's share of the window", fact("2026-11-20"), []row{{window: 5, promptOnly: true, asOf: day("2026-11-10")}, {window: 20, asOf: day("2026-07-24")}}, true},
	} {
		model.Facts.Limits = test.facts
		list := compare(find, test.rows, today)
		if len(list) != 1 || list[0].older != test.older {
			t.Errorf("%s: %v", test.name, list)
		}
	}
}

// Levels differ only where the table says something of them, and only for models that take efforts.
func TestLevels(t *testing.T) {
	model := provider.Model{Known: true, Thinking: provider.Capability{Control: provider.ControlEffort, Levels: []provider.Level{provider.Off, provider.Low, provider.High}}}
	find := func(string, string) provider.Model { return model }
	for table, want := range map[string]string{
		`{"anthropic":{"m":{"provider":"anthropic","id":"m","contextWindow":0,"thinkingLevelMap":{"off":"none","minimal":"low","high":"high","max":null}}}}`: "",
		`{"anthropic":{"m":{"provider":"anthropic","id":"m","contextWindow":0,"thinkingLevelMap":{"off":null,"medium":"high"}}}}`:                            "high (not off)",
		`{"anthropic":{"models":{"m":{"reasoning_options":[{"type":"effort","values":["none","low","high"]}]}}}}`:                                            "",
		`{"anthropic":{"models":{"m":{"reasoning_options":[{"type":"effort","values":["low","high","max"]}]}}}}`:                                             "low high max (not minimal medium xhigh)",
		`{"m":{"litellm_provider":"anthropic","supports_none_reasoning_effort":true,"supports_xhigh_reasoning_effort":false}}`:                               "",
		`{"m":{"litellm_provider":"anthropic","supports_xhigh_reasoning_effort":true}}`:                                                                      "xhigh",
	} {
		rows, err := readTable([]byte(table))
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			rows[i].thinks = nil
		}
		got := ""
		for _, d := range compare(find, rows, today) {
			got += d.theirs
		}
		if got != want {
			t.Errorf("%s: %q, want %q", table, got, want)
		}
	}
	model.Thinking.Control = provider.ControlBudget
	if list := compare(find, []row{{vendor: "v", id: "m", levels: map[provider.Level]bool{provider.Max: true}}}, today); len(list) > 0 {
		t.Errorf("a budget differs in efforts: %v", list)
	}
}
