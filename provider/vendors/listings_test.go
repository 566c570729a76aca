package vendors_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/vendors"
	"github.com/thinkd/thinkd/registry"
)

// listingsAt opens what a configuration names, over a directory; what is logged is returned.
func listingsAt(t *testing.T, config, dir string, getenv func(string) string) (*vendors.Listings, *strings.Builder) {
	t.Helper()
	c, err := loadConfig(proof.WriteConfig(t, config), getenv)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	log := slog.New(slog.NewTextHandler(&text, nil))
	value := durable.Value(durable.NewMemory(nil))
	if dir != "" {
		value = durable.File{Path: filepath.Join(dir, "models.json")}
	}
	kept := vendors.ReadKept(value, log)
	catalog, err := kept.Catalog(c.Providers, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := vendors.Open(c.Providers, c.Dialects, noKeys(t), catalog, discard)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	l, err := vendors.OpenListings(c.Providers, c.ModelsDev, kept, p, value, log)
	if err != nil {
		t.Fatal(err)
	}
	return l, &text
}

// refreshed asks the hosts, and returns what became of each.
func refreshed(t *testing.T, l *vendors.Listings, providerID string) ([]registry.Refreshed, error) {
	t.Helper()
	r, err := l.Refresh(t.Context(), providerID)
	return r.Lists, err
}

// servedAs serves a text of a type at any path.
func servedAs(t *testing.T, kind, text string) string {
	return proof.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		io.WriteString(w, text)
	}))
}

// TestRefresh asks all vendors at their stand-ins. Their lists add and correct; nothing is taken away; what the stand-in
// of a vendor says of thinking agrees with the catalog, which was written from the same pages by another hand.
func TestRefresh(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := proof.StandInConfig(proof.Serve(t, sim.New(sim.Config{})))
	l, _ := listingsAt(t, config, dir, proof.StandInEnvironment)
	before := l.Current().Catalog()
	done, err := refreshed(t, l, "")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range done {
		names = append(names, r.Provider)
		if r.Error != "" || len(r.Skipped) > 0 || r.Models == 0 || r.AsOf != provider.Today() {
			t.Errorf("%+v", r)
		}
	}
	for _, name := range []string{"ollama", "lmstudio", "llamacpp"} { // a busy machine may be too late for the first question to a local server
		for late := time.Now().Add(proof.Patience); !slices.Contains(names, name) && time.Now().Before(late); proof.Moment(50 * time.Millisecond) {
			if r, err := refreshed(t, l, name); err == nil && r[0].Error == "" {
				names = append(names, name)
			}
		}
	}
	for _, name := range append(slices.Clone(listingVendors), "ollama", "lmstudio", "llamacpp") {
		if !slices.Contains(names, name) {
			t.Errorf("%s was not asked", name)
		}
	}
	after := l.Current().Catalog()
	refreshed := 0
	for _, was := range before.Models() {
		is := after.Model(was.Provider, was.ID)
		if was.Known && !is.Known {
			t.Errorf("%s is gone", was.Ref())
		}
		if is.Source == provider.FromRefreshed {
			refreshed++
		}
		if was.Provider == "anthropic" || was.Provider == "gemini" {
			if got, want := fmt.Sprint(is.Thinking), fmt.Sprint(was.Thinking); got != want || is.Source != provider.FromRefreshed {
				t.Errorf("%s: its vendor's list makes of\n%s\nthis, from %s:\n%s", was.Ref(), want, is.Source, got)
			}
		}
	}
	if refreshed < 50 || len(after.Models()) <= len(before.Models()) {
		t.Errorf("%d rows refreshed, %d of %d models", refreshed, len(before.Models()), len(after.Models()))
	}

	// It is kept for this user alone, and another daemon knows it without asking.
	info, err := os.Stat(filepath.Join(dir, "models.json"))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	again, text := listingsAt(t, config, dir, proof.StandInEnvironment)
	if m := again.Current().Model("anthropic", "claude-opus-5-5"); m.Source != provider.FromRefreshed || text.Len() > 0 {
		t.Errorf("after a start: %+v; logged: %s", m, text)
	}
}

