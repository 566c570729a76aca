package serve

import (
	"bufio"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/rpc/conntest"
)

func TestServeClientsSeeOneSession(t *testing.T) {
	s := proof.StartServe(t, proof.Command(t, nil, proof.ServeArgs(t.TempDir())...))
	one, two := proof.DialWS(t, s.Base, s.Token, nil), proof.DialWS(t, s.Base, s.Token, nil)
	var made struct {
		ID string `json:"session_id"`
	}
	one.Must("session/new", map[string]any{"model_id": "sim/claude"}, &made)
	two.Must("session/attach", map[string]any{"session_id": made.ID}, nil)
	one.Must("session/prompt", map[string]any{"session_id": made.ID, "text": "hello [[sim: pace=0]]"}, nil)
	if end := two.TurnEnd(); end.Stop != "end_turn" {
		t.Errorf("the turn ends with %s", end.Raw)
	}
	one.TurnEnd()
	last, text := one.Heard()
	other, same := two.Heard()
	if last != other || len(text) < 5 {
		t.Errorf("one client has %d updates up to %d, the other up to %d", len(text), last, other)
	}
	for key, want := range text {
		if same[key] != want {
			t.Errorf("%s: %q and %q", key, want, same[key])
		}
	}
	two.Ws.Close(websocket.StatusNormalClosure, "")
	one.Must("ping", struct{}{}, nil)
	s.Terminate()
}

// The end of the daemon in mid-turn: all clients learn how the turn ended, and why their connection does.
func TestServeEndsInOrder(t *testing.T) {
	_, env := proof.Simulator(t, sim.Config{Pace: 200})
	s := proof.StartServe(t, proof.Command(t, env, proof.ServeArgs(t.TempDir())...))
	clients := []*proof.WsClient{proof.DialWS(t, s.Base, s.Token, nil)}
	var made struct {
		ID string `json:"session_id"`
	}
	clients[0].Must("session/new", map[string]any{"model_id": "anthropic/claude-opus-4-6", "thinking_level": "high"}, &made)
	for range 20 {
		c := proof.DialWS(t, s.Base, s.Token, nil)
		c.Must("session/attach", map[string]any{"session_id": made.ID}, nil)
		clients = append(clients, c)
	}
	clients[0].Must("session/prompt", map[string]any{"session_id": made.ID, "text": "think [[sim: thinking=100000]]"}, nil)
	clients[0].Until("thinking", func() bool {
		return slices.ContainsFunc(clients[0].Updates, func(u proof.Update) bool { return u.Method == "thinking_delta" })
	})
	took := s.Terminate()
	proof.Judge(t, took <= 10*time.Second, "the end took %v", took)
	for i, c := range clients {
		if end := c.TurnEnd(); end.Stop != "interrupted" {
			t.Errorf("client %d: the turn ends with %s", i, end.Raw)
		}
		if code, reason := c.Closed(); code != websocket.StatusGoingAway {
			t.Errorf("client %d: closed with %d %s", i, code, reason)
		}
		c.Heard()
	}
}

