package identity_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/identity"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/provider/sim/clouds"
)

const canary = "c4n4ry-secret"

func newGoogle(t *testing.T) (*clouds.Google, string) {
	g := &clouds.Google{Secret: canary}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	return g, server.URL
}

// write keeps a value as JSON, or a text as it is.
func write(t *testing.T, name string, v any) string {
	t.Helper()
	data, ok := v.(string)
	if !ok {
		encoded, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		data = string(encoded)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

type object = map[string]any

// googleKinds has an identity of each kind.
func googleKinds(t *testing.T, g *clouds.Google, at string) map[string]identity.Google {
	kinds := map[string]identity.Google{
		"metadata server": {WellKnown: filepath.Join(t.TempDir(), "none"), Metadata: true, MetadataHost: strings.TrimPrefix(at, "http://")},
	}
	for name, content := range g.Credentials(at, write(t, "oidc", clouds.Subject)) {
		kinds[name] = identity.Google{File: write(t, "google.json", content)}
	}
	kinds["person, found where gcloud puts it"] = identity.Google{WellKnown: kinds["person"].File}
	return kinds
}

// redirected leads Google's own address of tokens to the stand-in.
type redirected string

func (to redirected) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == "oauth2.googleapis.com" {
		u, err := url.Parse(string(to))
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.URL.Scheme, r.URL.Host = u.Scheme, u.Host
	}
	return http.DefaultTransport.RoundTrip(r)
}

func TestGoogle(t *testing.T) {
	g, at := newGoogle(t)
	for name, from := range googleKinds(t, g, at) {
		t.Run(name, func(t *testing.T) {
			from.Project = "p"
			id := from.Open("vertex", &http.Client{Transport: redirected(at)})
			if id.Missing() != "" {
				t.Fatalf("missing: %s", id.Missing())
			}
			seen := map[provider.Secret]bool{}
			for range 2 {
				token, expires, err := id.Token(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if left := time.Until(expires); !strings.HasPrefix(token.Reveal(), "ya29.") || left < 50*time.Minute || left > time.Hour || seen[token] {
					t.Errorf("token %q, which lasts %v, seen before: %t", token.Reveal(), left, seen[token])
				}
				seen[token] = true
			}
			if other := (identity.Google{Project: "q"}).Open("vertex", nil); id.Account() == other.Account() || strings.Contains(id.Account(), "p") {
				t.Errorf("account %q", id.Account())
			}
		})
	}
	g.Refuse()
	for name, from := range googleKinds(t, g, at) {
		_, _, err := from.Open("vertex", &http.Client{Transport: redirected(at)}).Token(t.Context())
		e, ok := errors.AsType[*provider.Error](err)
		if !ok || e.Kind != provider.KindAuth || e.Status != http.StatusBadRequest || e.Provider != "vertex" || !strings.Contains(e.Error(), "Token has been revoked") || strings.HasPrefix(name, "person") && strings.Contains(e.Error(), canary) {
			t.Errorf("%s: refused: %v", name, err)
		}
	}
}

func TestGoogleErrors(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	dir := t.TempDir()
	none := filepath.Join(dir, "none")
	for name, tt := range map[string]struct {
		from identity.Google
		kind provider.Kind
		says string
	}{
		"no file":       {identity.Google{File: none}, provider.KindAuth, "no such file"},
		"no JSON":       {identity.Google{File: write(t, "a", "x")}, provider.KindAuth, "no file of Google's credentials"},
		"no type":       {identity.Google{File: write(t, "a", "{}")}, provider.KindAuth, "no file of Google's credentials"},
		"unknown type":  {identity.Google{File: write(t, "a", object{"type": "novel"})}, provider.KindAuth, "novel"},
		"broken key":    {identity.Google{File: write(t, "a", object{"type": "service_account", "private_key": canary, "token_uri": gone.URL})}, provider.KindAuth, "private key"},
		"no subject":    {identity.Google{File: write(t, "a", object{"type": "external_account", "audience": "a", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": gone.URL, "credential_source": object{"file": none}})}, provider.KindAuth, "none"},
		"nobody there":  {identity.Google{Metadata: true, MetadataHost: strings.TrimPrefix(gone.URL, "http://")}, provider.KindTransport, "cannot be reached"},
		"too large":     {identity.Google{File: write(t, "a", strings.Repeat("x", 2<<20))}, provider.KindAuth, "1 MiB"},
		"strange token": {identity.Google{Metadata: true, MetadataHost: strings.TrimPrefix(answering(t, `{"access_token":""}`), "http://")}, provider.KindAuth, "has none"},
	} {
		_, _, err := tt.from.Open("vertex", http.DefaultClient).Token(t.Context())
		e, ok := errors.AsType[*provider.Error](err)
		if !ok || e.Kind != tt.kind || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v (%+v)", name, err, e)
		}
	}
	var id login.Identity = identity.Google{WellKnown: none}.Open("vertex", nil)
	if why := id.Missing(); !strings.Contains(why, "gcloud auth application-default login") {
		t.Errorf("missing: %q", why)
	}
}

// answering serves one body.
func answering(t *testing.T, body string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }))
	t.Cleanup(server.Close)
	return server.URL
}
