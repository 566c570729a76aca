package vendors_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/vendors"
	"github.com/thinkd/thinkd/registry"
)

// bodyOf calls a model of a provider that is configured like this, and returns the body and the notices.
func bodyOf(t *testing.T, api, settings string, log *slog.Logger) (body []byte, notices []string) {
	t.Helper()
	bodies := make(chan []byte, 4)
	host := proof.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- body
		w.Header().Set("Content-Type", "text/event-stream") // and an answer that breaks off
	}))
	c, err := loadConfig(proof.WriteConfig(t, fmt.Sprintf("[providers.host]\napi = %q\nbase_url = %q\napi_key_env = \"KEY\"\n%s", api, host, settings)), proof.Environment("KEY=sk"))
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := vendors.Catalog(c.Providers, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := vendors.Open(c.Providers, c.Dialects, noKeys(t), catalog, log)
	defer p.Close()
	m := catalog.Model("host", "m")
	d, err := registry.Resolve(registry.Ask{Level: provider.High}, m)
	if err != nil {
		t.Fatal(err)
	}
	temperature, seed, yes := 0.5, int32(7), true
	req := &provider.Request{Model: m, Decision: d, System: "Be exact.", Messages: []provider.Message{providertest.User("Which?")},
		Tools:   []provider.Tool{{Name: "read", Schema: json.RawMessage(`{"type":"object"}`)}},
		Options: provider.Options{Temperature: &temperature, Seed: &seed, ParallelTools: &yes, MaxOutput: 4000, Stop: []string{"end"}, ToolChoice: "auto", ServiceTier: provider.TierAuto}}
	for event := range p.Find("host").Stream(t.Context(), req) {
		if n, ok := event.(provider.Notice); ok {
			notices = append(notices, n.Text)
		}
	}
	return <-bodies, notices
}

const thinks = "[[providers.host.models]]\nid = \"m\"\nthinking = { control = \"effort\", levels = [\"low\", \"high\"], default = \"low\" }\n"

// TestExtraBody adds members to the requests of each API: those of the model come after those of the provider, and what they replace is
// named at the start and with the call.
func TestExtraBody(t *testing.T) {
	for _, api := range vendors.APIs {
		list := "messages"
		switch api.Name {
		case "responses":
			list = "input"
		case "gemini":
			list = "contents"
		}
		settings := "[providers.host.extra_body]\ntomorrow = { deep = [1, 2], kept = true }\n" + list + " = []\n" + thinks +
			"[providers.host.models.extra_body]\ntomorrow = { deep = 3 }\nnew = \"x\"\n"
		var log bytes.Buffer
		body, notices := bodyOf(t, api.Name, settings, slog.New(slog.NewTextHandler(&log, nil)))
		if got := gjson.GetBytes(body, "tomorrow").Raw; providertest.DiffJSON([]byte(`{"deep":3,"kept":true}`), []byte(got)) != "" ||
			gjson.GetBytes(body, "new").Str != "x" || gjson.GetBytes(body, list).Raw != "[]" {
			t.Errorf("%s: %s", api.Name, body)
		}
		if all := strings.Join(notices, "\n"); !strings.Contains(all, "extra_body replaced "+list) || strings.Contains(all, "replaced new") {
			t.Errorf("%s: notices %q", api.Name, notices)
		}
		if !strings.Contains(log.String(), "extra_body replaces what thinkd sends") || !strings.Contains(log.String(), "members="+list) {
			t.Errorf("%s: log %s", api.Name, &log)
		}
	}
}

// TestMembers: the warning at the start knows each member that an adapter sends.
func TestMembers(t *testing.T) {
	for _, api := range vendors.APIs {
		dialects, err := api.Dialects()
		if err != nil {
			t.Fatal(err)
		}
		for _, dialect := range dialects {
			settings := ""
			if api.Name == "chat" {
				settings = fmt.Sprintf("dialect = %q\n", dialect)
			}
			body, _ := bodyOf(t, api.Name, settings+thinks, discard)
			members := api.Members(dialect, nil)
			for name := range gjson.ParseBytes(body).Map() {
				if !slices.ContainsFunc(members, func(m string) bool { return m == name || strings.HasPrefix(m, name+".") }) {
					t.Errorf("%s, %s: %q is sent, and is not in %q", api.Name, dialect, name, members)
				}
			}
		}
	}
}
