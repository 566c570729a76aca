package vendors_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
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
	"sync"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/identity"
	"github.com/thinkd/thinkd/provider/sim"
	simaws "github.com/thinkd/thinkd/provider/sim/aws"
	"github.com/thinkd/thinkd/provider/vendors"
)

// The tests of this file play a turn with calls of tools with each kind of credential of each cloud. The host ends the credential after each
// request, so that the next request of the turn needs another one.

// keep writes a file of a test, and returns its path.
func keep(t *testing.T, dir, name string, v any) string {
	t.Helper()
	text, ok := v.(string)
	if !ok {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		text = string(data)
	}
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// toolTurn plays a turn of four requests with a configured provider. The configuration may be changed before.
func toolTurn(t *testing.T, providerID, model, config string, change func(*vendors.Config), env ...string) (rounds int, err error) {
	t.Helper()
	c, err := loadConfig(proof.WriteConfig(t, config), proof.Environment(env...))
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Providers {
		if c.Providers[i].ID == providerID && change != nil {
			change(&c.Providers[i])
		}
	}
	catalog, err := vendors.Catalog(c.Providers, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := vendors.Open(c.Providers, c.Dialects, noKeys(t), catalog, discard)
	defer p.Close()
	s := simulated{p.Find(providerID), provider.Request{Model: catalog.Model(providerID, model), Tools: simulatedTools, Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeOmit}}}}
	calls, _, err := s.ask(t, "Look ahead. [[sim: tool=read rounds=3 text=5 pace=0]]")
	return len(calls), err
}

// bedrockHost is Amazon's model host, which ends each temporary credential after one request, and the servers that issue credentials.
type bedrockHost struct {
	inner http.Handler
	ended func() // called when a credential was ended; nil: nothing happens

	mu    sync.Mutex
	given int
	used  []string // access key ids whose requests went through
}

func (h *bedrockHost) next() (id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.given++
	return fmt.Sprintf("ASIAISSUED%d", h.given)
}

// ServeHTTP answers for all hosts. The model host checks each signature.
func (h *bedrockHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	say := func(format string, values ...any) { fmt.Fprintf(w, format, values...) }
	ends := time.Now().Add(time.Hour).UTC()
	switch {
	case strings.HasPrefix(r.URL.Path, "/sts"):
		action, id := r.FormValue("Action"), h.next()
		w.Header().Set("Content-Type", "text/xml")
		say(`<%[1]sResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><%[1]sResult><AssumedRoleUser><Arn>arn:aws:sts::1:assumed-role/reader/x</Arn><AssumedRoleId>A:x</AssumedRoleId></AssumedRoleUser><Credentials><AccessKeyId>%[2]s</AccessKeyId><SecretAccessKey>%[3]s</SecretAccessKey><SessionToken>%[4]s</SessionToken><Expiration>%[5]s</Expiration></Credentials></%[1]sResult></%[1]sResponse>`,
			action, id, simaws.SecretOf(id), simaws.TokenOf(id), ends.Format(time.RFC3339))
	case strings.HasPrefix(r.URL.Path, "/sso/federation/credentials"):
		id := h.next()
		say(`{"roleCredentials":{"accessKeyId":%q,"secretAccessKey":%q,"sessionToken":%q,"expiration":%d}}`, id, simaws.SecretOf(id), simaws.TokenOf(id), ends.UnixMilli())
	case r.URL.Path == "/latest/api/token":
		w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "300")
		say("imds-token")
	case strings.HasSuffix(r.URL.Path, "/iam/security-credentials/"), strings.HasSuffix(r.URL.Path, "/iam/security-credentials-extended/"):
		say("reader")
	case r.URL.Path == "/container", strings.HasSuffix(r.URL.Path, "/reader"):
		id := h.next()
		say(`{"Code":"Success","Type":"AWS-HMAC","AccessKeyId":%q,"SecretAccessKey":%q,"Token":%q,"Expiration":%q,"LastUpdated":%q}`, id, simaws.SecretOf(id), simaws.TokenOf(id), ends.Format(time.RFC3339), ends.Format(time.RFC3339))
	default:
		h.model(w, r)
	}
}

