package serve

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// Each user calls a provider with their own key, or otherwise with their tenant's, or otherwise with the operator's. Nobody learns of the key
// of another, no file has one, and a user who is deleted takes theirs along.
func TestUserKeys(t *testing.T) {
	t.Parallel()
	used := make(chan string, 10)
	host := proof.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		used <- strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		http.Error(w, `{"error":{"message":"the host refuses each key"}}`, http.StatusUnauthorized)
	}))
	data := t.TempDir()
	master := filepath.Join(t.TempDir(), "master")
	if err := os.WriteFile(master, []byte(strings.Repeat("A", 43)+"=\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := proof.WriteConfig(t, fmt.Sprintf("[auth]\nkey_file = %q\n[providers.host]\napi = \"chat\"\nbase_url = %q\napi_key_env = \"HOST_KEY\"\n", master, host))
	tokens := map[string]string{}
	for name, args := range map[string][]string{
		"ann":   {"--tenant", "acme", "--user", "ann"},
		"bob":   {"--tenant", "acme", "--user", "bob"},
		"chief": {"--tenant", "acme", "--user", "chief", "--rights", "use,keys"},
		"eve":   {"--tenant", "other", "--user", "ann"},
		"solo":  {"--user", "ann", "--rights", "use,keys"},
	} {
		tokens[name] = token(t, data, config, append([]string{"create"}, args...)...)
	}
	s := proof.StartServe(t, proof.Command(t, nil, append(proof.ServeArgs(data), "--config", config)...))
	tokens["operator"] = s.Token
	clients := map[string]*proof.WsClient{}
	for name, word := range tokens {
		clients[name] = proof.DialWS(t, s.Base, word, nil)
	}
	set := func(name, scope, key string) error {
		params := map[string]any{"provider": "host", "key": key}
		if scope != "" {
			params["scope"] = scope
		}
		return clients[name].Call("auth/set_key", params, nil)
	}
	called := func(want map[string]string) {
		t.Helper()
		for name, key := range want {
			c := proof.DialWS(t, s.Base, tokens[name], nil)
			var made struct {
				ID string `json:"session_id"`
			}
			c.Must("session/new", map[string]any{"model_id": "host/some-model"}, &made)
			c.Must("session/prompt", map[string]any{"session_id": made.ID, "text": "hello"}, nil)
			end := c.TurnEnd()
			got := ""
			select {
			case got = <-used:
			default:
			}
			if got != key {
				t.Errorf("%s calls with %q, want %q", name, got, key)
			}
			if bytes.Contains(end.Raw, []byte("canary")) {
				t.Errorf("%s received a key: %s", name, end.Raw)
			}
		}
	}
	for name, err := range map[string]error{
		"a user without the right keys sets the tenant's key":     set("ann", "tenant", "x"),
		"a user sets the operator's key":                          set("chief", "operator", "x"),
		"a user without a tenant sets the key of one":             set("solo", "tenant", "x"),
		"the operator sets the key of a user, who is not named":   set("operator", "user", "x"),
		"there is no such scope":                                  set("ann", "world", "x"),
		"a user has a further key":                                clients["ann"].Call("auth/set_key", map[string]any{"provider": "host", "key": "x", "name": "second"}, nil),
		"a user logs the operator in":                             clients["chief"].Call("auth/login", map[string]any{"provider": "copilot"}, nil),
		"a key that is the name of the variable is taken for one": set("ann", "", "HOST_KEY"),
	} {
		if err == nil {
			t.Error(name)
		}
	}
	for _, step := range []struct{ name, scope, key string }{{"operator", "", "canary-operator"}, {"chief", "tenant", "canary-tenant"}, {"ann", "", "canary-own-key-of-ann"}} {
		if err := set(step.name, step.scope, step.key); err != nil {
			t.Fatal(step, err)
		}
	}
	called(map[string]string{"ann": "canary-own-key-of-ann", "bob": "canary-tenant", "chief": "canary-tenant", "eve": "canary-operator", "solo": "canary-operator", "operator": "canary-operator"})

	type status struct {
		Providers []struct {
			Provider, State, Source, Scope string
			Ending                         string `json:"ends_in"`
		}
	}
	for name, want := range map[string]string{"ann": "ready keys user -ann", "bob": "ready keys tenant ", "eve": "ready   "} {
		var all status
		clients[name].Must("auth/status", struct{}{}, &all)
		for _, p := range all.Providers {
			if got := fmt.Sprintf("%s %s %s %s", p.State, p.Source, p.Scope, strings.TrimPrefix(p.Ending, "f")); p.Provider == "host" && got != want {
				t.Errorf("%s reads %q, want %q", name, got, want)
			}
		}
	}
	err := filepath.WalkDir(data, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte("canary")) {
			t.Errorf("%s has a key", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}

	// Keys outlive a restart. Without one's own key, that of the tenant applies again, and then the operator's.
	s.Terminate()
	s = proof.StartServe(t, proof.Command(t, nil, append(proof.ServeArgs(data), "--config", config)...))
	for name, word := range tokens {
		clients[name] = proof.DialWS(t, s.Base, word, nil)
	}
	called(map[string]string{"ann": "canary-own-key-of-ann", "bob": "canary-tenant"})
	if err := set("ann", "user", ""); err != nil {
		t.Error(err)
	}
	called(map[string]string{"ann": "canary-tenant"})
	if err := set("chief", "tenant", ""); err != nil {
		t.Error(err)
	}
	called(map[string]string{"ann": "canary-operator", "bob": "canary-operator"})
	if err := set("ann", "", "canary-again"); err != nil {
		t.Error(err)
	}
	if text, err := admin(t, data, config, "users", "delete", "--tenant", "acme", "ann", "--yes"); err != nil || !strings.Contains(text, "1 token, 1 key,") {
		t.Errorf("%s, %v", text, err)
	}
	s.Terminate()
}

// Without a key that encrypts them, keys of users are not stored.
func TestUserKeysNeedEncryption(t *testing.T) {
	t.Parallel()
	data, config := t.TempDir(), proof.WriteConfig(t, "[auth]\n")
	word := token(t, data, config, "create", "--user", "ann")
	s := proof.StartServe(t, proof.Command(t, nil, append(proof.ServeArgs(data), "--config", config)...))
	err := proof.DialWS(t, s.Base, word, nil).Call("auth/set_key", map[string]any{"provider": "anthropic", "key": "k"}, nil)
	if err == nil || !strings.Contains(err.Error(), "key_file") {
		t.Error(err)
	}
	s.Terminate()
}
