package serve

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/cmd/thinkd/usersocket"
	"github.com/thinkd/thinkd/rpc/auth"
)

// token runs a command of API tokens, and returns what it prints.
func token(t *testing.T, data, config string, args ...string) string {
	t.Helper()
	cmd := proof.Command(t, nil, append([]string{"--data", data, "--config", config, "token"}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("token %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// Two users and the operator on one daemon: each has sessions of their own, and a token that is revoked lets nobody stay.
func TestServeUsers(t *testing.T) {
	data, config := t.TempDir(), proof.WriteConfig(t, "[tools]\nbuiltin = true\n[auth]\n")
	ann, bob := token(t, data, config, "create", "--user", "ann"), token(t, data, config, "create", "--user", "bob", "--expires", "never", "--note", "laptop")
	s := proof.StartServe(t, proof.Command(t, nil, append(proof.ServeArgs(data), "--config", config)...))
	clients := map[string]*proof.WsClient{"ann": proof.DialWS(t, s.Base, ann, nil), "bob": proof.DialWS(t, s.Base, bob, nil), "operator": proof.DialWS(t, s.Base, s.Token, nil)}
	made := map[string]string{}
	for name, c := range clients {
		var created struct {
			ID string `json:"session_id"`
		}
		c.Must("session/new", map[string]any{"model_id": "sim/claude", "cwd": data, "title": name}, &created)
		made[name] = created.ID
		c.Must("session/prompt", map[string]any{"session_id": created.ID, "text": "hello [[sim: pace=0]]"}, nil)
		c.TurnEnd()
		var state struct {
			Session struct {
				Tools []struct {
					Host string `json:"host"`
				} `json:"tools"`
			} `json:"session"`
		}
		c.Must("session/state", map[string]any{"session_id": created.ID}, &state)
		if has := len(state.Session.Tools) > 0; has != (name == "operator") {
			t.Errorf("%s has the tools %v", name, state.Session.Tools)
		}
	}
	for name, c := range clients {
		var list struct {
			Sessions []struct {
				ID string `json:"session_id"`
			} `json:"sessions"`
		}
		c.Must("session/list", struct{}{}, &list)
		if len(list.Sessions) != 1 || list.Sessions[0].ID != made[name] {
			t.Errorf("%s lists %v", name, list.Sessions)
		}
	}
	if got := s.Status("metrics", ann); got != http.StatusForbidden {
		t.Errorf("metrics for a user: %d", got)
	}

	var tokens []auth.Record
	if err := json.Unmarshal([]byte(token(t, data, config, "list", "--json")), &tokens); err != nil || len(tokens) != 2 || tokens[0].User != "ann" || tokens[0].Expires == 0 || tokens[1].Expires != 0 || tokens[0].Digest != "" {
		t.Fatalf("%+v, %v", tokens, err)
	}
	if got := token(t, data, config, "list"); !strings.Contains(got, "ann") || !strings.Contains(got, "laptop") || strings.Contains(got, "thd_") {
		t.Error(got)
	}
	token(t, data, config, "revoke", tokens[0].ID)
	revoked := time.Now()
	if code, reason := clients["ann"].Closed(); code != 4001 {
		t.Errorf("closed with %d %s", code, reason)
	}
	took := time.Since(revoked)
	proof.Judge(t, took <= time.Second, "it took %v", took)
	if got := s.Status("rpc", ann); got != http.StatusUnauthorized {
		t.Errorf("the revoked token gets %d", got)
	}
	clients["bob"].Must("ping", struct{}{}, nil)
	s.Terminate()

	// Nothing on disk has a token of a user.
	err := filepath.WalkDir(data, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, secret := range []string{ann, bob} {
			if strings.Contains(string(text), secret[4:]) {
				t.Errorf("%s has a token", path)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Without [auth], API tokens grant nothing, and creating one says so.
func TestServeWithoutUsers(t *testing.T) {
	data, config := t.TempDir(), proof.WriteConfig(t, "")
	cmd := proof.Command(t, nil, "--data", data, "--config", config, "token", "create", "--user", "ann")
	var said strings.Builder
	cmd.Stderr = &said
	word, err := cmd.Output()
	if err != nil || !strings.Contains(said.String(), "[auth]") {
		t.Errorf("%v: %s", err, said.String())
	}
	s := proof.StartServe(t, proof.Command(t, nil, append(proof.ServeArgs(data), "--config", config)...))
	if got := s.Status("rpc", strings.TrimSpace(string(word))); got != http.StatusUnauthorized {
		t.Errorf("an API token gets %d", got)
	}
	s.Terminate()
}

// An account of the machine comes in over the socket of users, as the user that the config names, while the operator has their own.
func TestServeUserSocket(t *testing.T) {
	if !usersocket.Supported {
		return // the config's error is tested with the package
	}
	dir, err := os.MkdirTemp("/tmp", "thinkd")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "sock")
	data, config := t.TempDir(), proof.WriteConfig(t, fmt.Sprintf("[auth]\nsocket = %q\n[auth.socket_users]\n%d = \"ann\"\n", path, os.Geteuid()))
	s := proof.StartServe(t, proof.Command(t, nil, append(proof.ServeArgs(data), "--config", config)...))
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in := bufio.NewReader(c)
	for method, want := range map[string]string{"initialize": `"user":"ann","rights":["use"]`, "daemon/status": `"code":1012`, "session/list": `"sessions":[]`} {
		if _, err := fmt.Fprintf(c, `{"jsonrpc":"2.0","id":1,"method":%q}`+"\n", method); err != nil {
			t.Fatal(err)
		}
		if line, err := in.ReadString('\n'); !strings.Contains(line, want) {
			t.Errorf("%s: %s %v", method, line, err)
		}
	}
	s.Terminate()
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the end of the daemon: %v", err)
	}
}