func (h *bedrockHost) model(w http.ResponseWriter, r *http.Request) {
	_, rest, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	id, _, _ := strings.Cut(rest, "/")
	h.mu.Lock()
	over := strings.HasPrefix(id, "ASIA") && slices.Contains(h.used, id)
	if !over {
		h.used = append(h.used, id)
	}
	h.mu.Unlock()
	if !over {
		h.inner.ServeHTTP(w, r)
		return
	}
	if h.ended != nil {
		h.ended()
	}
	w.Header().Set("X-Amzn-Errortype", "ExpiredTokenException")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	io.WriteString(w, `{"message":"The security token included in the request is expired"}`)
}

// keysOf is a section of a file with keys.
func keysOf(id string) string {
	text := fmt.Sprintf("aws_access_key_id = %s\naws_secret_access_key = %s\n", id, simaws.SecretOf(id))
	if strings.HasPrefix(id, "ASIA") {
		text += "aws_session_token = " + simaws.TokenOf(id) + "\n"
	}
	return text
}

func TestAmazonCredentialsExpireInToolLoop(t *testing.T) {
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "") // restores it
			os.Unsetenv(name)
		}
	}
	const sso = "[profile sso]\nsso_session = corp\nsso_account_id = 111122223333\nsso_role_name = reader\n[sso-session corp]\nsso_region = eu-central-1\nsso_start_url = https://corp.example.com/start\n"
	for _, tt := range []struct {
		name, profile string
		set           func(t *testing.T, h *bedrockHost, home, at string)
		different     int    // credentials that four requests need
		fails         string // the turn
	}{
		{"keys in the environment", "", func(t *testing.T, _ *bedrockHost, _, _ string) {
			t.Setenv("AWS_ACCESS_KEY_ID", "AKIAENV")
			t.Setenv("AWS_SECRET_ACCESS_KEY", simaws.SecretOf("AKIAENV"))
		}, 1, ""},
		{"temporary keys in the environment", "", func(t *testing.T, _ *bedrockHost, _, _ string) {
			t.Setenv("AWS_ACCESS_KEY_ID", "ASIAENV")
			t.Setenv("AWS_SECRET_ACCESS_KEY", simaws.SecretOf("ASIAENV"))
			t.Setenv("AWS_SESSION_TOKEN", simaws.TokenOf("ASIAENV"))
		}, 1, "expired"},
		{"a profile with keys", "work", func(t *testing.T, _ *bedrockHost, home, _ string) {
			keep(t, home, "credentials", "[work]\n"+keysOf("AKIAWORK"))
		}, 1, ""},
		{"a profile with temporary keys that another program renews", "work", func(t *testing.T, h *bedrockHost, home, _ string) {
			h.ended = func() { keep(t, home, "credentials", "[work]\n"+keysOf(h.next())) }
			h.ended()
		}, 4, ""},
		{"single sign-on", "sso", func(t *testing.T, _ *bedrockHost, home, _ string) {
			keep(t, home, "config", sso)
			name := sha1.Sum([]byte("corp"))
			keep(t, home, ".aws/sso/cache/"+hex.EncodeToString(name[:])+".json", `{"accessToken":"sso-token","expiresAt":"`+time.Now().Add(time.Hour).UTC().Format(time.RFC3339)+`"}`)
		}, 4, ""},
		{"an assumed role", "role", func(t *testing.T, _ *bedrockHost, home, _ string) {
			keep(t, home, "credentials", "[source]\n"+keysOf("AKIASOURCE"))
			keep(t, home, "config", "[profile role]\nrole_arn = arn:aws:iam::1:role/reader\nsource_profile = source\n")
		}, 4, ""},
		{"web identity", "", func(t *testing.T, _ *bedrockHost, home, _ string) {
			t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", keep(t, home, "token", "the-token"))
			t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/reader")
		}, 4, ""},
		{"a container", "", func(t *testing.T, _ *bedrockHost, _, at string) {
			t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", at+"/container")
			t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "x")
		}, 4, ""},
		{"the metadata of an instance", "", func(*testing.T, *bedrockHost, string, string) {}, 4, ""},
		{"a program", "program", func(t *testing.T, h *bedrockHost, home, _ string) {
			h.ended = func() {
				id := h.next()
				keep(t, home, "out.json", map[string]any{"Version": 1, "AccessKeyId": id, "SecretAccessKey": simaws.SecretOf(id), "SessionToken": simaws.TokenOf(id), "Expiration": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
			}
			h.ended()
			keep(t, home, "config", "[profile program]\ncredential_process = cat "+filepath.Join(home, "out.json")+"\n")
		}, 4, ""},
	} {
		for _, model := range []string{"us.anthropic.claude-opus-5-5", "us.amazon.nova-2-lite-v1:0"} { // InvokeModel and Converse
			t.Run(tt.name+"/"+model, func(t *testing.T) {
				host, home := sim.New(sim.Config{}), t.TempDir()
				h := &bedrockHost{inner: host}
				at := proof.Serve(t, h)
				for name, value := range map[string]string{"HOME": home, "USERPROFILE": home, "AWS_CONFIG_FILE": filepath.Join(home, "config"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(home, "credentials"),
					"AWS_EC2_METADATA_SERVICE_ENDPOINT": at, "AWS_ENDPOINT_URL_STS": at + "/sts", "AWS_ENDPOINT_URL_SSO": at + "/sso"} {
					t.Setenv(name, value)
				}
				tt.set(t, h, home, at)
				n, err := toolTurn(t, "bedrock", model, fmt.Sprintf("[providers.bedrock]\nbase_url = %q\nregion = \"eu-central-1\"\naws_profile = %q\n", at, tt.profile), nil)
				if tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)) || tt.fails == "" && (err != nil || n != 3) {
					t.Errorf("%d rounds, error %v, want %q", n, err, tt.fails)
				}
				slices.Sort(h.used)
				if got := len(slices.Compact(h.used)); got != tt.different {
					t.Errorf("%d credentials were used, want %d", got, tt.different)
				}
				for _, r := range host.Refusals() {
					t.Errorf("refused: %+v", r)
				}
			})
		}
	}
}

