package daemon

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/agent/tool/builtin"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session"
)

// The tools of a session work in its further folders from the next call on, until the list is replaced.
func TestSetRoots(t *testing.T) {
	dir, more := t.TempDir(), t.TempDir()
	hosts := openToolHosts(config.Config{}, Options{}, "", noKeys(t), discard, func(session.ID) (builtin.Files, builtin.Terminal) { return nil, nil }, nil)
	t.Cleanup(func() { hosts.close() })
	s := session.Session{ID: "s", CWD: dir}
	write := func() string {
		input, err := json.Marshal(map[string]string{"path": filepath.Join(more, "a.txt"), "content": "x"})
		if err != nil {
			t.Fatal(err)
		}
		r := hosts.of(session.Operator, s)[0].Run(t.Context(), provider.ToolCall{ID: "c", Name: "write_file", Input: input}, func(string) {})
		return r.Blocks[0].(provider.Text).Text
	}
	for i, roots := range [][]string{nil, {more}, nil} {
		hosts.setRoots("s", roots)
		if refused := strings.Contains(write(), "outside of the session's folders"); refused != (len(roots) == 0) {
			t.Errorf("%d: with %v, refused: %v", i, roots, refused)
		}
	}
}

// One can log in to a server that is an address, unless the config has the header for it.
func TestServerAccounts(t *testing.T) {
	c := config.Config{Servers: []toolhost.Server{{Name: "a", URL: "https://a.example"}, {Name: "b", URL: "https://b.example", Headers: map[string]string{"authorization": "x"}},
		{Name: "c", Command: []string{"c"}}}}
	hosts := openToolHosts(c, Options{}, "", noKeys(t), discard, nil, nil)
	t.Cleanup(func() { hosts.close() })
	list := hosts.accounts()
	if len(list) != 1 || list[0].ID != "mcp:a" || !list[0].Login || list[0].Auth != provider.KeyNotNeeded {
		t.Errorf("%+v", list)
	}
	d := &daemon{hosts: hosts, models: &models{log: discard}}
	if err := d.setKey("mcp:a", "", provider.NewSecret("key")); err != provider.ErrNoKeyNeeded {
		t.Errorf("a key: %v", err)
	}
	if err := d.setKey("mcp:a", "", provider.Secret{}); err != nil {
		t.Errorf("logout: %v", err)
	}
}

// lockedServer is an MCP server with one tool, and its authorization server, which grants every login.
func lockedServer(t *testing.T) (address string) {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "vault", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "open", Description: "Open it."}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{}, nil, nil
	})
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		if token != "granted" {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{Expiration: time.Now().Add(time.Hour)}, nil
	}
	mux.Handle("/mcp", auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: s.URL + "/resource"})(
		sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true})))
	answer := func(pattern string, value map[string]any) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if pattern == "POST /register" {
				w.WriteHeader(http.StatusCreated)
			}
			json.NewEncoder(w).Encode(value)
		})
	}
	answer("/resource", map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}})
	answer("/.well-known/oauth-authorization-server", map[string]any{"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
		"registration_endpoint": s.URL + "/register", "code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
		"token_endpoint_auth_methods_supported": []string{"none"}})
	answer("POST /register", map[string]any{"client_id": "c", "token_endpoint_auth_method": "none"})
	answer("POST /token", map[string]any{"access_token": "granted", "token_type": "Bearer", "expires_in": 3600})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {"x"}, "state": {q.Get("state")}, "iss": {s.URL}}.Encode(), http.StatusFound)
	})
	return s.URL + "/mcp"
}

// A server that a client names can demand a login. The client learns the command for it, and after the login new sessions have the
// tools of that address, whatever name their clients give it.
func TestLoginToOfferedServer(t *testing.T) {
	t.Parallel()
	address := lockedServer(t)
	link := inProcess(t, nil)
	notices, states := make(chan string, 10), make(chan door.Notification, 10)
	link.Notify = func(n door.Notification) error {
		switch n.Method {
		case "notice":
			notices <- gjson.GetBytes(n.Params, "message").String()
		case "auth_update":
			states <- n
		}
		return nil
	}
	call := func(method string, params map[string]any) gjson.Result {
		t.Helper()
		var result json.RawMessage
		if err := link.Call(method, params, &result); err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		return gjson.ParseBytes(result)
	}
	tools := func(name string) string {
		id := call("session/new", map[string]any{"mcp_servers": []any{map[string]any{"name": name, "url": address}}}).Get("session_id").String()
		return call("session/state", map[string]any{"session_id": id}).Get("session.tools.#.name").Raw
	}
	state := func() string {
		return call("auth/status", map[string]any{}).Get(`providers.#(provider=="mcp:` + address + `").state`).String()
	}
	wait := func() {
		t.Helper()
		if n, err := link.Next(); err != nil {
			t.Fatal(err)
		} else if err := link.Notify(n); err != nil {
			t.Fatal(err)
		}
	}
	if got := state(); got != "" {
		t.Errorf("before all: %q", got)
	}
	if got := tools("vault"); strings.Contains(got, "vault__open") {
		t.Errorf("tools without a login: %s", got)
	}
	for len(notices) == 0 {
		wait()
	}
	if got := <-notices; !strings.Contains(got, "the server demands a login; run `thinkd auth login mcp:"+address+"`") {
		t.Errorf("notice: %s", got)
	}
	if got := state(); got != "missing" {
		t.Errorf("after the demand: %q", got)
	}

	call("auth/login", map[string]any{"provider": "mcp:" + address})
	for over := false; !over; {
		for len(states) == 0 {
			wait()
		}
		switch u := gjson.ParseBytes((<-states).Params); u.Get("state").String() {
		case "waiting":
			resp, err := http.Get(u.Get("url").String())
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		case "ready":
			over = true
		default:
			t.Fatalf("%s", u)
		}
	}
	if got := tools("safe"); !strings.Contains(got, "safe__open") {
		t.Errorf("tools after the login: %s", got)
	}
	if got := state(); got != "ready" {
		t.Errorf("after the login: %q", got)
	}
	call("auth/set_key", map[string]any{"provider": "mcp:" + address, "key": ""})
	if got := state(); got == "ready" {
		t.Error("after the logout: ready")
	}
}

// Addresses that may have a secret, or to which tokens would travel unencrypted, have no login. One of the config is the config's.
func TestLoginsByAddress(t *testing.T) {
	c := config.Config{Servers: []toolhost.Server{{Name: "a", URL: "https://a.example/mcp"}}}
	hosts := openToolHosts(c, Options{}, "", noKeys(t), discard, nil, nil)
	t.Cleanup(func() { hosts.close() })
	for _, address := range []string{"https://b.example/mcp?key=1", "https://me:you@b.example/mcp", "http://b.example/mcp", "file:///mcp", "b", "", "https://b.example/#x"} {
		if hosts.login("mcp:"+address) != nil {
			t.Errorf("%s has a login", address)
		}
	}
	if a := hosts.login("mcp:https://a.example/mcp"); a == nil || a.ID() != "mcp:a" {
		t.Errorf("the address of the config: %v", a)
	}
	b := hosts.login("mcp:https://b.example/mcp")
	if b == nil || b != hosts.login("mcp:https://b.example/mcp") || b == hosts.login("mcp:http://localhost:1/mcp") {
		t.Error("not one login for each address")
	}
	runtime.KeepAlive(b)
}
