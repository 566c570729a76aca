package serve

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/rpc/conn"
)

// deviceProvider is zitadel's OpenID provider with a public client that may use the device flow.
type deviceProvider struct {
	*storage.Storage
	key *ecdsa.PrivateKey
	url string
}

type publicClient struct{ op.Client }

func (publicClient) AuthMethod() oidc.AuthMethod { return oidc.AuthMethodNone }
func (publicClient) GrantTypes() []oidc.GrantType {
	return []oidc.GrantType{oidc.GrantTypeDeviceCode, oidc.GrantTypeRefreshToken}
}

func (p *deviceProvider) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	c, err := p.Storage.GetClientByClientID(ctx, id)
	if err != nil {
		return nil, err
	}
	return publicClient{c}, nil
}

// TokenRequestByRefreshToken knows the client also of grants of the device flow, which the example's storage does not note.
func (p *deviceProvider) TokenRequestByRefreshToken(ctx context.Context, token string) (op.RefreshTokenRequest, error) {
	r, err := p.Storage.TokenRequestByRefreshToken(ctx, token)
	if err != nil {
		return nil, err
	}
	return ofClient{r}, nil
}

type ofClient struct{ op.RefreshTokenRequest }

func (ofClient) GetClientID() string { return "thinkd" }

// RevokeToken is for such grants as well.
func (p *deviceProvider) RevokeToken(ctx context.Context, id, user, _ string) *oidc.Error {
	return p.Storage.RevokeToken(ctx, id, user, "")
}

// knows reports whether a refresh token counts.
func (p *deviceProvider) knows(ctx context.Context, refresh string) bool {
	_, err := p.Storage.TokenRequestByRefreshToken(ctx, refresh)
	return err == nil
}

// deviceKey signs with ES256.
type deviceKey struct{ key *ecdsa.PrivateKey }

func (deviceKey) ID() string                                  { return "k" }
func (deviceKey) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.ES256 }
func (d deviceKey) Key() any                                  { return d.key }

type devicePublic struct{ deviceKey }

func (devicePublic) Algorithm() jose.SignatureAlgorithm { return jose.ES256 }
func (devicePublic) Use() string                        { return "sig" }
func (d devicePublic) Key() any                         { return d.key.Public() }

func (p *deviceProvider) SigningKey(context.Context) (op.SigningKey, error) {
	return deviceKey{p.key}, nil
}
func (p *deviceProvider) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.ES256}, nil
}
func (p *deviceProvider) KeySet(context.Context) ([]op.Key, error) {
	return []op.Key{devicePublic{deviceKey{p.key}}}, nil
}

func newDeviceProvider(t *testing.T) *deviceProvider {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &deviceProvider{key: key}
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	p.url = strings.Replace(server.URL, "127.0.0.1", "localhost", 1) // the name for which the provider allows http
	p.Storage = storage.NewStorageWithClients(storage.NewUserStore(p.url), map[string]*storage.Client{"thinkd": storage.NativeClient("thinkd", "http://localhost/")})
	handler = exampleop.SetupServer(p.url, p, nil, false)
	return p
}