// TestRefreshFails asks hosts of which some are gone or have no list: each failure names its provider, its earlier
// list still applies, and the lists of the others are taken.
func TestRefreshFails(t *testing.T) {
	t.Parallel()
	vendor := proof.Serve(t, sim.New(sim.Config{}))
	config := func(gemini, kimi, models string) string {
		return `models_dev = "` + models + `"
[providers.anthropic]
base_url = "` + vendor + `"
[providers.gemini]
base_url = "` + gemini + `"
[providers.moonshot]
base_url = "` + kimi + `"
[providers.azure]
base_url = "https://own.example.com/openai/v1"
[providers.openrouter]
base_url = "` + servedAs(t, "application/json", `{"data":[{"id":"acme/muse","reasoning":{"supported_efforts":["low"]}},
	{"id":"acme/odd","reasoning":{"supported_efforts":["high","low"],"mandatory":true},"pricing":{"prompt":"0.000001","completion":"0.000001"},"architecture":{"input_modalities":["text"]}}]}`) + `"`
	}
	env := func(name string) string {
		if slices.Contains([]string{"ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MOONSHOT_API_KEY", "OPENROUTER_API_KEY", "AZURE_OPENAI_API_KEY"}, name) {
			return "sk-canary"
		}
		return proof.Environment(proof.NobodyHere...)(name)
	}
	dir := t.TempDir()
	html := servedAs(t, "text/html", "<!DOCTYPE html><title>sign in</title>")
	l, text := listingsAt(t, config(proof.Nobody, html, html), dir, env)
	done, err := refreshed(t, l, "")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"anthropic": "", "openrouter": "", "gemini": "gemini: ", "moonshot": "moonshot: status 200: the answer is an HTML page",
		"models.dev": "models.dev: status 200: the answer is an HTML page"}
	for _, r := range done {
		begin, ok := want[r.Provider]
		delete(want, r.Provider)
		if !ok || (begin == "") != (r.Error == "") || !strings.HasPrefix(r.Error, begin) || strings.Contains(r.Error, "canary") {
			t.Errorf("%+v", r)
		}
	}
	if len(want) > 0 {
		t.Errorf("nothing is said of %v", want)
	}
	if m := l.Current().Model("openrouter", "acme/muse"); m.Source != provider.FromRefreshed {
		t.Errorf("what went well: %+v", m)
	}
	if m := l.Current().Model("gemini", "gemini-3.8-flash"); m.Source != provider.FromCatalog {
		t.Errorf("what did not: %+v", m)
	}
	if text.Len() > 0 {
		t.Errorf("logged: %s", text)
	}

	// By its name, a host that cannot be asked says why.
	for id, why := range map[string]string{"azure": "azure: the host does not list", "groq": "groq: no key", "sglang": "sglang: nothing answers"} {
		done, err := refreshed(t, l, id)
		if err != nil || len(done) != 1 || !strings.HasPrefix(done[0].Error, why) {
			t.Errorf("%s: %+v, %v", id, done, err)
		}
	}

	// The error for a stored row that contradicts itself names provider and model. The other rows apply.
	path := filepath.Join(dir, "models.json")
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	spoilt := strings.Replace(string(kept), `"levels":["low","medium","high","xhigh","max"]`, `"levels":["low","huge"]`, 1)
	if err := os.WriteFile(path, []byte(spoilt), 0o600); err != nil || spoilt == string(kept) {
		t.Fatal(err)
	}
	l, text = listingsAt(t, config(proof.Nobody, html, html), dir, env)
	if !strings.Contains(text.String(), `provider anthropic: model \"claude-fable-5-2\": thinking.levels: \"huge\" is not a level`) {
		t.Errorf("logged: %s", text)
	}
	if m := l.Current().Model("anthropic", "claude-fable-5-2"); m.Source != provider.FromCatalog {
		t.Errorf("%+v", m)
	}
	if m := l.Current().Model("anthropic", "claude-opus-5"); m.Source != provider.FromRefreshed {
		t.Errorf("%+v", m)
	}

	// So is one of the configuration, which then does not start half.
	_, err = loadConfig(proof.WriteConfig(t, "[[providers.anthropic.models]]\nid = \"claude-opus-5\"\nthinking = { levels = [\"low\", \"huge\"] }"), env)
	if err == nil || !strings.Contains(err.Error(), `:3: providers.anthropic.models.thinking.levels: model "claude-opus-5": "huge" is not a level`) {
		t.Errorf("a wrong level in the configuration: %v", err)
	}
}

