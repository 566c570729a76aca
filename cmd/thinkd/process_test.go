package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	"github.com/thinkd/thinkd/session"
)

// patience is how long a test waits for what should come at once: a bound for failures, never a pause.
const patience = 60 * time.Second

// house is a daemon in a process of its own.
type house struct {
	t      testing.TB
	cmd    *exec.Cmd
	stderr lockedBuffer
	lines  chan string // what it says, until it says no more
	ended  bool
}

// process is a door in a process of its own, spoken to in lines over its standard input and output, and mostly with a
// daemon that goes when it goes.
type process struct {
	t     testing.TB
	house *house // nil: the door's daemon is its own affair
	cmd   *exec.Cmd
	stdin io.WriteCloser
	gone  chan struct{} // closed when standard output has ended and all of it is in updates

	writing sync.Mutex // one request at a time

	mu      sync.Mutex
	next    int
	pending map[int]chan message
	updates []update
	news    chan struct{} // closed and made anew with each update
	orphans chan message  // answers with the id null; a test that provokes them takes them out
	stderr  bytes.Buffer
	ended   bool
}

// update is a notification with the members that tests look at.
type update struct {
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
	Error    *callError `json:"error"`
}

// message is one message of the daemon.
type message struct {
	ID     *int            `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *callError      `json:"error"`
	raw    []byte
}

// callError is an error that the daemon answered.
type callError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *callError) Error() string { return e.Message }

// raceOptions keep a process that was built with the race detector from waiting a second at its end.
const raceOptions = "atexit_sleep_ms=0"

var errGone = errors.New("the daemon has gone")

// command is the program with an environment of the test's own: no keys, no configuration, no data of the user's.
func command(t testing.TB, env []string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("thinkd")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	home := t.TempDir()
	cmd.Env = slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return strings.HasPrefix(name, "ANTHROPIC_") || strings.HasPrefix(name, "XDG_")
	})
	cmd.Env = append(cmd.Env, "HOME="+home, "AppData="+home, "LocalAppData="+home, "GORACE="+raceOptions)
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// open runs a daemon on a data directory. It is killed at the end of the test if it still runs.
func open(t testing.TB, data string, env []string, flags ...string) *house {
	t.Helper()
	return openCommand(t, command(t, env, append([]string{"--data", data, "daemon"}, flags...)...))
}

// openCommand is open for a command that runs a daemon.
func openCommand(t testing.TB, cmd *exec.Cmd) *house {
	t.Helper()
	h := &house{t: t, cmd: cmd, lines: make(chan string, 100)}
	cmd.Stderr = &h.stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { // ends with the daemon, or when that has said what it has to
		defer close(h.lines)
		for in := bufio.NewScanner(stdout); in.Scan(); {
			h.lines <- in.Text()
		}
	}()
	t.Cleanup(h.kill)
	return h
}

// ready waits until the daemon listens.
func (h *house) ready() {
	h.t.Helper()
	select {
	case line := <-h.lines:
		if line != saidReady {
			h.t.Fatalf("the daemon says %q, and then %q", line, <-h.lines)
		}
	case <-time.After(patience):
		h.t.Fatal("the daemon does not start")
	}
}

// kill ends the daemon as a crash would.
func (h *house) kill() {
	if h.ended {
		return
	}
	h.cmd.Process.Kill()
	h.gone()
}

// gone waits for the daemon and is how it ended.
func (h *house) gone() error {
	h.t.Helper()
	h.ended = true
	for range h.lines { // until the end
	}
	err := h.cmd.Wait()
	checkSilence(h.t, "the daemon", h.stderr.String())
	return err
}

// end asks the daemon to end and waits for it to end well.
func (h *house) end() {
	h.t.Helper()
	h.endBy(syscall.SIGTERM)
}

func (h *house) endBy(s os.Signal) {
	h.t.Helper()
	if err := h.cmd.Process.Signal(s); err != nil {
		h.t.Error(err)
	}
	if err := h.gone(); err != nil {
		h.t.Errorf("the daemon ends with %v\n%s", err, h.stderr.String())
	}
}

// quit ends the daemon that commands have started on a data directory, if there is one, and waits for it to be gone.
func quit(data string) error {
	link, err := greet(context.Background(), data)
	if err != nil {
		return nil
	}
	daemon, err := os.FindProcess(link.Status.PID)
	if err == nil {
		err = daemon.Signal(syscall.SIGTERM)
	}
	link.Close()
	for err == nil {
		_, checked := session.CheckFile(context.Background(), filepath.Join(data, "thinkd.db"))
		if _, held := errors.AsType[*session.LockedError](checked); !held {
			return nil
		}
		moment(firstPause)
	}
	return err
}

// start runs a daemon on a data directory, and `thinkd stdio` as its client. Both are killed at the end of the test if
// they still run.
func start(t testing.TB, data string, env []string, flags ...string) *process {
	t.Helper()
	h := open(t, data, env, flags...)
	h.ready()
	return h.client(env, flags...)
}

// client runs `thinkd stdio`, with which the daemon is to end.
func (h *house) client(env []string, flags ...string) *process {
	h.t.Helper()
	p := startCommand(h.t, command(h.t, env, append(append(h.data(), flags...), "stdio")...))
	p.house = h
	return p
}

func (h *house) data() []string { return slices.Clone(h.cmd.Args[1:3]) }

// startCommand runs a command that speaks the protocol. What it writes to standard output goes to also, too.
func startCommand(t testing.TB, cmd *exec.Cmd, also ...io.Writer) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, gone: make(chan struct{}), pending: make(map[int]chan message), news: make(chan struct{}),
		orphans: make(chan message, 100)}
	cmd.Stderr = writerFunc(func(b []byte) (int, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
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
	go p.read(io.TeeReader(stdout, io.MultiWriter(also...))) // ends with the process; kill and end wait on gone
	t.Cleanup(p.kill)
	return p
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// read takes in what the daemon says until there is no more.
func (p *process) read(stdout io.Reader) {
	defer close(p.gone)
	in := bufio.NewReader(stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if len(line) > 0 && !p.killed() { // a kill may cut a line
				p.t.Errorf("standard output ends in %q", line)
			}
			return
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			p.t.Errorf("standard output has %q: %v", line, err)
			continue
		}
		p.take(m)
	}
}

func (p *process) take(m message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.Method == "" {
		if m.ID == nil {
			p.orphans <- m
			return
		}
		p.pending[*m.ID] <- m
		delete(p.pending, *m.ID)
		return
	}
	u := update{Method: m.Method, Raw: m.Params}
	if err := json.Unmarshal(m.Params, &u); err != nil {
		p.t.Errorf("%s: %v", m.Method, err)
	}
	p.updates = append(p.updates, u)
	close(p.news)
	p.news = make(chan struct{})
}

// call sends a request and waits for its answer: nil, a *callError, or errGone.
func (p *process) call(method string, params, result any) error {
	p.t.Helper()
	return p.send(method, params)(result)
}

// send sends a request; what it returns waits for the answer as call does.
func (p *process) send(method string, params any) (wait func(result any) error) {
	p.t.Helper()
	answer := make(chan message, 1)
	p.mu.Lock()
	p.next++
	id := p.next
	p.pending[id] = answer
	p.mu.Unlock()
	request, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		p.t.Fatal(err)
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
		case <-p.gone:
			select {
			case m := <-answer: // it was there before the end
				return settle(m, result)
			default:
				return errGone
			}
		case <-time.After(patience):
			return fmt.Errorf("%s: no answer", method)
		}
	}
}

func settle(m message, result any) error {
	if m.Error != nil {
		return m.Error
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(m.Result, result)
}

// raw writes what is no request, or more than one.
func (p *process) raw(text string) {
	p.t.Helper()
	p.writing.Lock()
	defer p.writing.Unlock()
	if _, err := io.WriteString(p.stdin, text); err != nil {
		p.t.Fatalf("standard input: %v\n%s", err, p.log())
	}
}

// must is call for what has to succeed.
func (p *process) must(method string, params, result any) {
	p.t.Helper()
	if err := p.call(method, params, result); err != nil {
		p.t.Fatalf("%s: %v\n%s", method, err, p.log())
	}
}

// wait returns the first update that fits, now or later.
func (p *process) wait(what string, fits func(update) bool) update {
	p.t.Helper()
	u, err := p.find(fits)
	if err != nil {
		p.t.Fatalf("waiting for %s: %v\n%s", what, err, p.log())
	}
	return u
}

func (p *process) find(fits func(update) bool) (update, error) {
	deadline := time.After(patience)
	for at := 0; ; {
		p.mu.Lock()
		news, list := p.news, p.updates
		p.mu.Unlock()
		for ; at < len(list); at++ {
			if fits(list[at]) {
				return list[at], nil
			}
		}
		select {
		case <-news:
		case <-p.gone:
			p.mu.Lock()
			done := at == len(p.updates)
			p.mu.Unlock()
			if done {
				return update{}, errGone
			}
		case <-deadline:
			return update{}, errors.New("it does not come")
		}
	}
}

// ended fits the end of a turn.
func ended(turn string) func(update) bool {
	return func(u update) bool { return u.Method == "turn_end" && u.Turn == turn }
}

// newSession makes a session and returns its id.
func (p *process) newSession(words ...string) string {
	p.t.Helper()
	var s struct {
		ID string `json:"session_id"`
	}
	p.must("session/new", present(words...), &s)
	return s.ID
}

// say prompts and returns the turn.
func (p *process) say(session, text string) string {
	p.t.Helper()
	var r struct {
		Turn string `json:"turn_id"`
	}
	p.must("session/prompt", map[string]any{"session_id": session, "text": text}, &r)
	return r.Turn
}

// turn prompts and waits for the end.
func (p *process) turn(session, text string) update {
	p.t.Helper()
	return p.wait("the end of the turn", ended(p.say(session, text)))
}

// forget lets go of what was seen: the test holds on to all its processes.
func (p *process) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.updates = nil
}

// seen is a copy of all updates so far.
func (p *process) seen() []update {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.updates)
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

func (p *process) killed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// kill ends the process as a crash would: at once, with nothing said. After that everything that it had written is in
// updates.
func (p *process) kill() {
	p.mu.Lock()
	done := p.ended
	p.ended = true
	p.mu.Unlock()
	if done {
		return
	}
	p.cmd.Process.Kill() // first, or it would start another daemon; it may have ended by itself
	if p.house != nil {
		p.house.kill()
	}
	p.stdin.Close()
	<-p.gone
	p.cmd.Wait() // its status is the kill's
	p.checkLog()
}

// end closes standard input and waits for the process to end well.
func (p *process) end() {
	p.t.Helper()
	p.stdin.Close()
	p.ends()
}

// ends waits for the process to end well.
func (p *process) ends() {
	p.t.Helper()
	select {
	case <-p.gone:
	case <-time.After(patience):
		p.t.Fatalf("the process does not end\n%s", p.log())
	}
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("the process ends with %v\n%s", err, p.log())
	}
	p.checkLog()
	if p.house != nil {
		p.house.end()
	}
}

func (p *process) checkLog() {
	p.t.Helper()
	if len(p.orphans) > 0 {
		p.t.Errorf("an answer to nothing that was asked: %v", (<-p.orphans).Error)
	}
	checkSilence(p.t, "the door", p.log())
}

func checkSilence(t testing.TB, who, stderr string) {
	t.Helper()
	for _, bad := range []string{"DATA RACE", "panic", "goroutine "} {
		if strings.Contains(stderr, bad) {
			t.Errorf("%s writes %q to standard error:\n%s", who, bad, stderr)
			return
		}
	}
}

// spokenMessage is a message of a session's history.
type spokenMessage struct {
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

// history is all of a session's messages, read page by page.
func (p *process) history(session string) ([]spokenMessage, error) {
	var all []spokenMessage
	params := map[string]any{"session_id": session, "limit": 1000}
	for {
		var page struct {
			Messages []spokenMessage
			More     bool
		}
		if err := p.call("session/history", params, &page); err != nil {
			return nil, err
		}
		all = append(page.Messages, all...)
		if !page.More {
			return all, nil
		}
		params["before"] = page.Messages[0].ID
	}
}

// simulator serves the strict stand-in on loopback and returns the environment that leads there.
func simulator(t testing.TB, c sim.Config) (*sim.Server, []string) {
	t.Helper()
	c.Key = "sk-of-the-test"
	s := sim.New(c)
	return s, []string{"ANTHROPIC_API_KEY=" + c.Key, "ANTHROPIC_BASE_URL=" + serve(t, s)}
}
