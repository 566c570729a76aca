package vendors_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/vendors"
)

const resource = "/subscriptions/s/resourceGroups/g/providers/Microsoft.CognitiveServices/accounts/me"

// azure is a resource whose tokens last for one call, with its management, which has two pages of deployments.
func azure(t *testing.T) (*expiring, string) {
	cloud := &expiring{inner: sim.New(sim.Config{})}
	management := http.NewServeMux()
	server := httptest.NewServer(management)
	t.Cleanup(server.Close)
	management.HandleFunc("/t/oauth2/v2.0/token", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("scope") == server.URL+"/.default" {
			fmt.Fprint(w, `{"access_token":"eyJ.management","expires_in":3600}`)
			return
		}
		r.URL.Path = "/token"
		cloud.ServeHTTP(w, r)
	})
	page := func(name, model, state string) string {
		return fmt.Sprintf(`{"name":%q,"properties":{"provisioningState":%q,"model":{"format":"OpenAI","name":%q}}}`, name, state, model)
	}
	management.HandleFunc(resource+"/deployments", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer eyJ.management":
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"error":{"code":"AuthorizationFailed","message":"no right to read"}}`)
		case r.URL.Query().Get("page") == "":
			fmt.Fprintf(w, `{"value":[%s,%s],"nextLink":"%s%s/deployments?page=2"}`, page("fast", "gpt-6-luna", "Succeeded"), page("new", "gpt-6-sol", "Creating"), server.URL, resource)
		default:
			fmt.Fprintf(w, `{"value":[%s]}`, page("other", "some-model", "Succeeded"))
		}
	})
	management.Handle("/openai/v1/", cloud)
	return cloud, server.URL
}

func azureConfig(at, more string) string {
	return fmt.Sprintf("models_dev = \"\"\n[providers.azure]\nbase_url = \"%[1]s/openai/v1\"\n[providers.azure.entra]\ntenant_id = \"t\"\nclient_id = \"c\"\nauthority = %[1]q\nmanagement = %[1]q\n%[2]s", at, more)
}

// TestEntraTokenExpiresInToolLoop plays a turn with calls of tools, and each call needs another token than the one before. A token is never
// in the header for keys.
func TestEntraTokenExpiresInToolLoop(t *testing.T) {
	cloud, at := azure(t)
	c, err := loadConfig(proof.WriteConfig(t, azureConfig(at, "")), proof.Environment("AZURE_CLIENT_SECRET=secret"))
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := vendors.Catalog(c.Providers, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := vendors.Open(c.Providers, c.Dialects, noKeys(t), catalog, discard)
	defer p.Close()
	s := simulated{p.Find("azure"), provider.Request{Model: catalog.Model("azure", "gpt-6-sol"), Tools: simulatedTools, Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeOmit}}}}
	calls, text, err := s.ask(t, "Look ahead. [[sim: tool=read rounds=3 text=5 pace=0]]")
	if err != nil || len(calls) != 3 || len(strings.Fields(text)) != 5 {
		t.Errorf("%q, then %q (%v)", calls, text, err)
	}
	if len(cloud.used) != 4 || len(cloud.refused) < 3 {
		t.Errorf("tokens used %q, refused %q", cloud.used, cloud.refused)
	}
}

// TestDeployments lists what a resource serves, with the facts of the models behind the names.
func TestDeployments(t *testing.T) {
	_, at := azure(t)
	env := proof.Environment("AZURE_CLIENT_SECRET=secret")
	l, _ := listingsAt(t, azureConfig(at, "resource_id = \""+resource+"\""), "", env)
	if _, err := refreshed(t, l, "azure"); err != nil {
		t.Fatal(err)
	}
	catalog := l.Current().Catalog()
	luna, fast := catalog.Model("azure", "gpt-6-luna"), catalog.Model("azure", "fast")
	if !fast.Known || fast.Name != "fast (gpt-6-luna)" || fast.Window != luna.Window || fmt.Sprint(fast.Thinking) != fmt.Sprint(luna.Thinking) || fast.API != "responses" {
		t.Errorf("%+v\nis not as %+v", fast, luna)
	}
	if other := catalog.Model("azure", "other"); other.Name != "other (some-model)" {
		t.Errorf("a model that the catalog does not know: %+v", other)
	}
	if m := catalog.Model("azure", "new"); m.Known {
		t.Errorf("one that is not ready: %+v", m)
	}
	l, _ = listingsAt(t, azureConfig(at, "resource_id = \""+strings.Replace(resource, "me", "you", 1)+"\""), "", env)
	if list, err := refreshed(t, l, "azure"); err != nil || len(list) != 1 || !strings.Contains(list[0].Error, "deployments cannot be listed") {
		t.Errorf("another resource: %+v, %v", list, err)
	}
}