// TestModelsDev takes a database of others for what nobody else tells.
func TestModelsDev(t *testing.T) {
	t.Parallel()
	doc := `{"anthropic":{"id":"anthropic","models":{
		"claude-opus-5-5":{"id":"claude-opus-5-5","reasoning":true,"reasoning_options":[{"type":"toggle"}],"limit":{"context":7,"output":7},"cost":{"input":9,"output":9}},
		"claude-haiku-5-5":{"id":"claude-haiku-5-5","cost":{"input":0.1,"output":0.5,"cache_read":0.01}},
		"claude-opus-6":{"id":"claude-opus-6","name":"Claude Opus 6","reasoning":true,"reasoning_options":[{"type":"effort","values":["high","low","none","ultra"]},{"type":"smell"}],"tool_call":true,
			"modalities":{"input":["text","image","smell"],"output":["text"]},"limit":{"context":2000000,"output":128000},"cost":{"input":4,"output":20}},
		"claude-budget":{"reasoning":true,"reasoning_options":[{"type":"toggle"},{"type":"budget_tokens","min":1024,"max":32000}]},
		"claude-plain":{"reasoning":false},
		"claude-painter":{"modalities":{"output":["image"]}}}},
		"google":{"models":{"gemini-9":{"reasoning":true}}},
		"elsewhere":{"models":{"x":{}}}}`
	l, _ := listingsAt(t, `models_dev = "`+servedAs(t, "application/json", doc)+`"`, t.TempDir(), proof.Environment(proof.NobodyHere...))
	done, err := refreshed(t, l, "")
	if err != nil || len(done) != 1 || done[0].Provider != "models.dev" || done[0].Models != 6 || done[0].Error != "" {
		t.Fatalf("%+v, %v", done, err)
	}
	row := func(vendor, id string) provider.Model { return l.Current().Model(vendor, id) }
	if m := row("anthropic", "claude-opus-5-5"); m.Window != 1_000_000 || m.Price.Input != 4 || m.Thinking.Control != provider.ControlEffort || m.Source != provider.FromCatalog {
		t.Errorf("the vendor's own page comes first: %+v", m)
	}
	if m := row("anthropic", "claude-haiku-5-5"); m.Price == nil || m.Price.CachedInput != 0.01 {
		t.Errorf("what the page does not state: %+v", m)
	}
	if m := row("anthropic", "claude-opus-6"); m.Name != "Claude Opus 6" || m.Window != 2_000_000 || fmt.Sprint(m.Thinking.Levels) != "[off low high]" ||
		fmt.Sprint(m.Input) != "[text image]" || m.Source != provider.FromRefreshed {
		t.Errorf("a model of which no page speaks: %+v", m)
	}
	if m := row("anthropic", "claude-budget"); m.Thinking.Control != provider.ControlBudget || !m.Thinking.CanDisable() || m.Thinking.BudgetMax != 32_000 {
		t.Errorf("%+v", m)
	}
	if m := row("anthropic", "claude-plain"); !m.Known || m.Thinking.Thinks() {
		t.Errorf("%+v", m)
	}
	if m := row("gemini", "gemini-9"); m.Known {
		t.Errorf("a model that thinks nobody knows how: %+v", m)
	}
	for kind, text := range map[string]string{"no database": `{"data":[]}`, "no JSON": `{`} {
		l, _ := listingsAt(t, `models_dev = "`+servedAs(t, "application/json", text)+`"`, "", proof.Environment(proof.NobodyHere...))
		if done, err := refreshed(t, l, ""); err != nil || len(done) != 1 || !strings.HasPrefix(done[0].Error, "models.dev: ") {
			t.Errorf("%s: %+v, %v", kind, done, err)
		}
	}
}

