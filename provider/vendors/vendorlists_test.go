package vendors_test

import (
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/registry"
)

// listingVendors are the vendors whose lists a refresh asks for: first one for each function that reads lists.
var listingVendors = []string{"anthropic", "openai", "gemini", "openrouter", "copilot", "chatgpt", "deepseek", "xai", "groq", "mistral", "moonshot", "zai",
	"minimax", "dashscope"}

// listReaders is how many of listingVendors have code of their own that reads the list.
const listReaders = 6

// vendorList is a list in the vendor's form; each entry is an id, and members that go beside it.
func vendorList(vendor string, entries ...[2]string) string {
	var rows []string
	for _, e := range entries {
		row := fmt.Sprintf(`"id":%s`, e[0])
		switch vendor {
		case "gemini":
			row = fmt.Sprintf(`"name":%s,"supportedGenerationMethods":["generateContent"],"thinking":true`, e[0])
		case "copilot":
			row += `,"capabilities":{"type":"chat","supports":{"tool_calls":true}}`
		case "chatgpt":
			row = fmt.Sprintf(`"slug":%s`, e[0])
		}
		rows = append(rows, "{"+row+e[1]+"}")
	}
	member := "data"
	if vendor == "gemini" || vendor == "chatgpt" {
		member = "models"
	}
	return fmt.Sprintf(`{"object":"list",%q:[%s]}`, member, strings.Join(rows, ","))
}

