package proof

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider/sim"
	_ "github.com/thinkd/thinkd/provider/sim/faces"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/conntest"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session/bolt"
)

// Patience is how long a test waits for what should come at once: a bound for failures, never a pause.
const Patience = 3 * time.Minute

// House is a daemon in a process of its own.
type House struct {
	t      testing.TB
	Cmd    *exec.Cmd
	Stderr conntest.Log
	Lines  chan string // what it says, until it says no more
	ended  bool
}

// Process is a door in a process of its own, spoken to in lines over its standard input and output, and mostly with a
// daemon that goes when it goes.
type Process struct {
	T     testing.TB
	House *House // nil: the door's daemon is its own affair
	Cmd   *exec.Cmd
	stdin io.WriteCloser
	Gone  chan struct{} // closed when standard output has ended and all of it is in updates

	writing sync.Mutex // held while a request is written

	Mu      sync.Mutex
	next    int
	pending map[int]chan Message
	Updates []Update
	News    chan struct{} // closed and replaced with each update
	Orphans chan Message  // answers with the id null; a test that provokes them takes them out
	stderr  bytes.Buffer
	Ended   bool
}

// Update is a notification with the members that tests look at.
type Update struct {
	Method   string
	Raw      json.RawMessage
	Session  string     `json:"session_id"`
	Seq      uint64     `json:"seq"`
	FirstSeq uint64     `json:"first_seq"`
	TS       int64      `json:"ts"`
	Turn     string     `json:"turn_id"`
	Message  string     `json:"message_id"`
	Block    int        `json:"block"`
	Delta    string     `json:"delta"`
	Text     string     `json:"text"`
	Signed   bool       `json:"signed"`
	Stop     string     `json:"stop_reason"`
	Kind     string     `json:"kind"`
	Error    *CallError `json:"error"`
}