// The short form of a model file is a row of the configuration.
func TestPlainRows(t *testing.T) {
	c, err := loadConfig(proof.WriteConfig(t, `
[providers.mine]
api = "chat"
base_url = "https://llm.example.com/v1"
[[providers.mine.models]]
id = "muse"
reasoning = true
[[providers.mine.models]]
id = "qwen3.6-27b"
reasoning = true
[[providers.mine.models]]
id = "calm"
reasoning = true
thinking = { enabled = false }
[[providers.mine.models]]
id = "measured"
reasoning = true
thinking = { budget_tokens = 6000 }
[[providers.mine.models]]
id = "plain"
reasoning = false
`), proof.Environment())
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := vendors.Catalog(c.Providers, nil)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"muse":        "medium, by medium as effort",
		"qwen3.6-27b": "on, by  as on",
		"calm":        "off, by  as off",
		"measured":    "medium, by  as budget 6000",
		"plain":       "off, by  as omit",
	} {
		d, err := registry.Resolve(registry.Ask{}, catalog.Model("mine", id))
		got := fmt.Sprintf("%s, by %s as %s", d.Effective, d.Control.Effort, d.Control.Mode)
		if d.Control.Budget > 0 {
			got += fmt.Sprint(" ", d.Control.Budget)
		}
		if err != nil || got != want {
			t.Errorf("%s: %s (%v), want %s", id, got, err, want)
		}
	}
}

// The catalog has rows for all vendors whose models can be known beforehand.
func TestCatalogIsLarge(t *testing.T) {
	rows := map[string]int{}
	total := 0
	for _, m := range registry.Default().Models() {
		if m.Provider != vendors.Simulator {
			rows[m.Provider]++
			total++
		}
	}
	for _, m := range registry.Default().Models() {
		if problem := vendors.CheckDialect(m.API, m.Dialect, nil); vendors.CheckAPI(m.API) != "" || problem != "" || m.Dialect == "" {
			t.Errorf("%s is spoken to in %s, dialect %q: %s", m.Ref(), m.API, m.Dialect, problem)
		}
	}
	for _, v := range registry.Vendors() {
		if rows[v.ID] == 0 && !v.Live && v.ID != vendors.Simulator && v.ID != "azure" {
			t.Errorf("no row of %s", v.ID)
		}
	}
	if total < 150 {
		t.Errorf("%d rows", total)
	}
}

// TestLearned keeps what a host's refusals say: it applies at once and after a restart, at that address only, for 30
// days, and a list does not replace it.
func TestLearned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(address string) string {
		return "models_dev = \"\"\n[providers.openai]\nbase_url = \"" + address + "\""
	}
	env := proof.Environment(proof.NobodyHere...)
	l, _ := listingsAt(t, at("https://one.example.com/v1"), dir, env)
	l.Learn("openai", "gpt-6.1-sol", provider.Learned{Window: 100_000})
	l.Learn("openai", "gpt-6.1-sol", provider.Learned{Levels: []provider.Level{"low", "high"}})
	l.Learn("nobody", "x", provider.Learned{Window: 1})
	check := func(when string, l *vendors.Listings, learned bool) {
		t.Helper()
		m := l.Current().Model("openai", "gpt-6.1-sol")
		is := m.Window == 100_000 && fmt.Sprint(m.Thinking.Levels) == "[low high]" && m.Facts.Levels.State == provider.FactLearned && m.Facts.Limits.State == provider.FactLearned
		if is != learned {
			t.Errorf("%s: window %d, levels %v, facts %+v", when, m.Window, m.Thinking.Levels, m.Facts)
		}
	}
	check("at once", l, true)
	again, text := listingsAt(t, at("https://one.example.com/v1"), dir, env)
	check("after a start", again, true)
	elsewhere, _ := listingsAt(t, at("https://two.example.com/v1"), dir, env)
	check("at another address", elsewhere, false)
	if text.Len() > 0 {
		t.Errorf("logged: %s", text)
	}

	// The same again changes nothing, and what is older than 30 days does not count.
	before := again.Current().Catalog()
	again.Learn("openai", "gpt-6.1-sol", provider.Learned{Window: 100_000})
	if again.Current().Catalog() != before {
		t.Error("the same refusal made another catalog")
	}
	path := filepath.Join(dir, "models.json")
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	day := func(back int) string { return time.Now().UTC().AddDate(0, 0, -back).Format(time.DateOnly) }
	for back, counts := range map[int]bool{29: true, 32: false} {
		old := strings.ReplaceAll(string(kept), `"as_of":"`+day(0)+`"`, `"as_of":"`+day(back)+`"`)
		if old == string(kept) {
			t.Fatal("the file has no lesson of today")
		}
		if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
			t.Fatal(err)
		}
		later, _ := listingsAt(t, at("https://one.example.com/v1"), dir, env)
		check(fmt.Sprint(back, " days later"), later, counts)
	}
}
