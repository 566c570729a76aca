package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/providertest"
)

// TestAzure: each customer's place has its own name, and before it is told a call says how to.
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
		c, err := loadConfig(proof.WriteConfig(t, tt.config), environment("AZURE_OPENAI_API_KEY=sk", "AZURE_OPENAI_ENDPOINT="+tt.endpoint))
		if err != nil {
			t.Fatal(err)
		}
		catalog, err := c.catalog(nil)
		if err != nil {
			t.Fatal(err)
		}
		p := openProviders(c, noKeys(t), catalog, discard)
		m, err := catalog.Find("azure/mine") // as its deployment is called
		if err != nil {
			t.Fatal(err)
		}
		reply, err := providertest.Collect(p.find("azure").Stream(t.Context(), &provider.Request{Model: m, Messages: []provider.Message{
			{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "Which?"}}}}}))
		if err != nil || reply.Err == nil || !strings.Contains(reply.Err.Error(), tt.want) {
			t.Errorf("%+v: %v, %v", tt, reply.Err, err)
		}
		told := tt.config + tt.endpoint
		for _, pc := range p.list {
			if pc.ID != "azure" {
				continue
			}
			if available, why := p.available(pc); available != (told != "") || available == (why != "") {
				t.Errorf("%+v: available %v: %s", tt, available, why)
			}
		}
		if told != "" {
			if r := <-heard; r.URL.Path != "/openai/v1/responses" || r.Header.Get("api-key") != "sk" {
				t.Errorf("%+v: %s", tt, r.URL)
			}
		}
		if err := p.close(); err != nil {
			t.Error(err)
		}
	}
}