// A person logs in with the device flow, and commands with --remote work on the daemon as that user. An expired token is renewed.
func TestRemoteLogin(t *testing.T) {
	t.Parallel()
	issuer := newDeviceProvider(t)
	config := proof.WriteConfig(t, fmt.Sprintf("[auth.oidc]\nissuer = %q\naudience = \"thinkd\"\n", issuer.url))
	s := proof.StartServe(t, proof.Command(t, nil, append(proof.ServeArgs(t.TempDir()), "--config", config)...))
	mine := t.TempDir()
	run := runner(t, mine)
	if text, err := run("", "models", "--remote", s.Base); err == nil || !strings.Contains(text, "thinkd remote login") {
		t.Errorf("without a login: %s, %v", text, err)
	}

	issuer.logIn(t, s.Base, "--data", mine, "remote", "login", s.Base)
	path := filepath.Join(mine, "remotes.json")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}

	if text, err := run("", "prompt", "--remote", s.Base, "--model", "sim/claude", "hello [[sim: pace=0]]"); err != nil || text == "" {
		t.Errorf("prompt: %s, %v", text, err)
	}
	if text, err := run("", "sessions", "list", "--remote", s.Base, "--json"); err != nil || !strings.Contains(text, "session_id") {
		t.Errorf("sessions: %s, %v", text, err)
	}
	if text, err := run("", "status", "--remote", s.Base); err == nil || !strings.Contains(text, "no effect") {
		t.Errorf("status: %s, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(mine, "thinkd.sock")); err == nil {
		t.Error("a daemon was started on this machine")
	}

	// The token is about to expire: it is renewed, and kept.
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	old := regexp.MustCompile(`"expires": "[^"]*"`).ReplaceAll(before, []byte(`"expires": "2026-01-01T00:00:00Z"`))
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := run("", "models", "--remote", s.Base); err != nil {
		t.Errorf("with an expired token: %s, %v", text, err)
	}
	after, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(after), "2026-01-01") {
		t.Errorf("it was not renewed: %v", err)
	}
	// Without a grant to renew it with, the command says what to do.
	void := regexp.MustCompile(`"refresh": "[^"]*"`).ReplaceAll(old, []byte(`"refresh": "none"`))
	if err := os.WriteFile(path, void, 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := run("", "models", "--remote", s.Base); err == nil || !strings.Contains(text, "thinkd remote login") || strings.Contains(text, "eyJ") {
		t.Errorf("with a void grant: %s, %v", text, err)
	}
	if text, err := run("", "remote", "list"); err != nil || strings.TrimSpace(text) != s.Base {
		t.Errorf("list: %s, %v", text, err)
	}
	if text, err := run("", "remote", "logout", s.Base); err != nil { // its void grant is none to revoke
		t.Errorf("logout: %s, %v", text, err)
	}

	// An editor's login: it logs in to the daemon first. Whoever is logged in is asked for the key of a provider.
	issuer.logIn(t, s.Base, "--data", mine, "acp", "--remote", s.Base, "--login")
	if text, err := run("", "acp", "--remote", s.Base, "--login"); err == nil || !strings.Contains(text, "Type the name of a provider") || strings.Contains(text, "enter the code") {
		t.Errorf("a second login: %s, %v", text, err)
	}

	// A logout revokes the grant at the provider, and removes the login also if that cannot be reached.
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	grant := regexp.MustCompile(`"refresh": "([^"]*)"`).FindSubmatch(kept)
	if grant == nil || !issuer.knows(t.Context(), string(grant[1])) {
		t.Fatal("the login has no grant")
	}
	if text, err := run("", "remote", "logout", s.Base); err != nil || text != "" || issuer.knows(t.Context(), string(grant[1])) {
		t.Errorf("logout: %s, %v; the grant counts: %v", text, err, issuer.knows(t.Context(), string(grant[1])))
	}
	away := regexp.MustCompile(`"issuer": "[^"]*"`).ReplaceAll(kept, []byte(`"issuer": "http://localhost:1"`))
	if err := os.WriteFile(path, away, 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := run("", "remote", "logout", s.Base); err != nil || !strings.Contains(text, "not revoked at its OpenID provider") || strings.Contains(text, string(grant[1])) {
		t.Errorf("logout without the provider: %s, %v", text, err)
	}
	if text, err := run("", "remote", "list"); err != nil || strings.TrimSpace(text) != "" {
		t.Errorf("list: %s, %v", text, err)
	}
	s.Terminate()
}

// logIn runs a command that shows a code, and enters it at the provider. The command ends with a login to a daemon.
func (p *deviceProvider) logIn(t *testing.T, daemon string, args ...string) {
	t.Helper()
	cmd := proof.Command(t, nil, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	code := regexp.MustCompile(`enter the code (\S+)`)
	for in := bufio.NewScanner(out); in.Scan(); {
		said.WriteString(in.Text() + "\n")
		if found := code.FindStringSubmatch(in.Text()); found != nil {
			if err := p.CompleteDeviceAuthorization(t.Context(), found[1], "id1"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(said.String(), "Open "+p.url) || !strings.Contains(said.String(), "logged in to "+daemon) {
		t.Fatalf("%s, %v", said.String(), err)
	}
}

// runner runs commands of a user whose data directory is data, and returns all that they print.
func runner(t *testing.T, data string) func(input string, args ...string) (string, error) {
	return func(input string, args ...string) (string, error) {
		cmd := proof.Command(t, nil, append([]string{"--data", data}, args...)...)
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
}

// An API token is another way in, and the daemon's reason is what the command says.
func TestRemoteToken(t *testing.T) {
	data, config, mine := t.TempDir(), proof.WriteConfig(t, "[auth]\n"), t.TempDir()
	word := token(t, data, config, "create", "--user", "ann")
	s := proof.StartServe(t, proof.Command(t, nil, append(proof.ServeArgs(data), "--config", config)...))
	run := runner(t, mine)
	if text, err := run("", "remote", "login", s.Base); err == nil || !strings.Contains(text, "no OpenID provider") {
		t.Errorf("%s, %v", text, err)
	}
	if text, err := run("thd_wrong\n", "remote", "login", "--token", s.Base); err == nil || !strings.Contains(text, "401") || strings.Contains(text, "thd_wrong") {
		t.Errorf("%s, %v", text, err)
	}
	if text, err := run(word+"\n", "remote", "login", "--token", s.Base); err != nil {
		t.Errorf("%s, %v", text, err)
	}
	if text, err := run("", "sessions", "list", "--remote", s.Base); err != nil {
		t.Errorf("%s, %v", text, err)
	}
	if text, err := run("", "models", "--remote", "http://thinkd.example.com"); err == nil || !strings.Contains(text, "no TLS") {
		t.Errorf("%s, %v", text, err)
	}
	s.Terminate()
}

// Editors and scripts reach a daemon of another machine through a pipe, with both protocols. What was asked before the input ends is answered,
// a restart of the daemon is survived, and a login that is void says what to run.
func TestRemotePipes(t *testing.T) {
	t.Parallel()
	data, config, mine := t.TempDir(), proof.WriteConfig(t, "[auth]\n"), t.TempDir()
	word := token(t, data, config, "create", "--user", "ann")
	s := proof.StartServe(t, proof.Command(t, nil, append(proof.ServeArgs(data), "--config", config)...))
	run := runner(t, mine)
	if text, err := run("", "stdio", "--remote", s.Base); err == nil || !strings.Contains(text, "thinkd remote login") {
		t.Errorf("without a login: %s, %v", text, err)
	}
	if text, err := run(word+"\n", "remote", "login", "--token", s.Base); err != nil {
		t.Fatalf("%s, %v", text, err)
	}
	text, err := run(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`+"\n"+`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"model_id":"sim/claude"}}`+"\n", "stdio", "--remote", s.Base)
	if lines := strings.Split(strings.TrimSpace(text), "\n"); err != nil || len(lines) != 2 || !strings.Contains(lines[0], `"user":"ann"`) || !strings.Contains(lines[1], `"session_id"`) {
		t.Errorf("stdio: %s, %v", text, err)
	}
	text, err = run(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`+"\n"+`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`+"\n", "acp", "--remote", s.Base)
	if err != nil || !strings.Contains(text, `"protocolVersion":1`) || !strings.Contains(text, `"sessionId"`) {
		t.Errorf("acp: %s, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(mine, "thinkd.sock")); err == nil {
		t.Error("a daemon was started on this machine")
	}

	// The daemon restarts at the same address: the client goes on.
	p := proof.StartCommand(t, proof.Command(t, nil, "--data", mine, "stdio", "--remote", s.Base))
	p.Must("initialize", map[string]any{}, nil)
	address := strings.TrimSuffix(strings.TrimPrefix(s.Base, "http://"), "/")
	s.Terminate()
	s = proof.StartServe(t, proof.Command(t, nil, "--data", data, "--config", config, "serve", "--listen", address))
	var list struct{ Sessions []any }
	for {
		err := p.Call("session/list", map[string]any{}, &list)
		if err == nil {
			break
		}
		if failed, ok := errors.AsType[*conn.Error](err); !ok || failed.Code != conn.CodeClosing { // it was sent to the daemon that ended
			t.Fatal(err)
		}
	}
	if len(list.Sessions) != 2 {
		t.Errorf("after the restart: %v", list)
	}
	p.End()
	if out, err := proof.Command(t, nil, "--data", data, "--config", config, "admin", "users", "delete", "ann", "--yes").CombinedOutput(); err != nil {
		t.Fatalf("%s, %v", out, err)
	}
	if text, err := run("", "stdio", "--remote", s.Base); err == nil || !strings.Contains(text, "thinkd remote login") || strings.Contains(text, word) {
		t.Errorf("with a void token: %s, %v", text, err)
	}
	s.Terminate()
}