func TestServeRotateToken(t *testing.T) {
	data := t.TempDir()
	s := proof.StartServe(t, proof.Command(t, nil, proof.ServeArgs(data)...))
	c := proof.DialWS(t, s.Base, s.Token, nil)
	c.Must("ping", struct{}{}, nil)
	if out, err := proof.Command(t, nil, "--data", data, "serve", "--rotate-token").Output(); err != nil || len(out) > 0 {
		t.Fatalf("%v, %q", err, out)
	}
	rotated := time.Now()
	if code, reason := c.Closed(); code != 4001 {
		t.Errorf("closed with %d %s", code, reason)
	}
	took := time.Since(rotated)
	proof.Judge(t, took <= time.Second, "it took %v", took)
	text, err := os.ReadFile(filepath.Join(data, "token"))
	if err != nil {
		t.Fatal(err)
	}
	fresh := strings.TrimSpace(string(text))
	if old, now := s.Status("rpc", s.Token), s.Status("rpc", fresh); old != http.StatusUnauthorized || now != http.StatusUpgradeRequired || fresh == s.Token {
		t.Errorf("the old token gets %d, the new one %d", old, now)
	}
	proof.DialWS(t, s.Base, fresh, nil).Must("ping", struct{}{}, nil)

	// What others can read is no token any more, and what is gone is none.
	c = proof.DialWS(t, s.Base, fresh, nil)
	if err := os.Remove(filepath.Join(data, "token")); err != nil {
		t.Fatal(err)
	}
	if code, _ := c.Closed(); code != 4001 {
		t.Errorf("closed with %d", code)
	}
	if got := s.Status("rpc", fresh); got != http.StatusUnauthorized {
		t.Errorf("a token that was removed gets %d", got)
	}
	s.Terminate()
	if !strings.Contains(s.Stderr.String(), "token") || strings.Contains(s.Stderr.String(), fresh) {
		t.Errorf("standard error: %s", proof.Excerpt(s.Stderr.String()))
	}
}

// Into a pipe the token is printed only on request. The other lines of standard output and standard error never have it.
func TestServePrintsToken(t *testing.T) {
	data := t.TempDir()
	proof.StartServe(t, proof.Command(t, nil, proof.ServeArgs(data)...)).Terminate() // makes the token
	token, err := os.ReadFile(filepath.Join(data, "token"))
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.TrimSpace(string(token))
	for flag, want := range map[string]bool{"--print-token": true, "--print-token=false": false} {
		cmd := proof.Command(t, nil, append(proof.ServeArgs(data), flag, "--log-level", "debug")...)
		var errOut conntest.Log
		cmd.Stderr = &errOut
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		first, err := bufio.NewReader(stdout).ReadString('\n')
		if got := strings.HasSuffix(first, "/#token="+secret+"\n"); err != nil || got != want {
			t.Errorf("%s: printed %q, %v", flag, strings.ReplaceAll(first, secret, "TOKEN"), err)
		}
		if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
			t.Error(err)
		}
		if strings.Contains(errOut.String(), secret) {
			t.Errorf("%s: the token is in standard error", flag)
		}
	}
}

// The token stays from one start to the next; a second daemon on the directory is refused.
func TestServeAgain(t *testing.T) {
	data := t.TempDir()
	s := proof.StartServe(t, proof.Command(t, nil, proof.ServeArgs(data)...))
	for path, want := range map[string]int{"": 200, "healthz": 200, "readyz": 401, "metrics": 401, "app.js": 200, "protocol.md": 200, "rpc": 401, "favicon.ico": 401} {
		if got := s.Status(path, ""); got != want {
			t.Errorf("/%s: %d, want %d", path, got, want)
		}
	}
	s.Terminate()
	again := proof.StartServe(t, proof.Command(t, nil, proof.ServeArgs(data)...))
	if again.Token != s.Token {
		t.Error("the token changed by itself")
	}
	again.Terminate()
}

// A foreign WebSocket client holds a conversation: the one that node has built in.
func TestServeForeignClient(t *testing.T) {
	node := proof.Needs(t, "node")
	flag := "--experimental-websocket" // until node 22, which takes it too
	if out, err := exec.Command(node, flag, "-p", "typeof WebSocket").Output(); err != nil || strings.TrimSpace(string(out)) != "function" {
		t.Skipf("needs: a WebSocket in node: %s, %v", out, err)
	}
	s := proof.StartServe(t, proof.Command(t, nil, proof.ServeArgs(t.TempDir())...))
	cmd := exec.Command(node, flag, filepath.Join("..", "..", "..", "..", "testdata", "websocket.mjs"), s.Base+"#token="+s.Token)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"prompt", "turn_start", "thinking_start", "thinking_end", "text_end", "turn_end"} {
		if !slices.Contains(strings.Fields(string(out)), want) {
			t.Errorf("no %s among %s", want, out)
		}
	}
	s.Terminate()
}
