package mcplogin_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/thinkd/thinkd/agent/tool/mcp"
	"github.com/thinkd/thinkd/agent/tool/mcphttp"
	"github.com/thinkd/thinkd/agent/tool/mcplogin"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/provider/testgo"
)

// house is an MCP server and its authorization server, which refuse each breach of OAuth 2.1: a client that did not register, another
// redirect, a missing resource, a wrong proof, a code or a refresh token that is used twice.
type house struct {
	*testing.T
	*httptest.Server

	mu      sync.Mutex
	n       int
	life    int               // seconds that a token is valid
	grants  bool              // the person agrees
	deaf    bool              // no refresh token is taken
	clients map[string]string // redirect by client
	codes   map[string]url.Values
	access  map[string]bool
	refresh map[string]bool
	replace map[string]any // members of metadata, by name
	paths   []string
	secrets []string
}

func newHouse(t *testing.T) *house {
	h := &house{T: t, life: 3600, grants: true, clients: map[string]string{}, codes: map[string]url.Values{}, access: map[string]bool{}, refresh: map[string]bool{}}
	server := sdk.NewServer(&sdk.Implementation{Name: "vault", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "open", Description: "Open it."}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "opened"}}}, nil, nil
	})
	mux := http.NewServeMux()
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.paths = append(h.paths, r.URL.Path)
		h.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if !h.access[token] {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{Expiration: time.Now().Add(time.Hour)}, nil
	}
	mux.Handle("/mcp", auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: h.URL + "/.well-known/oauth-protected-resource/mcp"})(
		sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)))
	answer := func(path string, value map[string]any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			for member, other := range h.replace {
				if value[member] != nil {
					value[member] = other
				}
			}
			writeJSON(w, http.StatusOK, value)
		})
	}
	answer("/.well-known/oauth-protected-resource/mcp", map[string]any{"resource": h.URL + "/mcp", "authorization_servers": []string{h.URL}, "scopes_supported": []string{"open"}})
	answer("/.well-known/oauth-authorization-server", map[string]any{"issuer": h.URL, "authorization_endpoint": h.URL + "/authorize", "token_endpoint": h.URL + "/token",
		"registration_endpoint": h.URL + "/register", "code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
		"token_endpoint_auth_methods_supported": []string{"none"}})
	mux.HandleFunc("POST /register", h.register)
	mux.HandleFunc("GET /authorize", h.authorize)
	mux.HandleFunc("POST /token", h.token)
	return h
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(value)
}

// secret makes a word that may be in no error and no log.
func (h *house) secret(kind string) string {
	h.n++
	word := fmt.Sprintf("canary-%s-%d", kind, h.n)
	h.secrets = append(h.secrets, word)
	return word
}

