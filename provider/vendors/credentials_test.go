package vendors_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/identity"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/clouds"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/provider/vendors"
	"github.com/thinkd/thinkd/registry"
)

// cloudTurns plays a turn of four requests with three calls of a tool with each of the models, whose thinking goes back under the credentials
// of each request. text is the section of a provider, which change completes.
func cloudTurns(t *testing.T, text string, env []string, change func(*vendors.Config), refs []string, turned func(ref string)) {
	t.Helper()
	c, err := loadConfig(proof.WriteConfig(t, "models_dev = \"\"\n"+text), proof.Environment(env...))
	if err != nil {
		t.Fatal(err)
	}
	id, _, _ := strings.Cut(refs[0], "/")
	for i := range c.Providers {
		if c.Providers[i].ID == id && change != nil {
			change(&c.Providers[i])
		}
	}
	catalog, err := vendors.Catalog(c.Providers, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := vendors.Open(c.Providers, c.Dialects, noKeys(t), catalog, discard)
	defer p.Close()
	for _, ref := range refs {
		m := catalog.Model(id, strings.TrimPrefix(ref, id+"/"))
		d, err := registry.Resolve(registry.Ask{}, m)
		if err != nil {
			t.Fatal(err)
		}
		history := providertest.Turn(t, p.Find(id), provider.Request{Model: m, Decision: d, Tools: providertest.ReadTool}, "Read it. [[sim: tool=read rounds=3 text=5 pace=0]]")
		if len(history) != 8 {
			t.Errorf("%s: %d messages", ref, len(history))
		}
		turned(ref)
	}
}

// onceEach checks that each of four requests was made with another credential, of which three were refused before.
func onceEach(t *testing.T, host *clouds.Once, refused int) func(string) {
	return func(ref string) {
		used, ended := host.Seen()
		if slices.Sort(used); len(used) != 4 || len(slices.Compact(used)) != 4 || len(ended) < refused {
			t.Errorf("%s: credentials used %q, refused %q", ref, used, ended)
		}
		host.Forget()
	}
}

// TestAmazonCredentials makes turns with all kinds of Amazon's credentials. Those that can be renewed end after each request of the turn.
func TestAmazonCredentials(t *testing.T) {
	for _, tt := range []struct {
		name, profile string
		set           func(a *clouds.Amazon)
		lasts         bool // they are not renewed, and do not end
		next          func(a *clouds.Amazon, id string)
	}{
		{"a key in the environment", "", func(a *clouds.Amazon) { a.Environment("AKIAENV") }, true, nil},
		{"a key of a profile", "work", func(a *clouds.Amazon) { a.File("credentials", "[work]\n"+clouds.Keys("AKIAWORK")) }, true, nil},
		{"a temporary key of a profile, which a program replaces", "work", func(a *clouds.Amazon) { a.File("credentials", "[work]\n"+clouds.Keys("ASIAWORK")) }, false,
			func(a *clouds.Amazon, id string) { a.File("credentials", "[work]\n"+clouds.Keys(id)) }},
		{"single sign-on", "sso", func(a *clouds.Amazon) { a.SignOn(true) }, false, nil},
		{"an assumed role", "role", (*clouds.Amazon).Role, false, nil},
		{"web identity", "", (*clouds.Amazon).WebIdentity, false, nil},
		{"a container", "", (*clouds.Amazon).Container, false, nil},
		{"the metadata of an instance", "", func(*clouds.Amazon) {}, false, nil},
		{"a program", "program", func(a *clouds.Amazon) { a.Program("ASIAPROGRAM") }, false, (*clouds.Amazon).Program},
	} {
		for _, mantle := range []bool{false, true} {
			name, dialect, refs := tt.name, "", []string{"bedrock/eu.anthropic.claude-opus-5-5", "bedrock/us.amazon.nova-2-lite-v1:0"}
			if mantle {
				name, dialect, refs = name+" at the other host", "dialect = \"mantle\"\n", refs[:1]
			}
			t.Run(name, func(t *testing.T) {
				if runtime.GOOS == "windows" && tt.profile == "program" {
					t.Skip("needs: cat")
				}
				a := clouds.NewAmazon(t)
				a.IDs = nil
				for i := range 100 {
					a.IDs = append(a.IDs, fmt.Sprintf("ASIAISSUED%d", i))
				}
				tt.set(a)
				model := sim.New(sim.Config{})
				host := &clouds.Once{Inner: model}
				turned := onceEach(t, host, 3)
				if n := 0; tt.next != nil {
					host.Ended = func() {
						n++
						tt.next(a, fmt.Sprintf("ASIANEXT%d", n))
					}
				}
				var front http.Handler = host
				if tt.lasts {
					front, turned = model, func(string) {}
				}
				server := httptest.NewServer(front)
				defer server.Close()
				text := fmt.Sprintf("[providers.bedrock]\n%sbase_url = %q\nregion = \"eu-central-1\"\n", dialect, server.URL)
				if tt.profile != "" {
					text += fmt.Sprintf("aws_profile = %q\n", tt.profile)
				}
				cloudTurns(t, text, nil, nil, refs, turned)
				for _, r := range model.Refusals() {
					t.Errorf("refused: %+v", r)
				}
			})
		}
	}
}

// googleProxy is a proxy of a company that opens TLS: what goes to Google's own address of tokens ends at the stand-in. It returns the settings of
// a provider for it.
func googleProxy(t *testing.T, tokens, models http.Handler) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "proxy"}, DNSNames: []string{"oauth2.googleapis.com"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	inner := httptest.NewUnstartedServer(tokens)
	inner.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	inner.StartTLS()
	t.Cleanup(inner.Close)
	outer := proof.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			models.ServeHTTP(w, r)
			return
		}
		if r.Host != "oauth2.googleapis.com:443" {
			http.Error(w, r.Host, http.StatusForbidden)
			return
		}
		to, err := net.Dial("tcp", inner.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		from, begun, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(from, "HTTP/1.1 200 Connection established\r\n\r\n")
		testgo.Go(t, func() { io.Copy(to, begun); to.Close() }) // ends with the connection of the client
		testgo.Go(t, func() { io.Copy(from, to); from.Close() })
	}))
	ca := keep(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), 0o600)
	return fmt.Sprintf("proxy = %q\nca_file = %q\n", outer, ca)
}