// rsaKey is a private key as Google and Microsoft want it.
func rsaKey(t *testing.T) (*rsa.PrivateKey, string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// googleProxy is a proxy of a company that opens TLS: what goes to Google's own address of tokens ends at the stand-in. It returns the settings of
// a provider for it.
func googleProxy(t *testing.T, cloud http.Handler) string {
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
	inner := httptest.NewUnstartedServer(cloud)
	inner.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	inner.StartTLS()
	t.Cleanup(inner.Close)
	outer := proof.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			cloud.ServeHTTP(w, r)
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
		w.WriteHeader(http.StatusOK)
		from, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		go func() { io.Copy(to, from); to.Close() }() // ends with the connection of the client
		go func() { io.Copy(from, to); from.Close() }()
	}))
	ca := keep(t, t.TempDir(), "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	return fmt.Sprintf("proxy = %q\nca_file = %q\n", outer, ca)
}

func TestGoogleCredentialsExpireInToolLoop(t *testing.T) {
	_, key := rsaKey(t)
	type object = map[string]any
	for _, name := range []string{"service account", "person", "impersonation", "workload identity", "workload identity, impersonated", "metadata server"} {
		t.Run(name, func(t *testing.T) {
			host := sim.New(sim.Config{})
			cloud := &expiring{inner: host}
			at, dir := proof.Serve(t, cloud), t.TempDir()
			service := object{"type": "service_account", "client_email": "me@project.iam", "private_key": key, "private_key_id": "1", "token_uri": at + "/token"}
			federated := object{"type": "external_account", "audience": "//iam/pool", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
				"token_url": at + "/token", "credential_source": object{"file": keep(t, dir, "oidc", "the-token")}}
			var file any
			settings, env := "", []string{"CLOUDSDK_CONFIG=" + filepath.Join(dir, "gcloud")}
			switch name {
			case "service account":
				file = service
			case "person":
				file, settings = object{"type": "authorized_user", "client_id": "id", "client_secret": "s", "refresh_token": "r"}, googleProxy(t, cloud)
			case "impersonation":
				file = object{"type": "impersonated_service_account", "service_account_impersonation_url": at + "/impersonate", "source_credentials": service}
			case "workload identity":
				file = federated
			case "workload identity, impersonated":
				federated["service_account_impersonation_url"] = at + "/impersonate"
				file = federated
			case "metadata server":
				env = append(env, "GCE_METADATA_HOST="+strings.TrimPrefix(at, "http://"))
			}
			if file != nil {
				keep(t, dir, "gcloud/application_default_credentials.json", file)
			}
			n, err := toolTurn(t, "vertex", "claude-opus-5-5", fmt.Sprintf("[providers.vertex]\nbase_url = %q\n%s[providers.vertex.google]\nproject = \"p\"\nlocation = \"eu\"\n", at, settings), nil, env...)
			if n != 3 || err != nil {
				t.Errorf("%d rounds, error %v", n, err)
			}
			if len(cloud.used) != 4 || len(cloud.refused) != 3 {
				t.Errorf("tokens used %q, refused %q", cloud.used, cloud.refused)
			}
			for _, r := range host.Refusals() {
				t.Errorf("refused: %+v", r)
			}
		})
	}
}

