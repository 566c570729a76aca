package vendors_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/vendors"
)

// TestAzure: each customer of Azure has an endpoint with its own name. Without one, the error of a call says how to set it.
func TestAzure(t *testing.T) {
	t.Parallel()
	heard := make(chan *http.Request, 1)
	host := proof.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard <- r
		http.Error(w, `{"error":{"message":"no such deployment"}}`, http.StatusNotFound)
	}))
	for _, tt := range []struct{ config, endpoint, want string }{
		{"", "", "azure: no address: set base_url under [providers.azure] in the config, or AZURE_OPENAI_ENDPOINT"},
		{"", host, "no such deployment"},
		{"", host + "/", "no such deployment"},
		{"", host + "/openai/v1/", "no such deployment"},
		{"[providers.azure]\nbase_url = \"" + host + "/openai/v1\"", "https://elsewhere.invalid", "no such deployment"},
	} {
		c, err := loadConfig(proof.WriteConfig(t, tt.config), proof.Environment("AZURE_OPENAI_API_KEY=sk", "AZURE_OPENAI_ENDPOINT="+tt.endpoint))
		if err != nil {
			t.Fatal(err)
		}
		catalog, err := vendors.Catalog(c.Providers, nil)
		if err != nil {
			t.Fatal(err)
		}
		p := vendors.Open(c.Providers, c.Dialects, noKeys(t), catalog, discard)
		m, err := catalog.Find("azure/mine") // as its deployment is called
		if err != nil {
			t.Fatal(err)
		}
		reply, err := providertest.Collect(p.Find("azure").Stream(t.Context(), &provider.Request{Model: m, Messages: []provider.Message{
			providertest.User("Which?")}}))
		if err != nil || reply.Err == nil || !strings.Contains(reply.Err.Error(), tt.want) {
			t.Errorf("%+v: %v, %v", tt, reply.Err, err)
		}
		told := tt.config + tt.endpoint
		for _, pc := range c.Providers {
			if pc.ID != "azure" {
				continue
			}
			if available, why := p.Available(pc); available != (told != "") || available == (why != "") {
				t.Errorf("%+v: available %v: %s", tt, available, why)
			}
		}
		if told != "" {
			if r := <-heard; r.URL.Path != "/openai/v1/responses" || r.Header.Get("api-key") != "sk" {
				t.Errorf("%+v: %s", tt, r.URL)
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestPlanToken prefers the official variable of the ChatGPT plan's token. The older one still counts, with a warning.
func TestPlanToken(t *testing.T) {
	for _, test := range []struct {
		name          string
		set           map[string]string
		file          string
		key, env, now string
	}{
		{"neither", nil, "", "", "CODEX_ACCESS_TOKEN", ""},
		{"the official one", map[string]string{"CODEX_ACCESS_TOKEN": "a"}, "", "a", "CODEX_ACCESS_TOKEN", ""},
		{"both", map[string]string{"CODEX_ACCESS_TOKEN": "a", "CHATGPT_ACCESS_TOKEN": "b"}, "", "a", "CODEX_ACCESS_TOKEN", ""},
		{"the older one", map[string]string{"CHATGPT_ACCESS_TOKEN": "b"}, "", "b", "CHATGPT_ACCESS_TOKEN", "CODEX_ACCESS_TOKEN"},
		{"one of the operator's", map[string]string{"CHATGPT_ACCESS_TOKEN": "b", "MINE": "c"}, "[providers.chatgpt]\napi_key_env = \"MINE\"\n", "c", "MINE", ""},
	} {
		c, err := loadConfig(proof.WriteConfig(t, test.file), func(name string) string { return test.set[name] })
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		p := configured(t, c, "chatgpt")
		if p.Key.Reveal() != test.key || p.KeyEnv != test.env || p.KeyEnvNow != test.now {
			t.Errorf("%s: the key %q of %s, now %q", test.name, p.Key.Reveal(), p.KeyEnv, p.KeyEnvNow)
		}
		var log bytes.Buffer
		catalog, err := vendors.Catalog(c.Providers, nil)
		if err != nil {
			t.Fatal(err)
		}
		opened := vendors.Open(c.Providers, c.Dialects, noKeys(t), catalog, slog.New(slog.NewTextHandler(&log, nil)))
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
		if got := strings.Contains(log.String(), "variable=CHATGPT_ACCESS_TOKEN set=CODEX_ACCESS_TOKEN"); got != (test.now != "") {
			t.Errorf("%s: the log says %q", test.name, log.String())
		}
	}
}

// The name of a variable is no key, as its value and as what a person enters.
func TestNameOfVariable(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"GEMINI_API_KEY", "$GEMINI_API_KEY", "${GEMINI_API_KEY}", " GEMINI_API_KEY\n"} {
		c, err := loadConfig(proof.WriteConfig(t, ""), proof.Environment("GEMINI_API_KEY="+value, "OPENAI_API_KEY=GEMINI_API_KEY"))
		if err != nil {
			t.Fatal(err)
		}
		if p := configured(t, c, "gemini"); !p.Key.IsZero() || !p.KeyEnvName {
			t.Errorf("%q: the key is %q, %v", value, p.Key.Reveal(), p.KeyEnvName)
		}
		if p := configured(t, c, "openai"); p.Key.IsZero() || p.KeyEnvName {
			t.Error("the name of another variable is refused as well")
		}
		catalog, err := vendors.Catalog(c.Providers, nil)
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		p := vendors.Open(c.Providers, c.Dialects, noKeys(t), catalog, slog.New(slog.NewTextHandler(&log, nil)))
		if err := p.SetKey("gemini", "", provider.NewSecret(strings.TrimSpace(value))); !errors.Is(err, provider.ErrVariableName) {
			t.Errorf("SetKey %q: %v", value, err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if !strings.Contains(log.String(), "provider=gemini variable=GEMINI_API_KEY") {
			t.Errorf("the log says %q", log.String())
		}
	}
}

// A keys.json that a person has edited may have the name of the variable, too.
func TestNameOfVariableInTheFile(t *testing.T) {
	t.Parallel()
	c, err := loadConfig(proof.WriteConfig(t, ""), proof.Environment())
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := vendors.Catalog(c.Providers, nil)
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]provider.KeyState{"GEMINI_API_KEY": provider.KeyMissing, "${GEMINI_API_KEY}": provider.KeyMissing, "OPENAI_API_KEY": provider.KeyReady} {
		keys := noKeys(t)
		if err := keys.Set("gemini", login.Grant{Token: provider.NewSecret(value)}); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		p := vendors.Open(c.Providers, c.Dialects, keys, catalog, slog.New(slog.NewTextHandler(&log, nil)))
		for _, status := range p.Status() {
			if status.ID == "gemini" && (status.Key != want || status.Available != (want == provider.KeyReady)) {
				t.Errorf("%s: %s, available %v", value, status.Key, status.Available)
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if warned := strings.Contains(log.String(), "provider=gemini variable=GEMINI_API_KEY"); warned != (want == provider.KeyMissing) {
			t.Errorf("%s: the log says %q", value, log.String())
		}
	}
}

// TestPayer names who pays for each provider, from where its credential is. Of a key it says nothing but an ending, and that
// to auth/status alone.
func TestPayer(t *testing.T) {
	t.Parallel()
	c, err := loadConfig(proof.WriteConfig(t, "[providers.mine]\napi = \"chat\"\nbase_url = \"http://127.0.0.1:9\"\n[providers.zai]\nbase_url = \"https://api.z.ai/api/coding/paas/v4\"\n"),
		proof.Environment("ANTHROPIC_API_KEY=sk-ant-0123456789abcdef-4f2a", "CODEX_ACCESS_TOKEN=token", "ZAI_API_KEY=short"))
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := vendors.Catalog(c.Providers, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := vendors.Open(c.Providers, c.Dialects, noKeys(t), catalog, discard)
	defer p.Close()
	if err := p.SetKey("openai", "", provider.NewSecret("sk-0123456789abcdef-77zz")); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]provider.Payer{
		"anthropic": {Kind: provider.PaidByKey, Name: "ANTHROPIC_API_KEY"},
		"openai":    {Kind: provider.PaidByKey, Name: "keys.json"},
		"chatgpt":   {Kind: provider.PaidByPlan, Name: "ChatGPT plan"},
		"zai":       {Kind: provider.PaidByPlan, Name: "Z.ai"},
		"mine":      {Kind: provider.PaidLocally, Name: "mine"},
		"ollama":    {Kind: provider.PaidLocally, Name: "ollama"},
		"sim":       {Kind: provider.PaidLocally, Name: "sim"},
		"mistral":   {},
	} {
		got, account, known := p.Payer(id, "")
		if strings.Contains(account, "sk-") || strings.Contains(account, "4f2a") || known != (want.Kind != "") {
			t.Errorf("%s: the account is %q, known %v", id, account, known)
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", id, got, want)
		}
	}
	before, account, _ := p.Payer("openai", "")
	if err := p.SetKey("openai", "", provider.NewSecret("sk-another-9876543210-1111")); err != nil {
		t.Fatal(err)
	}
	if now, another, _ := p.Payer("openai", ""); now != before || another == account {
		t.Errorf("another key: %+v, %s after %+v, %s", now, another, before, account)
	}
	endings := map[string]string{}
	for _, s := range p.Status() {
		endings[s.ID] = s.KeyEnding
	}
	if endings["anthropic"] != "4f2a" || endings["openai"] != "1111" || endings["zai"] != "" || endings["sim"] != "" {
		t.Errorf("endings %v", endings)
	}
}
