package identity_test

import (
	"errors"
	"fmt"
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
	"github.com/thinkd/thinkd/provider/sim/clouds"
)

// az is a program that answers as Azure's command line does, or that fails.
func az(t *testing.T, script string) string {
	path := filepath.Join(t.TempDir(), "az")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEntra(t *testing.T) {
	_, text := clouds.Certificate()
	path := write(t, "app.pem", text)
	e := &clouds.Entra{Secret: canary}
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
	add("federated workload", app, func(e *identity.Entra) { e.TokenFile = write(t, "token", clouds.Workload+"\n") })
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
	e.Refuse()
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
	_, text := clouds.Certificate()
	alone, _, _ := strings.Cut(text, "-----BEGIN PRIVATE KEY")
	app := identity.Entra{Tenant: "tenant", Client: "client", Authority: "http://127.0.0.1:1"}
	for name, tt := range map[string]struct {
		change func(*identity.Entra)
		says   string
	}{
		"no certificate":        {func(e *identity.Entra) { e.Certificate = filepath.Join(t.TempDir(), "none") }, "no such file"},
		"a certificate alone":   {func(e *identity.Entra) { e.Certificate = write(t, "a.pem", alone) }, "private key"},
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