// Message is one message of the daemon.
type Message struct {
	ID     *int            `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *CallError      `json:"error"`
	Raw    []byte
}

// CallError is an error that the daemon answered.
type CallError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *CallError) Error() string { return e.Message }

// RaceOptions keep a process that was built with the race detector from waiting a second at its end.
const RaceOptions = "atexit_sleep_ms=0"

var errGone = errors.New("the daemon has gone")

// Command is the program with an environment of the test's own: no keys, no configuration, no data of the user's.
func Command(t testing.TB, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(Program(t), args...)
	home := t.TempDir()
	cmd.Env = slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return strings.HasPrefix(name, "ANTHROPIC_") || strings.HasPrefix(name, "XDG_")
	})
	cmd.Env = append(cmd.Env, "HOME="+home, "AppData="+home, "LocalAppData="+home, "GORACE="+RaceOptions)
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// The names and lines below are those of the program, as they are seen from outside.
const (
	DaemonReady    = "ready" // what a daemon says once it listens
	LogFileName    = "thinkd.log"
	KeysFileName   = "keys.json"
	SocketFileName = "thinkd.sock"
	SocketPathFile = "sock.path" // in a directory with a long path, it has the path of the socket
	ProfileEnv     = "THINKD_PROFILE"
)

// WireAPIs are the wire APIs by name, each with the path of the simulator's base URL.
var WireAPIs = []struct{ Name, Path string }{{"messages", ""}, {"responses", "/v1"}, {"chat", "/generic"}, {"gemini", ""}, {"ollama", ""}, {"converse", ""}, {"cohere", ""}}

// members are params: pairs of a name and a value, without those that are empty.
func members(pairs ...string) map[string]any {
	m := make(map[string]any)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			m[pairs[i]] = pairs[i+1]
		}
	}
	return m
}

// SocketOf is the path of the socket of a data directory's daemon.
func SocketOf(data string) (string, error) {
	path, err := os.ReadFile(filepath.Join(data, SocketPathFile))
	if errors.Is(err, os.ErrNotExist) {
		return filepath.Join(data, SocketFileName), nil
	}
	return strings.TrimSpace(string(path)), err
}

// GreetDaemon connects to the daemon of a data directory as the program's own commands do.
func GreetDaemon(ctx context.Context, data string) (*door.Link, error) {
	path, err := SocketOf(data)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	return door.Greet(ctx, conn)
}

// Open runs a daemon on a data directory. It is killed at the end of the test if it still runs.
func Open(t testing.TB, data string, env []string, flags ...string) *House {
	t.Helper()
	return OpenCommand(t, Command(t, env, append([]string{"--data", data, "daemon"}, flags...)...))
}

// OpenCommand is open for a command that runs a daemon.
func OpenCommand(t testing.TB, cmd *exec.Cmd) *House {
	t.Helper()
	h := &House{t: t, Cmd: cmd, Lines: make(chan string, 100)}
	cmd.Stderr = &h.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testgo.Go(t, func() { // ends with the daemon, or when that has said what it has to
		defer close(h.Lines)
		for in := bufio.NewScanner(stdout); in.Scan(); {
			h.Lines <- in.Text()
		}
	})
	t.Cleanup(h.Kill)
	return h
}

// Ready waits until the daemon listens.
func (h *House) Ready() {
	h.t.Helper()
	select {
	case line := <-h.Lines:
		if line != DaemonReady {
			h.t.Fatalf("the daemon says %q, and then %q", line, <-h.Lines)
		}
	case <-time.After(Patience):
		h.t.Fatal("the daemon does not start")
	}
}

// Kill ends the daemon as a crash would.
func (h *House) Kill() {
	if h.ended {
		return
	}
	h.Cmd.Process.Kill()
	h.Gone()
}

// Gone waits for the daemon and is how it ended.
func (h *House) Gone() error {
	h.t.Helper()
	h.ended = true
	for range h.Lines { // until the end
	}
	err := h.Cmd.Wait()
	checkSilence(h.t, "the daemon", h.Stderr.String())
	return err
}

// End asks the daemon to end and waits for it to end well.
func (h *House) End() {
	h.t.Helper()
	h.EndBy(syscall.SIGTERM)
}

func (h *House) EndBy(s os.Signal) {
	h.t.Helper()
	if err := h.Cmd.Process.Signal(s); err != nil {
		h.t.Error(err)
	}
	if err := h.Gone(); err != nil {
		h.t.Errorf("the daemon ends with %v\n%s", err, Excerpt(h.Stderr.String()))
	}
}

// Moment lets time pass, for what no event announces: a kill at a random moment, or another process that is asked again.
func Moment(d time.Duration) { <-time.After(d) }

// Quit ends the daemon that commands have started on a data directory, if there is one, and waits for it to be gone.
func Quit(data string) error {
	link, err := GreetDaemon(context.Background(), data)
	if err != nil {
		return nil
	}
	daemon, err := os.FindProcess(link.Status.PID)
	if err == nil {
		err = daemon.Signal(syscall.SIGTERM)
	}
	link.Close()
	for err == nil {
		_, checked := bolt.CheckFile(context.Background(), filepath.Join(data, "thinkd.db"))
		if _, held := errors.AsType[*bolt.LockedError](checked); !held {
			return nil
		}
		Moment(5 * time.Millisecond)
	}
	return err
}

// Start runs a daemon on a data directory, and `thinkd stdio` as its client. Both are killed at the end of the test if
// they still run.
func Start(t testing.TB, data string, env []string, flags ...string) *Process {
	t.Helper()
	h := Open(t, data, env, flags...)
	h.Ready()
	return h.Client(env, flags...)
}

// Client runs `thinkd stdio`, with which the daemon is to end.
func (h *House) Client(env []string, flags ...string) *Process {
	h.t.Helper()
	p := StartCommand(h.t, Command(h.t, env, append(append(h.data(), flags...), "stdio")...))
	p.House = h
	return p
}

func (h *House) data() []string { return slices.Clone(h.Cmd.Args[1:3]) }

// StartCommand runs a command that speaks the protocol. What it writes to standard output goes to also, too.
func StartCommand(t testing.TB, cmd *exec.Cmd, also ...io.Writer) *Process {
	t.Helper()
	p := &Process{T: t, Cmd: cmd, Gone: make(chan struct{}), pending: make(map[int]chan Message), News: make(chan struct{}),
		Orphans: make(chan Message, 100)}
	cmd.Stderr = writerFunc(func(b []byte) (int, error) {
		p.Mu.Lock()
		defer p.Mu.Unlock()
		return p.stderr.Write(b)
	})
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testgo.Go(t, func() { p.read(io.TeeReader(stdout, io.MultiWriter(also...))) }) // ends with the process; kill and end wait on gone
	t.Cleanup(p.Kill)
	return p
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// read takes in what the daemon says until there is no more.
func (p *Process) read(stdout io.Reader) {
	defer close(p.Gone)
	in := bufio.NewReader(stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if len(line) > 0 && !p.killed() { // a kill may cut a line
				p.T.Errorf("standard output ends in %q", line)
			}
			return
		}
		var m Message
		if err := json.Unmarshal(line, &m); err != nil {
			p.T.Errorf("standard output has %q: %v", line, err)
			continue
		}
		p.take(m)
	}
}

func (p *Process) take(m Message) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if m.Method == "" {
		if m.ID == nil {
			p.Orphans <- m
			return
		}
		p.pending[*m.ID] <- m
		delete(p.pending, *m.ID)
		return
	}
	u := Update{Method: m.Method, Raw: m.Params}
	if err := json.Unmarshal(m.Params, &u); err != nil {
		p.T.Errorf("%s: %v", m.Method, err)
	}
	p.Updates = append(p.Updates, u)
	close(p.News)
	p.News = make(chan struct{})
}

// Call sends a request and waits for its answer: nil, a *callError, or errGone.
func (p *Process) Call(method string, params, result any) error {
	p.T.Helper()
	return p.Send(method, params)(result)
}

// Send sends a request; what it returns waits for the answer as call does.
func (p *Process) Send(method string, params any) (wait func(result any) error) {
	p.T.Helper()
	answer := make(chan Message, 1)
	p.Mu.Lock()
	p.next++
	id := p.next
	p.pending[id] = answer
	p.Mu.Unlock()
	request, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		p.T.Fatal(err)
	}
	p.writing.Lock()
	_, err = p.stdin.Write(append(request, '\n'))
	p.writing.Unlock()
	if err != nil {
		return func(any) error { return errGone }
	}
	return func(result any) error {
		select {
		case m := <-answer:
			return settle(m, result)
		case <-p.Gone:
			select {
			case m := <-answer: // it was there before the end
				return settle(m, result)
			default:
				return errGone
			}
		case <-time.After(Patience):
			return fmt.Errorf("%s: no answer", method)
		}
	}
}

func settle(m Message, result any) error {
	if m.Error != nil {
		return m.Error
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(m.Result, result)
}

// Raw writes what is no request, or more than one.
func (p *Process) Raw(text string) {
	p.T.Helper()
	p.writing.Lock()
	defer p.writing.Unlock()
	if _, err := io.WriteString(p.stdin, text); err != nil {
		p.T.Fatalf("standard input: %v\n%s", err, Excerpt(p.Log()))
	}
}

// Must is call for what has to succeed.
func (p *Process) Must(method string, params, result any) {
	p.T.Helper()
	if err := p.Call(method, params, result); err != nil {
		p.T.Fatalf("%s: %v\n%s", method, err, Excerpt(p.Log()))
	}
}

// Wait returns the first update that fits, now or later.
func (p *Process) Wait(what string, fits func(Update) bool) Update {
	p.T.Helper()
	u, err := p.Find(fits)
	if err != nil {
		p.T.Fatalf("waiting for %s: %v\n%s", what, err, Excerpt(p.Log()))
	}
	return u
}

func (p *Process) Find(fits func(Update) bool) (Update, error) {
	deadline := time.After(Patience)
	for at := 0; ; {
		p.Mu.Lock()
		news, list := p.News, p.Updates
		p.Mu.Unlock()
		for ; at < len(list); at++ {
			if fits(list[at]) {
				return list[at], nil
			}
		}
		select {
		case <-news:
		case <-p.Gone:
			p.Mu.Lock()
			done := at == len(p.Updates)
			p.Mu.Unlock()
			if done {
				return Update{}, errGone
			}
		case <-deadline:
			return Update{}, errors.New("it does not come")
		}
	}
}

// Ended fits the end of a turn.
func Ended(turn string) func(Update) bool {
	return func(u Update) bool { return u.Method == "turn_end" && u.Turn == turn }
}

// NewSession makes a session and returns its id.
func (p *Process) NewSession(words ...string) string {
	p.T.Helper()
	var s struct {
		ID string `json:"session_id"`
	}
	p.Must("session/new", members(words...), &s)
	return s.ID
}

// Say prompts and returns the turn.
func (p *Process) Say(session, text string) string {
	p.T.Helper()
	var r struct {
		Turn string `json:"turn_id"`
	}
	p.Must("session/prompt", map[string]any{"session_id": session, "text": text}, &r)
	return r.Turn
}

// Turn prompts and waits for the end.
func (p *Process) Turn(session, text string) Update {
	p.T.Helper()
	return p.Wait("the end of the turn", Ended(p.Say(session, text)))
}

// Forget lets go of what was seen: the test holds on to all its processes.
func (p *Process) Forget() {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.Updates = nil
}

// Seen is a copy of all updates so far.
func (p *Process) Seen() []Update {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return slices.Clone(p.Updates)
}

func (p *Process) Log() string {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return p.stderr.String()
}

func (p *Process) killed() bool {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return p.Ended
}

// Kill ends the process as a crash would: at once, with nothing said. After that everything that it had written is in
// updates.
func (p *Process) Kill() {
	p.Mu.Lock()
	done := p.Ended
	p.Ended = true
	p.Mu.Unlock()
	if done {
		return
	}
	p.Cmd.Process.Kill() // first, or it would start another daemon; it may have ended by itself
	if p.House != nil {
		p.House.Kill()
	}
	p.stdin.Close()
	<-p.Gone
	p.Cmd.Wait() // its status is the kill's
	p.checkLog()
}

// End closes standard input and waits for the process to end well.
func (p *Process) End() {
	p.T.Helper()
	p.stdin.Close()
	p.ends()
}

// ends waits for the process to end well.
func (p *Process) ends() {
	p.T.Helper()
	select {
	case <-p.Gone:
	case <-time.After(Patience):
		p.T.Fatalf("the process does not end\n%s", Excerpt(p.Log()))
	}
	p.Mu.Lock()
	p.Ended = true
	p.Mu.Unlock()
	if err := p.Cmd.Wait(); err != nil {
		p.T.Errorf("the process ends with %v\n%s", err, Excerpt(p.Log()))
	}
	p.checkLog()
	if p.House != nil {
		p.House.End()
	}
}

func (p *Process) checkLog() {
	p.T.Helper()
	if len(p.Orphans) > 0 {
		p.T.Errorf("an answer to nothing that was asked: %v", (<-p.Orphans).Error)
	}
	checkSilence(p.T, "the door", p.Log())
}

func checkSilence(t testing.TB, who, stderr string) {
	t.Helper()
	for _, bad := range []string{"DATA RACE", "panic", "goroutine "} {
		if strings.Contains(stderr, bad) {
			t.Errorf("%s writes %q to standard error:\n%s", who, bad, Excerpt(stderr))
			return
		}
	}
}

// SpokenMessage is a message of a session's history.
type SpokenMessage struct {
	ID         string `json:"id"`
	Turn       string `json:"turn_id"`
	Role       string `json:"role"`
	Incomplete string `json:"incomplete"`
	Stop       string `json:"stop_reason"`
	Open       bool   `json:"open"`
	Queued     bool   `json:"queued"`
	Content    []struct {
		Block  int    `json:"block"`
		Type   string `json:"type"`
		Text   string `json:"text"`
		Signed bool   `json:"signed"`
	} `json:"content"`
}

// History is all of a session's messages, read page by page.
func (p *Process) History(session string) ([]SpokenMessage, error) {
	var all []SpokenMessage
	params := map[string]any{"session_id": session, "limit": 1000}
	for {
		var page struct {
			Messages []SpokenMessage
			More     bool
		}
		if err := p.Call("session/history", params, &page); err != nil {
			return nil, err
		}
		all = append(page.Messages, all...)
		if !page.More {
			return all, nil
		}
		params["before"] = page.Messages[0].ID
	}
}

// Simulator serves the strict stand-in on loopback and returns the environment that leads there.
func Simulator(t testing.TB, c sim.Config) (*sim.Server, []string) {
	t.Helper()
	c.Key = "sk-of-the-test"
	s := sim.New(c)
	return s, []string{"ANTHROPIC_API_KEY=" + c.Key, "ANTHROPIC_BASE_URL=" + Serve(t, s)}
}