func TestEntraCredentialsExpireInToolLoop(t *testing.T) {
	key, private := rsaKey(t)
	form := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "app"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certificate := keep(t, dir, "app.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))+private)
	for name, tt := range map[string]struct{ section, env string }{
		"secret":               {"", "AZURE_CLIENT_SECRET=secret"},
		"certificate":          {fmt.Sprintf("client_certificate_file = %q\n", certificate), ""},
		"workload":             {"", "AZURE_FEDERATED_TOKEN_FILE=" + keep(t, dir, "token", "workload")},
		"the machine":          {"managed_identity = true\n", ""},
		"App Service":          {"", "IDENTITY_ENDPOINT=%s/msi/token IDENTITY_HEADER=x"},
		"the command of Azure": {"azure_cli = true\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cloud, at := azure(t)
			if name == "the command of Azure" {
				if runtime.GOOS == "windows" {
					t.Skip("needs: sh")
				}
				keep(t, dir, "bin/az", fmt.Sprintf("#!/bin/sh\necho x >>%[1]s\nn=$(wc -l <%[1]s)\necho \"{\\\"accessToken\\\":\\\"az.$((n))\\\",\\\"expires_on\\\":%[2]d}\"\n", filepath.Join(dir, "calls"), time.Now().Add(time.Hour).Unix()))
				t.Setenv("PATH", filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
			}
			env := strings.Fields(strings.ReplaceAll(tt.env, "%s", at))
			n, err := toolTurn(t, "azure", "gpt-6-sol", azureConfig(at, tt.section), func(c *vendors.Config) {
				e := c.Identity.(identity.Entra)
				e.ManagedHost = strings.TrimPrefix(at, "http://")
				c.Identity = e
			}, env...)
			if n != 3 || err != nil {
				t.Errorf("%d rounds, error %v", n, err)
			}
			if len(cloud.used) != 4 || len(cloud.refused) != 3 {
				t.Errorf("tokens used %q, refused %q", cloud.used, cloud.refused)
			}
		})
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
	n, err := toolTurn(t, "bedrock", "us.anthropic.claude-opus-5-5", fmt.Sprintf("[providers.bedrock]\nbase_url = %q\n", at), nil, "AWS_BEARER_TOKEN_BEDROCK=bedrock-key")
	e, ok := err.(*provider.Error)
	if n != 2 || !ok || e.Kind != provider.KindAuth || !strings.Contains(e.Error(), "Bearer Token has expired") || calls != 3 {
		t.Errorf("%d rounds, %d calls, error %v", n, calls, err)
	}
}
