package vendors_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/vendors"
)

// TestProbe names the step at which a call fails. The texts of refusals are those of vendors.
func TestProbe(t *testing.T) {
	answer := func(status int, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			io.WriteString(w, body)
		})
	}
	gone := proof.Serve(t, answer(200, ""))
	gone = gone[:strings.LastIndex(gone, ":")] + ":1"
	for _, tt := range []struct {
		name, host, settings, want string
	}{
		{"no host", "http://no-such-host.invalid", "", "DNS"},
		{"nobody listens", gone, "", "connection"},
		{"a wrong key", proof.Serve(t, answer(401, `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}`)), "", "credentials"},
		{"a wrong model", proof.Serve(t, answer(404, `{"error":{"message":"The model 'm' does not exist or you do not have access to it.","type":"invalid_request_error","code":"model_not_found"}}`)), "", "model"},
		{"a country", proof.Serve(t, answer(403, `{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported","type":"request_forbidden"}}`)), "", "region"},
		{"a place", proof.Serve(t, answer(400, `{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}`)), "", "region"},
		{"no money", proof.Serve(t, answer(429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`)), "", "quota"},
		{"a login for the proxy", "https://host.invalid", `proxy = "` + proof.Serve(t, answer(407, "")) + `"`, "proxy"},
		{"no proxy", "https://host.invalid", `proxy = "` + gone + `"`, "proxy"},
	} {
		p, m := probed(t, tt.host, tt.settings)
		list := p.Probe(t.Context(), m)
		p.Close()
		if len(list) == 0 || list[len(list)-1].What != tt.want || list[len(list)-1].Err == nil {
			t.Errorf("%s: %+v", tt.name, list)
			continue
		}
		for _, f := range list[:len(list)-1] {
			if f.Err != nil {
				t.Errorf("%s: %+v", tt.name, list)
			}
		}
	}
}

func TestProbeAnswers(t *testing.T) {
	host := proof.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"OK"}}]}`+"\n\n")
	}))
	p, m := probed(t, host, "")
	defer p.Close()
	list := p.Probe(t.Context(), m)
	if len(list) == 0 || list[len(list)-1].What != "answer" {
		t.Fatalf("%+v", list)
	}
	for _, f := range list {
		if f.Err != nil {
			t.Errorf("%+v", f)
		}
	}
	if list := p.Probe(t.Context(), provider.Model{Provider: "other", ID: "m"}); len(list) != 1 || list[0].Err == nil {
		t.Errorf("%+v", list)
	}
}

func probed(t *testing.T, host, settings string) (*vendors.Providers, provider.Model) {
	t.Helper()
	c, err := loadConfig(proof.WriteConfig(t, "[providers.host]\napi = \"chat\"\nbase_url = \""+host+"\"\napi_key_env = \"KEY\"\n"+settings), proof.Environment("KEY=sk"))
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := vendors.Catalog(c.Providers, nil)
	if err != nil {
		t.Fatal(err)
	}
	return vendors.Open(c.Providers, c.Dialects, noKeys(t), catalog, discard), catalog.Model("host", "m")
}

// A setting whose file is gone since the config was read is the error of each call.
func TestUnreachable(t *testing.T) {
	c := vendors.Config{ID: "host", API: "chat", BaseURL: "http://localhost:1", KeyEnv: "KEY", Key: provider.NewSecret("sk")}
	c.Network.CAFile = "/no/such/file"
	catalog, err := vendors.Catalog([]vendors.Config{c}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := vendors.Open([]vendors.Config{c}, vendors.Dialects{}, noKeys(t), catalog, discard)
	defer p.Close()
	list := p.Probe(t.Context(), catalog.Model("host", "m"))
	if len(list) != 1 || list[0].Err == nil || !strings.Contains(list[0].Err.Error(), "ca_file") {
		t.Errorf("%+v", list)
	}
	if _, ok := errors.AsType[*provider.Error](list[0].Err); !ok {
		t.Errorf("%T", list[0].Err)
	}
}