// keep writes a file of a test, and returns its path.
func keep(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestGoogleCredentials makes turns over all APIs of Google Cloud with all kinds of identities, whose tokens end after each request.
func TestGoogleCredentials(t *testing.T) {
	model := sim.New(sim.Config{})
	host := &clouds.Once{Inner: model, Account: "the-account"}
	server := httptest.NewServer(host)
	defer server.Close()
	issuer := &clouds.Google{Secret: "secret", Issued: host.Issue}
	tokens := httptest.NewServer(issuer)
	defer tokens.Close()
	subject := keep(t, "subject", clouds.Subject, 0o600)
	kinds := map[string]map[string]any{"metadata server": nil}
	for name, content := range issuer.Credentials(tokens.URL, subject) {
		kinds[name] = content
	}
	for name, content := range kinds {
		t.Run(name, func(t *testing.T) {
			env, settings, file := []string{"GCE_METADATA_HOST=" + strings.TrimPrefix(tokens.URL, "http://")}, "", ""
			switch {
			case name == "person": // the application default credentials, where gcloud puts them. Their file names no address of tokens
				path := keep(t, "application_default_credentials.json", encoded(t, content), 0o600)
				env, settings = []string{"CLOUDSDK_CONFIG=" + filepath.Dir(path)}, googleProxy(t, issuer, host)
			case content != nil:
				file = fmt.Sprintf("credentials_file = %q\n", keep(t, "credentials.json", encoded(t, content), 0o600))
			}
			cloudTurns(t, fmt.Sprintf("[providers.vertex]\nbase_url = %q\n%s[providers.vertex.google]\nproject = \"p\"\nlocation = \"eu\"\n%s", server.URL, settings, file), env, nil,
				[]string{"vertex/claude-opus-5-5", "vertex/gemini-3.8-flash", "vertex/openai/gpt-oss-120b-maas", "vertex/mistral-medium-3"}, onceEach(t, host, 3))
		})
	}
	for _, r := range model.Refusals() {
		t.Errorf("refused: %+v", r)
	}
}

// TestEntraCredentials makes turns on Azure with all kinds of identities, whose tokens end after each request.
func TestEntraCredentials(t *testing.T) {
	model := sim.New(sim.Config{})
	host := &clouds.Once{Inner: model, Account: "the-account"}
	server := httptest.NewServer(host)
	defer server.Close()
	tokens := httptest.NewServer(&clouds.Entra{Secret: "secret", Issued: host.Issue})
	defer tokens.Close()
	_, certificate := clouds.Certificate()
	count := keep(t, "count", "", 0o600)
	az := keep(t, "az", fmt.Sprintf("#!/bin/sh\necho . >>%[1]s\necho '{\"accessToken\":\"eyJ.az'$(wc -l <%[1]s | tr -d ' ')'\",\"expires_on\":%[2]d}'\n", count, time.Now().Add(time.Hour).Unix()), 0o700)
	for _, tt := range []struct{ name, entra, env string }{
		{"client secret", "tenant_id = \"tenant\"\nclient_id = \"client\"\n", "AZURE_CLIENT_SECRET=secret"},
		{"client secret, all of it in the environment", "", "AZURE_TENANT_ID=tenant AZURE_CLIENT_ID=client AZURE_CLIENT_SECRET=secret"},
		{"certificate", fmt.Sprintf("tenant_id = \"tenant\"\nclient_id = \"client\"\nclient_certificate_file = %q\n", keep(t, "app.pem", certificate, 0o600)), ""},
		{"federated workload", "", "AZURE_TENANT_ID=tenant AZURE_CLIENT_ID=client AZURE_FEDERATED_TOKEN_FILE=" + keep(t, "token", clouds.Workload, 0o600)},
		{"managed identity", "managed_identity = true\n", ""},
		{"managed identity of App Service", "client_id = \"client\"\nmanaged_identity = true\n", "IDENTITY_HEADER=header-secret IDENTITY_ENDPOINT=" + tokens.URL + "/msi/token"},
		{"login of az", "azure_cli = true\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "login of az" {
				if runtime.GOOS == "windows" {
					t.Skip("needs: sh")
				}
				t.Setenv("PATH", filepath.Dir(az)+string(os.PathListSeparator)+os.Getenv("PATH"))
				host.Issue("") // each token of az is valid
			}
			text := fmt.Sprintf("[providers.azure]\nbase_url = \"%s/openai/v1\"\n", server.URL)
			env := append(strings.Fields(tt.env), "AZURE_AUTHORITY_HOST="+tokens.URL)
			if tt.entra != "" {
				text += "[providers.azure.entra]\n" + tt.entra
			}
			cloudTurns(t, text, env, func(c *vendors.Config) {
				e := c.Identity.(identity.Entra)
				e.ManagedHost = strings.TrimPrefix(tokens.URL, "http://")
				c.Identity = e
			}, []string{"azure/gpt-6-sol"}, onceEach(t, host, 3))
		})
	}
	for _, r := range model.Refusals() {
		t.Errorf("refused: %+v", r)
	}
}

