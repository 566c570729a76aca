package identity_test

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/identity"
)

// certificate is one of the signer's key, with the key behind it.
func certificate(t *testing.T) (path string, der []byte) {
	t.Helper()
	key, text := signer()
	form := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "app"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "app.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))+text), der
}

// entra stands in for Microsoft's servers of tokens, and for the identity of a machine.
type entra struct {
	t       *testing.T
	cert    []byte
	refuses bool
	given   int
}

func (e *entra) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refuse := func(text string) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":"invalid_client","error_description":"AADSTS7000215: %s"}`, text)
	}
	form := r.FormValue
	lasts := `"expires_in":3599`
	switch {
	case e.refuses:
		refuse("Invalid client secret " + canary)
		return
	case r.URL.Path == "/tenant/oauth2/v2.0/token":
		if form("grant_type") != "client_credentials" || form("scope") != "https://cognitiveservices.azure.com/.default" || form("client_id") != "client" {
			refuse("wrong form")
			return
		}
		if a := form("client_assertion"); form("client_secret") != canary && a != "workload" && !e.signed(a, "http://"+r.Host+r.URL.Path) {
			refuse("no proof")
			return
		}
	case r.URL.Path == "/metadata/identity/oauth2/token":
		if r.Header.Get("Metadata") != "true" || form("api-version") != "2018-02-01" || form("resource") != "https://cognitiveservices.azure.com" {
			refuse("wrong query")
			return
		}
		lasts = fmt.Sprintf(`"expires_in":"3599","expires_on":"%d"`, time.Now().Add(time.Hour).Unix())
	case r.URL.Path == "/msi/token":
		if r.Header.Get("X-IDENTITY-HEADER") != "header-"+canary || form("api-version") != "2019-08-01" || form("client_id") != "client" {
			refuse("wrong query")
			return
		}
		lasts = fmt.Sprintf(`"expires_on":"%d"`, time.Now().Add(time.Hour).Unix())
	default:
		http.NotFound(w, r)
		return
	}
	e.given++
	fmt.Fprintf(w, `{"token_type":"Bearer",%s,"access_token":"eyJ.%d"}`, lasts, e.given)
}

// signed reports whether the application's certificate signed an assertion for this address.
func (e *entra) signed(assertion, address string) bool {
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		return false
	}
	var head, claims map[string]any
	decode := func(part string) []byte {
		data, _ := base64.RawURLEncoding.DecodeString(part)
		return data
	}
	key, _ := signer()
	sum, digest := sha256.Sum256([]byte(parts[0]+"."+parts[1])), sha256.Sum256(e.cert)
	return json.Unmarshal(decode(parts[0]), &head) == nil && json.Unmarshal(decode(parts[1]), &claims) == nil &&
		head["alg"] == "PS256" && head["x5t#S256"] == base64.RawURLEncoding.EncodeToString(digest[:]) &&
		claims["aud"] == address && claims["iss"] == "client" && claims["sub"] == "client" &&
		rsa.VerifyPSS(&key.PublicKey, crypto.SHA256, sum[:], decode(parts[2]), nil) == nil
}