// TestVendorLists asks each vendor's list of a stand-in that answers with a new model, a broken list, 8 MiB, and entries
// that nobody can mean.
func TestVendorLists(t *testing.T) {
	t.Parallel()
	var list atomic.Pointer[string]
	vendor := sim.New(sim.Config{})
	address := proof.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text := list.Load(); text != nil && r.Method == http.MethodGet && path.Base(r.URL.Path) == "models" {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, *text)
			return
		}
		vendor.ServeHTTP(w, r)
	}))
	l, _ := listingsAt(t, proof.StandInConfig(address), t.TempDir(), proof.StandInEnvironment)
	ask := func(of, text string) (registryRefresh, []registry.Change) {
		t.Helper()
		list.Store(&text)
		r, err := l.Refresh(t.Context(), of)
		if err != nil || len(r.Lists) != 1 {
			t.Fatalf("%s: %+v, %v", of, r, err)
		}
		return registryRefresh{r.Lists[0].Error, r.Lists[0].Skipped}, r.Changes
	}
	has := func(of, id string) (provider.Model, bool) {
		all := l.Current().Catalog().ModelsOf(of)
		i := slices.IndexFunc(all, func(m provider.Model) bool { return m.ID == id })
		if i < 0 {
			return provider.Model{}, false
		}
		return all[i], true
	}
	huge := fmt.Sprintf(`{"data":[],"models":[],"x":%q}`, strings.Repeat("a", 8<<20)) // made once: it costs much with the race detector
	for i, of := range listingVendors {
		rows := len(l.Current().Catalog().ModelsOf(of))
		got, changes := ask(of, vendorList(of, [2]string{`"brand-new-9"`}))
		m, ok := has(of, "brand-new-9")
		if got.err != "" || len(got.skipped) > 0 || !ok || m.Input != nil && len(m.Input) == 0 {
			t.Errorf("%s: a new model: %+v, %v, %+v", of, got, ok, m)
		}
		if !slices.ContainsFunc(changes, func(c registry.Change) bool { return c.Model == of+"/brand-new-9" && c.Fact == "model" }) {
			t.Errorf("%s: a new model: the changes are %+v", of, changes)
		}
		if s := m.Facts.Levels.State; of != "copilot" && of != "chatgpt" && m.Known && m.Source == provider.FromRefreshed && s != provider.FactConfirmed {
			t.Errorf("%s: a guess is called the list's: %+v", of, m.Facts)
		}

		// A broken list and a huge one are refused whole, and what the host listed before stays.
		refused := map[string]string{vendorList(of, [2]string{`"other"`})[:30]: "", `{"data":7,"models":7}`: "no list of models", `<html>`: ""}
		if i < listReaders {
			refused[huge] = "larger than 8 MiB"
		}
		for broken, why := range refused {
			got, _ := ask(of, broken)
			if _, ok := has(of, "brand-new-9"); got.err == "" || !strings.Contains(got.err, why) || !ok || len(got.err) > 500 {
				t.Errorf("%s: %.60q: %+v; the list before is still used: %v", of, broken, got, ok)
			}
		}

		// Entries that nobody can mean are left out or say nothing.
		nonsense := `,"pricing":{"prompt":"-1","completion":"-5"},"context_length":-7,"context_window":-7,"max_input_tokens":-1,"inputTokenLimit":-9,` +
			`"shutdown_date":"soon","architecture":{"input_modalities":["smell","\u0007"]},"display_name":"Red \u001b[31m"`
		got, _ = ask(of, vendorList(of, [2]string{`"bell\u0007"`}, [2]string{`"two words"`}, [2]string{`"` + strings.Repeat("long", 100) + `"`},
			[2]string{`"\u001b]0;x\u0007"`}, [2]string{`"plain"`, nonsense}, [2]string{`"plain"`, nonsense}))
		if got.err != "" || len(got.skipped) != 4 {
			t.Errorf("%s: nonsense: %+v", of, got)
		}
		for _, m := range l.Current().Catalog().ModelsOf(of) {
			if strings.ContainsFunc(m.ID+m.Name, unicode.IsControl) || m.Window < 0 || m.MaxOutput < 0 || m.Price != nil && m.Price.Check() != nil ||
				slices.Contains(m.Input, "smell") || m.Lifecycle != nil && m.Lifecycle.Retires == "soon" {
				t.Errorf("%s: %+v", of, m)
			}
		}
		for _, line := range got.skipped {
			if strings.ContainsFunc(line, unicode.IsControl) || len(line) > 400 {
				t.Errorf("%s: skipped: %q", of, line)
			}
		}
		if n := len(l.Current().Catalog().ModelsOf(of)); n < rows || n > rows+1 {
			t.Errorf("%s: %d rows of %d", of, n, rows)
		}
	}

	// A changed price and a retired model, where lists have them.
	_, changes := ask("openrouter", vendorList("openrouter", [2]string{`"anthropic/claude-sonnet-5"`, `,"pricing":{"prompt":"0.000007","completion":"0.00009"}`}))
	if !slices.ContainsFunc(changes, func(c registry.Change) bool {
		return c.Model == "openrouter/anthropic/claude-sonnet-5" && c.Fact == "price" && c.To == "7/90" && c.Is.Source == "list of openrouter"
	}) {
		t.Errorf("a changed price: %+v", changes)
	}
	for _, tt := range []struct{ of, id, members, want string }{
		{"anthropic", "claude-opus-4-6", `,"lifecycle":"retired","retires_at":"2026-11-01T00:00:00Z"`, "retired 2026-11-01"},
		{"openai", "gpt-5.4", `,"shutdown_date":"2027-06-01"`, "deprecated 2027-06-01"},
		{"mistral", "mistral-large-4", `,"deprecation":"2027-07-01T00:00:00Z"`, "deprecated 2027-07-01"},
	} {
		_, changes := ask(tt.of, vendorList(tt.of, [2]string{`"` + tt.id + `"`, tt.members}))
		if !slices.ContainsFunc(changes, func(c registry.Change) bool {
			return c.Model == tt.of+"/"+tt.id && c.Fact == "lifecycle" && c.To == tt.want
		}) {
			t.Errorf("%s: a model that retires: %+v", tt.of, changes)
		}
		if m, _ := has(tt.of, tt.id); (m.Lifecycle != nil && m.Lifecycle.Gone) != (tt.of == "anthropic") {
			t.Errorf("%s: %+v", m.Ref(), m.Lifecycle)
		}
	}
}

// registryRefresh is what became of one list.
type registryRefresh struct {
	err     string
	skipped []string
}
