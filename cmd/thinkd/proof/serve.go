package proof

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
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/conntest"
)

// Served is a `thinkd serve` in a process of its own.
type Served struct {
	T      testing.TB
	Cmd    *exec.Cmd
	Base   string // http://host:port/
	Token  string
	stdout *bufio.Reader
	Stderr conntest.Log
	Ended  bool
}

// StartServe returns when the page's address was printed. The process is killed at the end of the test if it still runs.
func StartServe(t testing.TB, cmd *exec.Cmd) *Served {
	t.Helper()
	s := &Served{T: t, Cmd: cmd}
	cmd.Stderr = &s.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !s.Ended {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	s.stdout = bufio.NewReader(stdout)
	line, err := s.stdout.ReadString('\n')
	more, moreErr := s.stdout.ReadString('\n')
	if err := errors.Join(err, moreErr); err != nil {
		t.Fatalf("%v\n%s", err, Excerpt(s.Stderr.String()))
	}
	s.Base = strings.TrimSuffix(line, "\n")
	u, err := url.Parse(s.Base)
	path, found := strings.CutPrefix(strings.TrimSuffix(more, "\n"), "token: ")
	if err != nil || u.Hostname() != "127.0.0.1" || u.Path != "/" || u.Fragment != "" || !found {
		t.Fatalf("the address is %q, and then %q", line, more)
	}
	token, err := os.ReadFile(path)
	if s.Token = strings.TrimSpace(string(token)); err != nil || len(s.Token) != 43 {
		t.Fatalf("%s has a token of %d characters, %v", path, len(s.Token), err)
	}
	return s
}

func ServeArgs(data string) []string {
	return []string{"--data", data, "serve", "--listen", "127.0.0.1:0"}
}

// Terminate asks the process to end, and says how long it took.
func (s *Served) Terminate() time.Duration {
	s.T.Helper()
	begin := time.Now()
	if err := s.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.T.Fatal(err)
	}
	rest, err := io.ReadAll(s.stdout)
	if err := errors.Join(err, s.Cmd.Wait()); err != nil || len(rest) > 0 {
		s.T.Errorf("the end: %v, standard output goes on %q\n%s", err, rest, Excerpt(s.Stderr.String()))
	}
	s.Ended = true
	for _, bad := range []string{"DATA RACE", "panic", "goroutine "} {
		if strings.Contains(s.Stderr.String(), bad) {
			s.T.Errorf("standard error has %q:\n%s", bad, Excerpt(s.Stderr.String()))
		}
	}
	return time.Since(begin)
}

// Status is that of a GET with a token.
func (s *Served) Status(path, token string) int {
	s.T.Helper()
	r, err := http.NewRequest("GET", s.Base+path, nil)
	if err != nil {
		s.T.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	r.Close = true
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.T.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

// WsClient is a client on a WebSocket. It keeps all that comes.
type WsClient struct {
	t  testing.TB
	Ws *websocket.Conn

	mu      sync.Mutex
	answers map[int]Message
	Updates []Update
	err     error         // of the end
	news    chan struct{} // closed and replaced when anything comes
	next    int
}

func DialWS(t testing.TB, base, token string, client *http.Client) *WsClient {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), base+"rpc", &websocket.DialOptions{HTTPClient: client,
		Subprotocols: []string{"thinkd.v1", "thinkd.token." + token}})
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(-1)
	s := &WsClient{t: t, Ws: ws, answers: make(map[int]Message), news: make(chan struct{})}
	done := testgo.Go(t, s.read) // ends with the connection; awaited by the cleanup
	t.Cleanup(func() { ws.CloseNow(); <-done })
	return s
}

func (s *WsClient) read() {
	for {
		kind, data, err := s.Ws.Read(context.Background())
		var m Message
		if err == nil && kind != websocket.MessageText {
			s.t.Errorf("a message is no text")
		}
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		var u Update
		if err == nil && m.Method != "" {
			u = Update{Method: m.Method, Raw: m.Params}
			err = json.Unmarshal(m.Params, &u)
		}
		s.mu.Lock()
		switch {
		case err != nil:
			s.err = err
		case m.Method != "":
			s.Updates = append(s.Updates, u)
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

// Until waits for what look finds; it is called with the lock held.
func (s *WsClient) Until(what string, look func() bool) {
	s.t.Helper()
	limit := time.After(Patience)
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

func (s *WsClient) Must(method string, params, result any) {
	s.t.Helper()
	if err := s.Call(method, params, result); err != nil {
		s.t.Fatalf("%s: %v", method, err)
	}
}

// Call is must for what may be refused.
func (s *WsClient) Call(method string, params, result any) error {
	s.t.Helper()
	s.next++
	request, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.next, "method": method, "params": params})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.Ws.Write(s.t.Context(), websocket.MessageText, request); err != nil {
		s.t.Fatal(err)
	}
	var m Message
	s.Until(method, func() (ok bool) { m, ok = s.answers[s.next]; return ok })
	return settle(m, result)
}

func (s *WsClient) TurnEnd() (end Update) {
	s.t.Helper()
	s.Until("the end of the turn", func() bool {
		i := slices.IndexFunc(s.Updates, func(u Update) bool { return u.Method == "turn_end" })
		if i >= 0 {
			end = s.Updates[i]
		}
		return i >= 0
	})
	return end
}

// Closed is the code and the reason with which the daemon closed.
func (s *WsClient) Closed() (code websocket.StatusCode, reason string) {
	s.t.Helper()
	s.Until("the close", func() bool { return s.err != nil })
	e, ok := errors.AsType[websocket.CloseError](s.err)
	if !ok {
		s.t.Fatalf("the connection ends with %v", s.err)
	}
	return e.Code, e.Reason
}

// Heard returns what a client has of a session after it has joined all that it received: each notification once, by its seq, with
// the growth of each block as one text.
func (s *WsClient) Heard() (last uint64, text map[string]string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	text = make(map[string]string)
	for _, u := range s.Updates {
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

// Scrape is a route's answer to a bearer of the token.
func (s *Served) Scrape(path string) (int, string) {
	s.T.Helper()
	req, err := http.NewRequestWithContext(s.T.Context(), "GET", s.Base+path, nil)
	if err != nil {
		s.T.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		s.T.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.T.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// Metrics are those without labels, by name.
func (s *Served) Metrics() map[string]float64 {
	s.T.Helper()
	_, body := s.Scrape("metrics")
	found := make(map[string]float64)
	for line := range strings.Lines(body) {
		name, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if name == "#" || strings.Contains(name, "{") {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			s.T.Fatalf("%s: %v", name, err)
		}
		found[name] = value
	}
	return found
}
