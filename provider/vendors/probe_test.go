package vendors_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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
		{"an unknown authority", untrusted(t), "", "TLS"},
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

// untrusted is a host whose certificate nobody trusts.
func untrusted(t *testing.T) string {
	host := httptest.NewUnstartedServer(nil)
	host.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	host.StartTLS()
	t.Cleanup(host.Close)
	return host.URL
}

// TestProbeClouds names the step at which a call fails whose credentials come from a cloud. What fails where credentials are issued is about
// the credentials, and not about the connection to the host of the model.
func TestProbeClouds(t *testing.T) {
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "") // restores it
			os.Unsetenv(name)
		}
	}
	dir := t.TempDir()
	gone := "http://127.0.0.1:1"
	for name, value := range map[string]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT": gone, "AWS_CONFIG_FILE": filepath.Join(dir, "config"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(dir, "none")} {
		t.Setenv(name, value)
	}
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte("[profile x]\nrole_arn = arn:aws:iam::1:role/reader\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	account := fmt.Sprintf(`{"type":"external_account","audience":"a","subject_token_type":"urn:ietf:params:oauth:token-type:jwt","token_url":"%s/token","credential_source":{"file":%q}}`, gone, filepath.Join(dir, "config"))
	if err := os.WriteFile(filepath.Join(dir, "account.json"), []byte(account), 0o600); err != nil {
		t.Fatal(err)
	}
	refuse := func(status int, kind, body string) string {
		return proof.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("X-Amzn-Errortype", kind)
			w.WriteHeader(status)
			io.WriteString(w, body)
		}))
	}
	amazon := func(at, more string) string {
		return fmt.Sprintf("[providers.bedrock]\nbase_url = %q\nregion = \"eu-central-1\"\n%s", at, more)
	}
	google := func(at, more string) string {
		return fmt.Sprintf("[providers.vertex]\nbase_url = %q\n[providers.vertex.google]\nproject = \"p\"\n%s", at, more)
	}
	entra := func(at, authority string) string {
		return fmt.Sprintf("[providers.azure]\nbase_url = \"%s/openai/v1\"\n[providers.azure.entra]\ntenant_id = \"t\"\nclient_id = \"c\"\nauthority = %q\n", at, authority)
	}
	const claude, nova, key = "us.anthropic.claude-opus-5-5", "us.amazon.nova-2-lite-v1:0", "AWS_BEARER_TOKEN_BEDROCK=k"
	for _, tt := range []struct{ name, config, env, ref, want, says string }{
		{"no credentials of AWS", amazon(gone, ""), "", "bedrock/" + claude, "credentials", "no AWS credentials"},
		{"an incomplete profile", amazon(gone, "aws_profile = \"x\"\n"), "", "bedrock/" + claude, "credentials", "profile x"},
		{"an unknown access key", amazon(refuse(403, "UnrecognizedClientException", `{"message":"The security token included in the request is invalid."}`), ""), key, "bedrock/" + claude, "credentials", "security token"},
		{"a key of Bedrock that has expired", amazon(refuse(403, "AccessDeniedException", `{"Message":"Bearer Token has expired"}`), ""), key, "bedrock/" + nova, "credentials", "expired"},
		{"no such model at Amazon", amazon(refuse(400, "ValidationException", `{"message":"The provided model identifier is invalid."}`), ""), key, "bedrock/" + nova, "model", "identifier"},
		{"a model without a profile", amazon(refuse(400, "ValidationException", `{"message":"Invocation of model ID m with on-demand throughput isn’t supported. Retry your request with the ID or ARN of an inference profile that contains this model."}`), ""), key, "bedrock/" + claude, "model", "take the id with us., eu."},
		{"a model that was not requested", amazon(refuse(403, "AccessDeniedException", `{"message":"You don't have access to the model with the specified model ID."}`), ""), key, "bedrock/" + claude, "model", "access to the model"},
		{"a country at Amazon", amazon(refuse(400, "ValidationException", `{"message":"Access to Anthropic models is not allowed from unsupported countries, regions, or territories. Please refer to https://www.anthropic.com/supported-countries for more information on the countries and regions Anthropic currently supports."}`), ""), key, "bedrock/" + claude, "region", "countries"},
		{"too many tokens", amazon(refuse(429, "ThrottlingException", `{"message":"Too many tokens, please wait before trying again."}`), ""), key, "bedrock/" + nova, "quota", "wait"},
		{"no metadata server of Google", google(gone, ""), "GCE_METADATA_HOST=127.0.0.1:1", "vertex/gemini-3.8-flash", "credentials", "cannot be reached"},
		{"no tokens of Google", google(gone, fmt.Sprintf("credentials_file = %q\n", filepath.Join(dir, "account.json"))), "", "vertex/gemini-3.8-flash", "credentials", "no token"},
		{"no such model at Google", google(refuse(404, "", `{"error":{"code":404,"message":"Publisher Model projects/p/locations/global/publishers/anthropic/models/m was not found or your project does not have access to it.","status":"NOT_FOUND"}}`), ""), "GOOGLE_OAUTH_ACCESS_TOKEN=x", "vertex/claude-opus-5-5", "model", "Publisher Model"},
		{"no right at Google", google(refuse(403, "", `{"error":{"code":403,"message":"Permission 'aiplatform.endpoints.predict' denied on resource","status":"PERMISSION_DENIED"}}`), ""), "GOOGLE_OAUTH_ACCESS_TOKEN=x", "vertex/gemini-3.8-flash", "credentials", "Permission"},
		{"no host of Microsoft", entra(gone, "https://no-such-host.invalid"), "AZURE_CLIENT_SECRET=x", "azure/gpt-6-sol", "credentials", "cannot be reached"},
		{"a wrong secret", entra(gone, refuse(401, "", `{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret provided."}`)), "AZURE_CLIENT_SECRET=x", "azure/gpt-6-sol", "credentials", "AADSTS7000215"},
		{"no such deployment", entra(refuse(404, "", `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`), ""), "AZURE_OPENAI_API_KEY=x", "azure/gpt-6-sol", "model", "does not exist"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := loadConfig(proof.WriteConfig(t, "models_dev = \"\"\n"+tt.config), proof.Environment(strings.Fields(tt.env)...))
			if err != nil {
				t.Fatal(err)
			}
			catalog, err := vendors.Catalog(c.Providers, nil)
			if err != nil {
				t.Fatal(err)
			}
			p := vendors.Open(c.Providers, c.Dialects, noKeys(t), catalog, discard)
			defer p.Close()
			id, model, _ := strings.Cut(tt.ref, "/")
			list := p.Probe(t.Context(), catalog.Model(id, model))
			if last := list[len(list)-1]; last.What != tt.want || last.Err == nil || !strings.Contains(last.Err.Error(), tt.says) {
				t.Errorf("%+v, want %s with %q", list, tt.want, tt.says)
			}
			for _, f := range list[:len(list)-1] {
				if f.Err != nil {
					t.Errorf("%+v", list)
				}
			}
		})
	}
}
