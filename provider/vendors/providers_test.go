package vendors_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/vendors"
)

// TestRouter calls models of one provider in two APIs and two dialects, and one that nothing speaks to.
func TestRouter(t *testing.T) {
	called := make(chan string, 1)
	host := proof.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		called <- r.URL.Path
		http.Error(w, `{"error":{"message":"no"}}`, http.StatusBadRequest)
	}))
	c, err := loadConfig(proof.WriteConfig(t, `
[providers.both]
api = "chat"
dialect = "deepseek"
base_url = "`+host+`"
api_key_env = "KEY"
[[providers.both.models]]
id = "sol"
api = "responses"
thinking = { control = "effort", levels = ["low"], default = "low" }
[[providers.both.models]]
id = "large"
dialect = "mistral"
thinking = { control = "effort", levels = ["low"], default = "low" }
`), proof.Environment("KEY=sk"))
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := vendors.Catalog(c.Providers, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := vendors.Open(c.Providers, c.Dialects, noKeys(t), catalog, discard)
	defer p.Close()
	both := p.Find("both")
	low := provider.Decision{Control: provider.Control{Mode: provider.ModeEffort, Effort: provider.Low}}
	for _, tt := range []struct{ model, path, wire string }{
		{"sol", "/responses", `{"reasoning":{"effort":"low"}}`},
		{"large", "/chat/completions", `{"reasoning_effort":"low"}`},
		{"another", "/chat/completions", `{"reasoning_effort":"low","thinking":{"type":"enabled"}}`},
	} {
		req := &provider.Request{Model: catalog.Model("both", tt.model), Decision: low, Messages: []provider.Message{
			providertest.User("Which?")}}
		req.Model.Known = true
		if tt.model == "another" {
			req.Model.Thinking.Control = provider.ControlEffort
		}
		wire, err := both.Wire(req)
		if err != nil || providertest.DiffJSON([]byte(tt.wire), wire) != "" {
			t.Errorf("%s: wire %s (%v), want %s", tt.model, wire, err, tt.wire)
		}
		if _, err := providertest.Collect(both.Stream(t.Context(), req)); err != nil {
			t.Error(err)
		}
		if path := <-called; path != tt.path {
			t.Errorf("%s: called at %s, want %s", tt.model, path, tt.path)
		}
	}
	stranger := &provider.Request{Model: provider.Model{Provider: "both", ID: "x", API: "soap"}}
	if _, err := both.Wire(stranger); err == nil || !strings.Contains(err.Error(), `"soap"`) {
		t.Errorf("a model that nothing speaks to: %v", err)
	}
	reply, err := providertest.Collect(both.Stream(t.Context(), stranger))
	if err != nil || reply.Err == nil || !strings.Contains(reply.Err.Error(), `"soap"`) {
		t.Errorf("a model that nothing speaks to: %v, %v", reply.Err, err)
	}
}

// TestDefaultModel: a configured provider comes before the simulator, also if nobody names a model of it.
func TestDefaultModel(t *testing.T) {
	const own = "[providers.gateway]\napi = \"chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\napi_key_env = \"KEY\"\n"
	for _, tt := range []struct{ name, config, key, want string }{
		{"nothing", "", "", "sim/claude"},
		{"a custom provider with a row", own + "[[providers.gateway.models]]\nid = \"large\"\nthinking = { control = \"none\" }\n", "KEY=sk", "gateway/large"},
		{"a custom provider with a list", own, "KEY=sk", "gateway/listed"},
		{"its key is missing", own, "", "sim/claude"},
		{"a vendor's key", own, "ANTHROPIC_API_KEY=sk", "anthropic/claude-opus-5-5"},
	} {
		c, err := loadConfig(proof.WriteConfig(t, tt.config), proof.Environment(tt.key))
		if err != nil {
			t.Fatal(err)
		}
		catalog, err := vendors.Catalog(c.Providers, nil)
		if err != nil {
			t.Fatal(err)
		}
		p := vendors.Open(c.Providers, c.Dialects, noKeys(t), catalog, discard)
		id, model := p.DefaultModel(login.Holder{}, func(id string) []provider.Model {
			return []provider.Model{{Provider: id, ID: "gone", Lifecycle: &provider.Lifecycle{Gone: true}}, {Provider: id, ID: "listed"}}
		})
		if got := id + "/" + model; got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		p.Close()
	}
}