// az is a program that answers as Azure's command line does, or that fails.
func az(t *testing.T, script string) string {
	path := filepath.Join(t.TempDir(), "az")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEntra(t *testing.T) {
	path, der := certificate(t)
	e := &entra{t: t, cert: der}
	server := httptest.NewServer(e)
	defer server.Close()
	app := identity.Entra{Resource: "r", Authority: server.URL + "/", Tenant: "tenant", Client: "client"}
	kinds := map[string]identity.Entra{}
	add := func(name string, from identity.Entra, change func(*identity.Entra)) {
		change(&from)
		kinds[name] = from
	}
	add("secret", app, func(e *identity.Entra) { e.Secret = provider.NewSecret(canary) })
	add("certificate", app, func(e *identity.Entra) { e.Certificate = path })
	add("federated workload", app, func(e *identity.Entra) { e.TokenFile = write(t, "token", "workload\n") })
	add("machine", identity.Entra{Resource: "r", Managed: true}, func(e *identity.Entra) { e.ManagedHost = strings.TrimPrefix(server.URL, "http://") })
	add("App Service", identity.Entra{Resource: "r", Managed: true, Client: "client"}, func(e *identity.Entra) {
		e.Endpoint, e.EndpointSecret = server.URL+"/msi/token", provider.NewSecret("header-"+canary)
	})
	for name, from := range kinds {
		id := from.Open("azure", http.DefaultClient)
		if why := id.Missing(); why != "" {
			t.Errorf("%s: missing: %s", name, why)
		}
		token, expires, err := id.Token(t.Context())
		if left := time.Until(expires); err != nil || !strings.HasPrefix(token.Reveal(), "eyJ.") || left < 50*time.Minute || left > time.Hour {
			t.Errorf("%s: %q, which lasts %v, %v", name, token.Reveal(), left, err)
		}
		if (identity.Entra{Resource: "q"}).Open("azure", nil).Account() == id.Account() {
			t.Errorf("%s: another resource has the same account", name)
		}
	}
	e.refuses = true
	for name, from := range kinds {
		_, _, err := from.Open("azure", http.DefaultClient).Token(t.Context())
		got, ok := errors.AsType[*provider.Error](err)
		if !ok || got.Kind != provider.KindAuth || !strings.Contains(err.Error(), "AADSTS7000215") || name == "secret" && strings.Contains(err.Error(), canary) {
			t.Errorf("%s: refused: %v", name, err)
		}
	}
}

func TestEntraCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs: sh")
	}
	good := az(t, fmt.Sprintf(`[ "$*" = "account get-access-token --output json --resource https://cognitiveservices.azure.com --tenant tenant" ] && echo '{"accessToken":"eyJ.az","expires_on":%d}'`, time.Now().Add(time.Hour).Unix()))
	token, expires, err := identity.Entra{CLI: good, Tenant: "tenant"}.Open("azure", nil).Token(t.Context())
	if err != nil || token.Reveal() != "eyJ.az" || time.Until(expires) < 50*time.Minute {
		t.Errorf("%q, %v, %v", token.Reveal(), expires, err)
	}
	for script, says := range map[string]string{"echo 'Please run az login' >&2; exit 1": "Please run az login", "echo '{}'": "gave none"} {
		if _, _, err := (identity.Entra{CLI: az(t, script)}).Open("azure", nil).Token(t.Context()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", script, err)
		}
	}
	if _, _, err := (identity.Entra{CLI: filepath.Join(t.TempDir(), "none")}).Open("azure", nil).Token(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot be run") {
		t.Errorf("no az: %v", err)
	}
}

func TestEntraErrors(t *testing.T) {
	path, _ := certificate(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	alone := data[:bytes.Index(data, []byte("-----BEGIN PRIVATE KEY"))]
	app := identity.Entra{Tenant: "tenant", Client: "client", Authority: "http://127.0.0.1:1"}
	for name, tt := range map[string]struct {
		change func(*identity.Entra)
		says   string
	}{
		"no certificate":        {func(e *identity.Entra) { e.Certificate = filepath.Join(t.TempDir(), "none") }, "no such file"},
		"a certificate alone":   {func(e *identity.Entra) { e.Certificate = write(t, "a.pem", string(alone)) }, "private key"},
		"no workload's token":   {func(e *identity.Entra) { e.TokenFile = filepath.Join(t.TempDir(), "none") }, "token of the workload"},
		"nobody at the address": {func(e *identity.Entra) { e.Secret = provider.NewSecret(canary) }, "cannot be reached"},
	} {
		from := app
		tt.change(&from)
		if _, _, err := from.Open("azure", http.DefaultClient).Token(t.Context()); err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if why := (identity.Entra{Secret: provider.NewSecret("s"), Tenant: "t"}).Open("azure", nil).Missing(); !strings.Contains(why, "AZURE_CLIENT_ID") {
		t.Errorf("no client: %q", why)
	}
	if why := (identity.Entra{}).Open("azure", nil).Missing(); !strings.Contains(why, "[providers.azure.entra]") {
		t.Errorf("nothing: %q", why)
	}
}
