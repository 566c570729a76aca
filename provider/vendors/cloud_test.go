package vendors_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/vendors"
)

// expiring is a cloud whose tokens last for one call: the next one is refused, as if its token had expired in between.
type expiring struct {
	inner http.Handler

	mu            sync.Mutex
	given         int
	valid         string
	refused, used []string
}

func (e *expiring) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	if r.URL.Path == "/token" {
		defer e.mu.Unlock()
		e.given++
		e.valid = fmt.Sprintf("ya29.%d", e.given)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":%q,"expires_in":3600,"token_type":"Bearer"}`, e.valid)
		return
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if token != e.valid || r.Header.Get("api-key") != "" {
		e.refused = append(e.refused, token)
		e.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":{"code":401,"message":"Request had invalid authentication credentials.","status":"UNAUTHENTICATED"}}`)
		return
	}
	e.used, e.valid = append(e.used, token), ""
	e.mu.Unlock()
	r.Header.Set("Authorization", "Bearer the-account") // all tokens are of one
	e.inner.ServeHTTP(w, r)
}

// TestTokenExpiresInToolLoop plays a turn with calls of tools over each API of Google Cloud, and each call needs another token than the
// one before. Claude's signed thinking goes back under all of them, because they belong to one project.
func TestTokenExpiresInToolLoop(t *testing.T) {
	host := sim.New(sim.Config{})
	cloud := &expiring{inner: host}
	server := httptest.NewServer(cloud)
	defer server.Close()
	credentials := filepath.Join(t.TempDir(), "person.json")
	person := fmt.Sprintf(`{"type":"external_account","audience":"//iam/pool","subject_token_type":"urn:ietf:params:oauth:token-type:jwt","token_url":%q,"credential_source":{"file":%q}}`,
		server.URL+"/token", credentials)
	if err := os.WriteFile(credentials, []byte(person), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := loadConfig(proof.WriteConfig(t, fmt.Sprintf("[providers.vertex]\nbase_url = %q\n[providers.vertex.google]\nproject = \"p\"\nlocation = \"eu\"\ncredentials_file = %q\n", server.URL, credentials)), proof.Environment(""))
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := vendors.Catalog(c.Providers, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := vendors.Open(c.Providers, c.Dialects, noKeys(t), catalog, discard)
	defer p.Close()
	for _, id := range []string{"claude-opus-5-5", "claude-haiku-4-5@20251001", "gemini-3.8-flash", "partner/model", "openai/gpt-oss-120b-maas", "deepseek-ai/deepseek-v3.2-maas", "mistral-medium-3"} {
		m := catalog.Model("vertex", id)
		cloud.mu.Lock()
		cloud.used, cloud.refused = nil, nil
		cloud.mu.Unlock()
		s := simulated{p.Find("vertex"), provider.Request{Model: m, Tools: simulatedTools, Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeOmit}}}}
		calls, text, err := s.ask(t, "Look ahead. [[sim: tool=read rounds=3 text=5 pace=0]]")
		if err != nil || len(calls) != 3 || len(strings.Fields(text)) != 5 {
			t.Errorf("%s: %q, then %q (%v)", id, calls, text, err)
		}
		if len(cloud.used) != 4 || len(cloud.refused) < 3 {
			t.Errorf("%s: tokens used %q, refused %q", id, cloud.used, cloud.refused)
		}
	}
	if refusals := host.Refusals(); len(refusals) > 0 {
		t.Errorf("refused: %+v", refusals)
	}
	for _, s := range p.Status() {
		if s.ID == "vertex" && (s.Key != provider.KeyReady || s.KeySource != provider.KeyFromIdentity || !s.Available || s.Login) {
			t.Errorf("status: %+v", s)
		}
	}
}

func TestGoogleAddress(t *testing.T) {
	const tail = "/v1/projects/p/locations/"
	for _, tt := range [][3]string{
		{"", "global", "https://aiplatform.googleapis.com" + tail + "global"},
		{"", "eu", "https://aiplatform.eu.rep.googleapis.com" + tail + "eu"},
		{"", "us", "https://aiplatform.us.rep.googleapis.com" + tail + "us"},
		{"", "us-east5", "https://us-east5-aiplatform.googleapis.com" + tail + "us-east5"},
		{"https://private.example.com/", "eu", "https://private.example.com" + tail + "eu"},
		{"https://private.example.com/v1", "eu", "https://private.example.com" + tail + "eu"},
		{"https://x/v1/projects/q/locations/eu", "us", "https://x/v1/projects/q/locations/eu"},
	} {
		if got := vendors.GoogleAddress(tt[0], "p", tt[1]); got != tt[2] {
			t.Errorf("%q at %s: %s, want %s", tt[0], tt[1], got, tt[2])
		}
	}
}
