package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/thinkd/thinkd/provider/sim"
)

// served is a `thinkd serve` in a process of its own.
type served struct {
	t      testing.TB
	cmd    *exec.Cmd
	base   string // http://host:port/
	token  string
	stdout *bufio.Reader
	stderr lockedBuffer
	ended  bool
}

// startServe returns when the page's address was printed. The process is killed at the end of the test if it still runs.
func startServe(t testing.TB, cmd *exec.Cmd) *served {
	t.Helper()
	s := &served{t: t, cmd: cmd}
	cmd.Stderr = &s.stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !s.ended {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	s.stdout = bufio.NewReader(stdout)
	line, err := s.stdout.ReadString('\n')
	if err != nil {
		t.Fatalf("%v\n%s", err, s.stderr.String())
	}
	var found bool
	s.base, s.token, found = strings.Cut(strings.TrimSuffix(line, "\n"), "#token=")
	if u, err := url.Parse(s.base); !found || err != nil || u.Hostname() != "127.0.0.1" || u.Path != "/" || len(s.token) != 43 {
		t.Fatalf("the address is %q", line)
	}
	return s
}

func serveArgs(data string) []string {
	return []string{"--data", data, "serve", "--listen", "127.0.0.1:0"}
}

// terminate asks the process to end, and says how long it took.
func (s *served) terminate() time.Duration {
	s.t.Helper()
	begin := time.Now()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	rest, err := io.ReadAll(s.stdout)
	if err := errors.Join(err, s.cmd.Wait()); err != nil || len(rest) > 0 {
		s.t.Errorf("the end: %v, standard output goes on %q\n%s", err, rest, s.stderr.String())
	}
	s.ended = true
	for _, bad := range []string{"DATA RACE", "panic", "goroutine "} {
		if strings.Contains(s.stderr.String(), bad) {
			s.t.Errorf("standard error has %q:\n%s", bad, s.stderr.String())
		}
	}
	return time.Since(begin)
}

// status is that of a GET with a token.
func (s *served) status(path, token string) int {
	s.t.Helper()
	r, err := http.NewRequest("GET", s.base+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	r.Close = true
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

// wsClient is a client on a WebSocket. It keeps all that comes.
type wsClient struct {
	t  testing.TB
	ws *websocket.Conn

	mu      sync.Mutex
	answers map[int]message
	updates []update
	err     error         // of the end
	news    chan struct{} // closed and made anew when anything comes
	next    int
}

func dialWS(t testing.TB, base, token string, client *http.Client) *wsClient {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), base+"rpc", &websocket.DialOptions{HTTPClient: client,
		Subprotocols: []string{"thinkd.v1", "thinkd.token." + token}})
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(-1)
	s := &wsClient{t: t, ws: ws, answers: make(map[int]message), news: make(chan struct{})}
	done := make(chan struct{})
	go func() { defer close(done); s.read() }() // ends with the connection; awaited by the cleanup
	t.Cleanup(func() { ws.CloseNow(); <-done })
	return s
}

func (s *wsClient) read() {
	for {
		kind, data, err := s.ws.Read(context.Background())
		var m message
		if err == nil && kind != websocket.MessageText {
			s.t.Errorf("a message is no text")
		}
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		var u update
		if err == nil && m.Method != "" {
			u = update{Method: m.Method, Raw: m.Params}
			err = json.Unmarshal(m.Params, &u)
		}
		s.mu.Lock()
		switch {
		case err != nil:
			s.err = err
		case m.Method != "":
			s.updates = append(s.updates, u)
		case m.ID != nil:
			s.answers[*m.ID] = m
		}
		close(s.news)
		s.news = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// until waits for what look finds; it is called with the lock held.
func (s *wsClient) until(what string, look func() bool) {
	s.t.Helper()
	limit := time.After(patience)
	for {
		s.mu.Lock()
		found, news, err := look(), s.news, s.err
		s.mu.Unlock()
		switch {
		case found:
			return
		case err != nil:
			s.t.Fatalf("%s: %v", what, err)
		}
		select {
		case <-news:
		case <-limit:
			s.t.Fatalf("%s does not come", what)
		}
	}
}

func (s *wsClient) must(method string, params, result any) {
	s.t.Helper()
	if err := s.call(method, params, result); err != nil {
		s.t.Fatalf("%s: %v", method, err)
	}
}

// call is must for what may be refused.
func (s *wsClient) call(method string, params, result any) error {
	s.t.Helper()
	s.next++
	request, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.next, "method": method, "params": params})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.ws.Write(s.t.Context(), websocket.MessageText, request); err != nil {
		s.t.Fatal(err)
	}
	var m message
	s.until(method, func() (ok bool) { m, ok = s.answers[s.next]; return ok })
	return settle(m, result)
}

func (s *wsClient) turnEnd() (end update) {
	s.t.Helper()
	s.until("the end of the turn", func() bool {
		i := slices.IndexFunc(s.updates, func(u update) bool { return u.Method == "turn_end" })
		if i >= 0 {
			end = s.updates[i]
		}
		return i >= 0
	})
	return end
}

// closed is the code and the reason with which the daemon closed.
func (s *wsClient) closed() (code websocket.StatusCode, reason string) {
	s.t.Helper()
	s.until("the close", func() bool { return s.err != nil })
	e, ok := errors.AsType[websocket.CloseError](s.err)
	if !ok {
		s.t.Fatalf("the connection ends with %v", s.err)
	}
	return e.Code, e.Reason
}

// heard is what a client has of a session when it puts together what it was told: each notification once, by its seq,
// with growth joined per block.
func (s *wsClient) heard() (last uint64, text map[string]string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	text = make(map[string]string)
	for _, u := range s.updates {
		first := u.FirstSeq
		if first == 0 {
			first = u.Seq
		}
		if u.Method == "stale" {
			continue
		}
		if last != 0 && first != last+1 {
			s.t.Fatalf("%s has seq %d to %d behind %d", u.Method, first, u.Seq, last)
		}
		last = u.Seq
		if u.Delta != "" {
			text[fmt.Sprintf("%s %s %d", u.Method, u.Message, u.Block)] += u.Delta
		} else {
			text[fmt.Sprintf("%s %d", u.Method, u.Seq)] = string(u.Raw)
		}
	}
	return last, text
}

func TestServeClientsSeeOneSession(t *testing.T) {
	s := startServe(t, command(t, nil, serveArgs(t.TempDir())...))
	one, two := dialWS(t, s.base, s.token, nil), dialWS(t, s.base, s.token, nil)
	var made struct {
		ID string `json:"session_id"`
	}
	one.must("session/new", map[string]any{"model_id": "sim/claude"}, &made)
	two.must("session/attach", map[string]any{"session_id": made.ID}, nil)
	one.must("session/prompt", map[string]any{"session_id": made.ID, "text": "hello [[sim: pace=0]]"}, nil)
	if end := two.turnEnd(); end.Stop != "end_turn" {
		t.Errorf("the turn ends with %s", end.Raw)
	}
	one.turnEnd()
	last, text := one.heard()
	other, same := two.heard()
	if last != other || len(text) < 5 {
		t.Errorf("one client has %d updates up to %d, the other up to %d", len(text), last, other)
	}
	for key, want := range text {
		if same[key] != want {
			t.Errorf("%s: %q and %q", key, want, same[key])
		}
	}
	two.ws.Close(websocket.StatusNormalClosure, "")
	one.must("ping", struct{}{}, nil)
	s.terminate()
}

// The end of the daemon in mid-turn: all clients learn how the turn ended, and why their connection does.
func TestServeEndsInOrder(t *testing.T) {
	_, env := simulator(t, sim.Config{Pace: 200})
	s := startServe(t, command(t, env, serveArgs(t.TempDir())...))
	clients := []*wsClient{dialWS(t, s.base, s.token, nil)}
	var made struct {
		ID string `json:"session_id"`
	}
	clients[0].must("session/new", map[string]any{"model_id": "anthropic/claude-opus-4-6", "thinking_level": "high"}, &made)
	for range 20 {
		c := dialWS(t, s.base, s.token, nil)
		c.must("session/attach", map[string]any{"session_id": made.ID}, nil)
		clients = append(clients, c)
	}
	clients[0].must("session/prompt", map[string]any{"session_id": made.ID, "text": "think [[sim: thinking=2000]]"}, nil)
	clients[0].until("thinking", func() bool {
		return slices.ContainsFunc(clients[0].updates, func(u update) bool { return u.Method == "thinking_delta" })
	})
	if took := s.terminate(); took > 10*time.Second {
		t.Errorf("the end took %v", took)
	}
	for i, c := range clients {
		if end := c.turnEnd(); end.Stop != "interrupted" {
			t.Errorf("client %d: the turn ends with %s", i, end.Raw)
		}
		if code, reason := c.closed(); code != websocket.StatusGoingAway {
			t.Errorf("client %d: closed with %d %s", i, code, reason)
		}
		c.heard()
	}
}

func TestServeRotateToken(t *testing.T) {
	data := t.TempDir()
	s := startServe(t, command(t, nil, serveArgs(data)...))
	c := dialWS(t, s.base, s.token, nil)
	c.must("ping", struct{}{}, nil)
	if out, err := command(t, nil, "--data", data, "serve", "--rotate-token").Output(); err != nil || len(out) > 0 {
		t.Fatalf("%v, %q", err, out)
	}
	rotated := time.Now()
	if code, reason := c.closed(); code != 4001 {
		t.Errorf("closed with %d %s", code, reason)
	}
	if took := time.Since(rotated); took > time.Second {
		t.Errorf("it took %v", took)
	}
	text, err := os.ReadFile(filepath.Join(data, "token"))
	if err != nil {
		t.Fatal(err)
	}
	fresh := strings.TrimSpace(string(text))
	if old, now := s.status("rpc", s.token), s.status("rpc", fresh); old != http.StatusUnauthorized || now != http.StatusUpgradeRequired || fresh == s.token {
		t.Errorf("the old token gets %d, the new one %d", old, now)
	}
	dialWS(t, s.base, fresh, nil).must("ping", struct{}{}, nil)

	// What others can read is no token any more, and what is gone is none.
	c = dialWS(t, s.base, fresh, nil)
	if err := os.Remove(filepath.Join(data, "token")); err != nil {
		t.Fatal(err)
	}
	if code, _ := c.closed(); code != 4001 {
		t.Errorf("closed with %d", code)
	}
	if got := s.status("rpc", fresh); got != http.StatusUnauthorized {
		t.Errorf("a token that was removed gets %d", got)
	}
	s.terminate()
	if !strings.Contains(s.stderr.String(), "token") || strings.Contains(s.stderr.String(), fresh) {
		t.Errorf("standard error: %s", s.stderr.String())
	}
}

// The token stays from one start to the next; a second daemon on the directory is refused.
func TestServeAgain(t *testing.T) {
	data := t.TempDir()
	s := startServe(t, command(t, nil, serveArgs(data)...))
	for path, want := range map[string]int{"": 200, "healthz": 200, "readyz": 401, "metrics": 401, "app.js": 200, "style.css": 200, "protocol.md": 200, "rpc": 401, "favicon.ico": 401} {
		if got := s.status(path, ""); got != want {
			t.Errorf("/%s: %d, want %d", path, got, want)
		}
	}
	s.terminate()
	again := startServe(t, command(t, nil, serveArgs(data)...))
	if again.token != s.token {
		t.Error("the token changed by itself")
	}
	again.terminate()
}

// A foreign WebSocket client holds a conversation: the one that node has built in.
func TestServeForeignClient(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node here")
	}
	flag := "--experimental-websocket" // until node 22, which takes it too
	if out, err := exec.Command(node, flag, "-p", "typeof WebSocket").Output(); err != nil || strings.TrimSpace(string(out)) != "function" {
		t.Skipf("this node has no WebSocket: %s, %v", out, err)
	}
	s := startServe(t, command(t, nil, serveArgs(t.TempDir())...))
	cmd := exec.Command(node, flag, filepath.Join("..", "..", "testdata", "websocket.mjs"), s.base+"#token="+s.token)
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
	s.terminate()
}