func (h *house) register(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Redirects []string `json:"redirect_uris"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || len(asked.Redirects) != 1 {
		http.Error(w, "redirects", http.StatusBadRequest)
		return
	}
	back, err := url.Parse(asked.Redirects[0])
	if err != nil || back.Hostname() != "127.0.0.1" {
		h.Errorf("the browser returns to %s", asked.Redirects[0])
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n++
	id := fmt.Sprintf("client-%d", h.n)
	h.clients[id] = asked.Redirects[0]
	writeJSON(w, http.StatusCreated, map[string]any{"client_id": id, "redirect_uris": asked.Redirects, "token_endpoint_auth_method": "none"})
}

func (h *house) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	h.mu.Lock()
	defer h.mu.Unlock()
	redirect := h.clients[q.Get("client_id")]
	if redirect == "" || q.Get("redirect_uri") != redirect || q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" ||
		q.Get("resource") != h.URL+"/mcp" || q.Get("state") == "" || q.Get("scope") != "open" {
		h.Errorf("authorize: %s", r.URL)
		http.Error(w, "refused", http.StatusBadRequest)
		return
	}
	back := url.Values{"state": {q.Get("state")}, "iss": {h.URL}}
	if h.grants {
		code := h.secret("code")
		h.codes[code] = q
		back.Set("code", code)
	} else {
		back.Set("error", "access_denied")
	}
	http.Redirect(w, r, redirect+"?"+back.Encode(), http.StatusFound)
}

func (h *house) token(w http.ResponseWriter, r *http.Request) {
	r.ParseForm()
	h.mu.Lock()
	defer h.mu.Unlock()
	f := r.PostForm
	good := f.Get("resource") == h.URL+"/mcp"
	switch f.Get("grant_type") {
	case "authorization_code":
		asked := h.codes[f.Get("code")]
		delete(h.codes, f.Get("code"))
		sum := sha256.Sum256([]byte(f.Get("code_verifier")))
		good = good && asked != nil && asked.Get("code_challenge") == base64.RawURLEncoding.EncodeToString(sum[:]) &&
			f.Get("client_id") == asked.Get("client_id") && f.Get("redirect_uri") == asked.Get("redirect_uri")
	case "refresh_token":
		good = good && h.refresh[f.Get("refresh_token")] && !h.deaf && h.clients[f.Get("client_id")] != ""
		delete(h.refresh, f.Get("refresh_token"))
	default:
		good = false
	}
	if !good {
		writeJSON(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant", "error_description": "no: " + f.Get("refresh_token") + f.Get("code")})
		return
	}
	clear(h.access)
	access, refresh := h.secret("access"), h.secret("refresh")
	h.access[access], h.refresh[refresh] = true, true
	writeJSON(w, http.StatusOK, map[string]any{"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": h.life})
}

// visited counts the requests for a path.
func (h *house) visited(path string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.paths {
		if p == path {
			n++
		}
	}
	return n
}

// noSecret fails if a text has a token or a code.
func (h *house) noSecret(where, text string) {
	h.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, word := range h.secrets {
		if strings.Contains(text, word) {
			h.Errorf("%s has %s: %s", where, word, text)
		}
	}
}

// browse opens an address as a browser does, and returns the last status.
func (h *house) browse(address string) int {
	resp, err := http.Get(address)
	if err != nil {
		h.Error(err)
		return 0
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// logIn logs in with a browser that does what the server says.
func (h *house) logIn(l *mcplogin.Login) (status int, err error) {
	opened := make(chan int, 1)
	err = l.Login(h.Context(), func(p login.Prompt) {
		testgo.Go(h.T, func() { opened <- h.browse(p.URL) }) // awaited below
	})
	select {
	case status = <-opened:
	case <-h.Context().Done():
	}
	return status, err
}

func newKeys(t *testing.T) (*login.Keys, *durable.Memory) {
	kept := new(durable.Memory)
	keys, err := login.OpenKeys(kept)
	if err != nil {
		t.Fatal(err)
	}
	return keys, kept
}

// A server that demands a login says so, and is used after one login for good: tokens are renewed, and outlive the process.
func TestLogin(t *testing.T) {
	h := newHouse(t)
	keys, kept := newKeys(t)
	var logged bytes.Buffer
	host := func(keys *login.Keys, address string) (*mcp.Host, *mcplogin.Login) {
		l := mcplogin.New(mcplogin.Config{Server: "vault", URL: address, Keys: keys})
		m := mcp.New(mcp.Config{Server: toolhost.Server{Name: "vault", URL: address}, Name: "mcp:vault", Login: l, Log: slog.New(slog.NewTextHandler(&logged, nil))})
		t.Cleanup(func() { m.Close() })
		return m, l
	}
	open := func(m *mcp.Host) string {
		r := m.Run(t.Context(), provider.ToolCall{ID: "c", Name: "vault__open", Input: json.RawMessage(`{}`)}, func(string) {})
		return fmt.Sprint(r.Failed, r.Blocks)
	}
	m, l := host(keys, h.URL+"/mcp")
	if l.State() != provider.KeyNotNeeded {
		t.Errorf("before all: %s", l.State())
	}
	_, err := m.Tools(t.Context())
	if need, ok := errors.AsType[*mcplogin.NeededError](err); !ok || need.ID != "mcp:vault" || !strings.Contains(err.Error(), "thinkd auth login mcp:vault") {
		t.Errorf("without a login: %v", err)
	}
	if l.State() != provider.KeyMissing || h.visited("/register")+h.visited("/authorize") != 0 {
		t.Errorf("%s, and a login began unasked", l.State())
	}
	if status, err := h.logIn(l); err != nil || status != http.StatusOK || l.State() != provider.KeyReady {
		t.Fatalf("login: %d, %v, %s", status, err, l.State())
	}
	if tools, err := m.Tools(t.Context()); err != nil || len(tools) != 1 {
		t.Fatalf("after the login: %v, %v", tools, err)
	}
	if got := open(m); !strings.Contains(got, "false") || !strings.Contains(got, "opened") {
		t.Error(got)
	}

	h.mu.Lock()
	h.life = 1 // every token is renewed before its use from now on
	h.mu.Unlock()
	if status, err := h.logIn(l); err != nil || status != http.StatusOK {
		t.Fatalf("second login: %v", err)
	}
	for range 2 {
		if got := open(m); !strings.Contains(got, "opened") {
			t.Error(got)
		}
	}
	if n := h.visited("/token"); n < 4 {
		t.Errorf("%d requests for tokens", n)
	}
	again, err := login.OpenKeys(kept)
	if err != nil {
		t.Fatal(err)
	}
	m2, l2 := host(again, h.URL+"/mcp")
	if _, err := m2.Tools(t.Context()); err != nil || l2.State() != provider.KeyReady {
		t.Errorf("after a restart: %v, %s", err, l2.State())
	}

	h.mu.Lock()
	h.deaf = true
	h.mu.Unlock()
	got := open(m2)
	if !strings.Contains(got, "true") || !strings.Contains(got, "thinkd auth login mcp:vault") || l2.State() != provider.KeyRefused {
		t.Errorf("after a revocation: %s, %s", got, l2.State())
	}
	if err := l2.Logout(); err != nil || l2.State() == provider.KeyReady || !again.Grant("mcp:vault").IsZero() {
		t.Errorf("logout: %v, %s", err, l2.State())
	}
	h.noSecret("the log", logged.String())
	h.noSecret("the result", got)
}

// A token is for one address. If the config names another one, it gets no token.
func TestOtherAddress(t *testing.T) {
	h, other := newHouse(t), newHouse(t)
	keys, _ := newKeys(t)
	if _, err := h.logIn(mcplogin.New(mcplogin.Config{Server: "vault", URL: h.URL + "/mcp", Keys: keys})); err != nil {
		t.Fatal(err)
	}
	l := mcplogin.New(mcplogin.Config{Server: "vault", URL: other.URL + "/mcp", Keys: keys})
	if s, err := l.TokenSource(t.Context()); s != nil || err != nil || l.State() == provider.KeyReady {
		t.Errorf("%v, %v, %s", s, err, l.State())
	}
}

// A login that fails says why, has no secrets in its error, and leaves nothing.
func TestLoginFails(t *testing.T) {
	for name, tc := range map[string]struct {
		url, want string
		grants    bool
		browse    func(h *house, address string)
	}{
		"declined":  {url: "/mcp", want: "the login was declined", browse: func(h *house, address string) { h.browse(address) }},
		"no demand": {url: "/.well-known/oauth-authorization-server", want: "demands no login", grants: true},
		"other pages": {url: "/mcp", want: "(invalid_grant)", grants: true, browse: func(h *house, address string) {
			at, err := url.Parse(address)
			if err != nil {
				h.Error(err)
				return
			}
			back, state := at.Query().Get("redirect_uri"), at.Query().Get("state")
			for _, bad := range []string{strings.Replace(back, "/callback", "/other", 1) + "?code=x&state=" + state, back + "?code=x&state=wrong"} {
				if status := h.browse(bad); status == http.StatusOK {
					h.Errorf("%s is accepted", bad)
				}
			}
			h.browse(back + "?code=canary-code&iss=" + url.QueryEscape(h.URL) + "&state=" + state)
		}},
		"another issuer": {url: "/mcp", want: "another authorization server", grants: true, browse: func(h *house, address string) {
			at, err := url.Parse(address)
			if err != nil {
				h.Error(err)
				return
			}
			h.browse(at.Query().Get("redirect_uri") + "?code=canary-code&iss=https://evil.example&state=" + at.Query().Get("state"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			h.grants = tc.grants
			keys, _ := newKeys(t)
			l := mcplogin.New(mcplogin.Config{Server: "vault", URL: h.URL + tc.url, Keys: keys})
			err := l.Login(t.Context(), func(p login.Prompt) { testgo.Go(t, func() { tc.browse(h, p.URL) }) }) // ends with the login
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "canary") || !keys.Grant("mcp:vault").IsZero() {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

// public is the transport to a server of users that may be on the loopback address of the house and nowhere else inside.
func public(allow ...string) http.RoundTripper {
	p := mcphttp.Public{Server: "vault", Setting: "auth.mcp_private_addresses"}
	for _, text := range allow {
		p.Allow = append(p.Allow, netip.MustParsePrefix(text))
	}
	return p.Transport()
}

// The server of users names its authorization server, and that one names its endpoints. None of them leads to an address inside.
func TestPrivateEndpoints(t *testing.T) {
	const inside = "http://127.0.0.2:1"
	for member, value := range map[string]any{"authorization_servers": []string{inside}, "registration_endpoint": inside + "/register", "token_endpoint": inside + "/token"} {
		t.Run(member, func(t *testing.T) {
			h := newHouse(t)
			h.replace = map[string]any{member: value}
			keys, _ := newKeys(t)
			l := mcplogin.New(mcplogin.Config{Server: "vault", URL: h.URL + "/mcp", Keys: keys, Client: public("127.0.0.1/32")})
			err := l.Login(t.Context(), func(p login.Prompt) { testgo.Go(t, func() { h.browse(p.URL) }) }) // ends with the login
			if err == nil || !strings.Contains(err.Error(), "127.0.0.2 is not a public address") || !strings.Contains(err.Error(), "auth.mcp_private_addresses") {
				t.Errorf("login: %v", err)
			}
			if !keys.Grant("mcp:vault").IsZero() {
				t.Error("there is a login")
			}
		})
	}
}

// A server of users inside is not contacted for its login either, and a login that there is already is not renewed there.
func TestPrivateServer(t *testing.T) {
	h := newHouse(t)
	h.life = 1 // each token is renewed before its use
	keys, _ := newKeys(t)
	open := func(allow ...string) *mcplogin.Login {
		return mcplogin.New(mcplogin.Config{Server: "vault", URL: h.URL + "/mcp", Keys: keys, Client: public(allow...)})
	}
	const want = "127.0.0.1 is not a public address"
	if err := open().Login(t.Context(), func(login.Prompt) {}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("login: %v", err)
	}
	if h.visited("/mcp") != 0 {
		t.Error("the server got a request")
	}
	if _, err := h.logIn(open("127.0.0.1/32")); err != nil {
		t.Fatal(err)
	}
	before := h.visited("/token")
	for allow, want := range map[string]string{"10.0.0.0/8": want, "127.0.0.0/8": ""} {
		tokens, err := open(allow).TokenSource(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err = tokens.Token(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("with %s: %v, want %q", allow, err, want)
		}
	}
	if n := h.visited("/token") - before; n != 1 {
		t.Errorf("%d requests for tokens", n)
	}
}