// cutTurn plays a turn with Claude on Bedrock that is to fail, and returns how many calls of tools were made before.
func cutTurn(t *testing.T, text string, env ...string) (calls int, err error) {
	t.Helper()
	c, err := loadConfig(proof.WriteConfig(t, text), proof.Environment(env...))
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := vendors.Catalog(c.Providers, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := vendors.Open(c.Providers, c.Dialects, noKeys(t), catalog, discard)
	defer p.Close()
	s := simulated{p.Find("bedrock"), provider.Request{Model: catalog.Model("bedrock", "us.anthropic.claude-opus-5-5"), Tools: simulatedTools, Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeOmit}}}}
	list, _, err := s.ask(t, "Look ahead. [[sim: tool=read rounds=3 text=5 pace=0]]")
	return len(list), err
}

// TestAmazonKeyEnds ends a temporary key of the environment in a tool loop. The process cannot get another one: the error says so.
func TestAmazonKeyEnds(t *testing.T) {
	clouds.NewAmazon(t).Environment("ASIAENV")
	host := &clouds.Once{Inner: sim.New(sim.Config{})}
	n, err := cutTurn(t, fmt.Sprintf("[providers.bedrock]\nbase_url = %q\nregion = \"eu-central-1\"\n", proof.Serve(t, host)))
	e, ok := errors.AsType[*provider.Error](err)
	if used, refused := host.Seen(); n != 1 || !ok || e.Kind != provider.KindAuth || !strings.Contains(e.Error(), "expired") || len(used) != 1 || len(refused) != 1 {
		t.Errorf("%d calls, used %q, refused %q, error %v", n, used, refused, err)
	}
}

// TestRefusedBearer ends a key of Bedrock in a tool loop. Nothing renews it: the error says what to do.
func TestRefusedBearer(t *testing.T) {
	calls := 0
	host := sim.New(sim.Config{})
	at := proof.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls < 3 {
			host.ServeHTTP(w, r)
			return
		}
		w.Header().Set("X-Amzn-Errortype", "AccessDeniedException")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, `{"Message":"Bearer Token has expired"}`)
	}))
	n, err := cutTurn(t, fmt.Sprintf("[providers.bedrock]\nbase_url = %q\n", at), "AWS_BEARER_TOKEN_BEDROCK=bedrock-key")
	e, ok := errors.AsType[*provider.Error](err)
	if n != 2 || !ok || e.Kind != provider.KindAuth || !strings.Contains(e.Error(), "Bearer Token has expired") || calls != 3 {
		t.Errorf("%d rounds, %d calls, error %v", n, calls, err)
	}
}
