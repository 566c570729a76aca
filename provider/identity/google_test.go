package identity_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/identity"
	"github.com/thinkd/thinkd/provider/login"
)

const canary = "c4n4ry-secret"

// signer is the key of a service account. Making one takes half a second of processor time.
var signer = sync.OnceValues(func() (*rsa.PrivateKey, string) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	return key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
})

// verify returns the claims of a signed assertion.
func verify(t *testing.T, assertion string) map[string]any {
	t.Helper()
	key, _ := signer()
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		t.Errorf("%q is no assertion", assertion)
		return nil
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err == nil {
		err = rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], signature)
	}
	var claims map[string]any
	if data, e := base64.RawURLEncoding.DecodeString(parts[1]); err != nil || e != nil || json.Unmarshal(data, &claims) != nil {
		t.Errorf("the assertion is not signed by the account's key: %v", err)
	}
	return claims
}

// google stands in for Google's servers of tokens, each at its path. It gives another token each time.
type google struct {
	t       *testing.T
	refuses bool
	given   int
}

func (g *google) give(w http.ResponseWriter, member, expires string, more map[string]any) {
	g.given++
	body := map[string]any{member: fmt.Sprintf("ya29.%d", g.given), "token_type": "Bearer"}
	if expires == "expires_in" {
		body[expires] = 3600
	} else {
		body[expires] = time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	}
	for k, v := range more {
		body[k] = v
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(body)
}

func (g *google) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.refuses {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":"invalid_grant","error_description":"Token has been revoked: %s"}`, "refresh-"+canary)
		return
	}
	wants := func(ok bool, what string) bool {
		if !ok {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":"unauthorized","error_description":"%s"}`, what)
		}
		return ok
	}
	switch r.URL.Path {
	case "/token":
		switch r.FormValue("grant_type") {
		case "urn:ietf:params:oauth:grant-type:jwt-bearer":
			claims := verify(g.t, r.FormValue("assertion"))
			if wants(claims["iss"] == "me@project.iam" && strings.HasSuffix(fmt.Sprint(claims["scope"]), "/auth/cloud-platform"), "wrong claims") {
				g.give(w, "access_token", "expires_in", nil)
			}
		case "refresh_token":
			if wants(r.FormValue("refresh_token") == "refresh-"+canary && r.FormValue("client_secret") == "client-"+canary, "wrong refresh token") {
				g.give(w, "access_token", "expires_in", nil)
			}
		}
	case "/sts":
		if wants(r.FormValue("subject_token") == "oidc-of-the-workload" && r.FormValue("audience") == "//iam/pool", "wrong subject token") {
			g.give(w, "access_token", "expires_in", map[string]any{"issued_token_type": "urn:ietf:params:oauth:token-type:access_token"})
		}
	case "/impersonate":
		if wants(strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ya29."), "the source has no token") {
			g.give(w, "accessToken", "expireTime", nil)
		}
	case "/computeMetadata/v1/instance/service-accounts/default/token":
		if wants(r.Header.Get("Metadata-Flavor") == "Google" && r.URL.Query().Get("scopes") != "", "Metadata-Flavor is missing") {
			g.give(w, "access_token", "expires_in", nil)
		}
	default:
		http.NotFound(w, r)
	}
}

func newGoogle(t *testing.T) (*google, string) {
	g := &google{t: t}
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

// googleKinds has a credentials file of each kind.
func googleKinds(t *testing.T, at string) map[string]identity.Google {
	_, key := signer()
	subject := write(t, "oidc", "oidc-of-the-workload")
	service := object{"type": "service_account", "client_email": "me@project.iam", "private_key": key, "private_key_id": "1", "token_uri": at + "/token"}
	person := object{"type": "authorized_user", "client_id": "id", "client_secret": "client-" + canary, "refresh_token": "refresh-" + canary, "token_uri": at + "/token"}
	federated := object{"type": "external_account", "audience": "//iam/pool", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
		"token_url": at + "/sts", "credential_source": object{"file": subject}}
	both := object{"service_account_impersonation_url": at + "/impersonate"}
	for k, v := range federated {
		both[k] = v
	}
	// The library takes no other address for the tokens of a person: the client of the test leads there.
	return map[string]identity.Google{
		"service account":                    {File: write(t, "a.json", service)},
		"person, found where gcloud puts it": {WellKnown: write(t, "b.json", person)},
		"impersonated service account": {File: write(t, "c.json", object{"type": "impersonated_service_account",
			"service_account_impersonation_url": at + "/impersonate", "source_credentials": service})},
		"federated workload":               {File: write(t, "d.json", federated)},
		"federated workload, impersonated": {File: write(t, "e.json", both)},
		"metadata server":                  {WellKnown: filepath.Join(t.TempDir(), "none"), Metadata: true, MetadataHost: strings.TrimPrefix(at, "http://")},
	}
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
	for name, from := range googleKinds(t, at) {
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
	g.refuses = true
	for name, from := range googleKinds(t, at) {
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
