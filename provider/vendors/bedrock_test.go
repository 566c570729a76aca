package vendors_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/sim"
	simaws "github.com/thinkd/thinkd/provider/sim/aws"
	"github.com/thinkd/thinkd/provider/vendors"
	"github.com/thinkd/thinkd/registry"
)

// container issues credentials that are over at once, others each time, as an agent of a container does.
func container(t *testing.T) (issued *atomic.Int32) {
	issued = new(atomic.Int32)
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		id := fmt.Sprintf("ASIACONTAINER%d", issued.Add(1))
		fmt.Fprintf(w, `{"AccessKeyId":%q,"SecretAccessKey":%q,"Token":%q,"Expiration":%q}`, id, simaws.SecretOf(id), simaws.TokenOf(id), time.Now().Add(time.Minute).UTC().Format(time.RFC3339))
	}))
	t.Cleanup(host.Close)
	for name, value := range map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": host.URL, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "x", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
		"AWS_CONFIG_FILE": t.TempDir() + "/none", "AWS_SHARED_CREDENTIALS_FILE": t.TempDir() + "/none", "AWS_PROFILE": "", "AWS_WEB_IDENTITY_TOKEN_FILE": ""} {
		t.Setenv(name, value)
	}
	return issued
}

// TestBedrock calls configured models of Amazon: with a key, with the credentials of a machine that are over before the next request of a tool
// loop, and without either.
func TestBedrock(t *testing.T) {
	server := sim.New(sim.Config{})
	address := proof.Serve(t, server)
	issued := container(t)
	for _, tt := range []struct {
		name, section, env string
		source             provider.KeyState
		why                string // it is not available
	}{
		{"a key", "[providers.bedrock]\nbase_url = \"" + address + "\"\n", "AWS_BEARER_TOKEN_BEDROCK=bedrock-key-1", provider.KeyReady, ""},
		{"credentials of the machine", "[providers.bedrock]\nbase_url = \"" + address + "\"\nregion = \"eu-central-1\"\n", "", provider.KeyNotNeeded, ""},
		{"the other host", "[providers.bedrock]\ndialect = \"mantle\"\nbase_url = \"" + address + "\"\nregion = \"eu-central-1\"\n", "", provider.KeyNotNeeded, ""},
		{"no section", "", "AWS_REGION=eu-central-1", provider.KeyMissing, "no key: run `thinkd auth set bedrock`, or set AWS_BEARER_TOKEN_BEDROCK"},
		{"no region", "", "AWS_BEARER_TOKEN_BEDROCK=bedrock-key-1", provider.KeyReady, "no region: set region under [providers.bedrock] in the config, or AWS_REGION"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			issued.Store(0)
			c, err := loadConfig(proof.WriteConfig(t, tt.section), proof.Environment(strings.Fields(tt.env)...))
			if err != nil {
				t.Fatal(err)
			}
			catalog, err := vendors.Catalog(c.Providers, nil)
			if err != nil {
				t.Fatal(err)
			}
			p := vendors.Open(c.Providers, nil, noKeys(t), catalog, discard)
			defer p.Close()
			for _, s := range p.Status() {
				if s.ID == "bedrock" && (s.Key != tt.source || s.Available != (tt.why == "") || s.Why != tt.why) {
					t.Errorf("%+v, want the key %s, and why %q", s, tt.source, tt.why)
				}
			}
			if tt.why != "" {
				return
			}
			m, err := catalog.Find("bedrock/eu.anthropic.claude-opus-5-5")
			if err != nil {
				t.Fatal(err)
			}
			if mantle := strings.Contains(tt.section, "mantle"); mantle != (m.Dialect == "mantle") {
				t.Errorf("the dialect is %q", m.Dialect)
			}
			all, err := p.Find("bedrock").(provider.Lister).Models(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			listed := map[string]int{}
			for _, m := range all {
				listed[m.ID]++
			}
			for id, at := range map[string]string{"us.amazon.nova-2-lite-v1:0": "both", "anthropic.claude-opus-5-5": "mantle", "us.anthropic.claude-opus-4-6-v1": "runtime"} {
				want := 0
				if at == "both" || (at == "mantle") == (m.Dialect == "mantle") {
					want = 1
				}
				if listed[id] != want {
					t.Errorf("%s is listed %d times, want %d", id, listed[id], want)
				}
			}
			issued.Store(0)
			d, err := registry.Resolve(registry.Ask{}, m)
			if err != nil {
				t.Fatal(err)
			}
			history := providertest.Turn(t, p.Find("bedrock"), provider.Request{Model: m, Decision: d, Tools: providertest.ReadTool}, "Read it. [[sim: tool=read rounds=3]]")
			if len(history) != 8 || providertest.Signed(history) == 0 {
				t.Errorf("%d messages, %d signed", len(history), providertest.Signed(history))
			}
			if n := issued.Load(); (n >= 4) != (tt.env == "") {
				t.Errorf("credentials were issued %d times for 4 requests", n)
			}
		})
	}
	for _, r := range server.Refusals() {
		t.Errorf("refused: %+v", r)
	}
}
