package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/rpc"
)

var doorRounds = flag.Int("doorkills", 10, "how often TestDoorsOutliveDaemons kills the daemon")

// dataDir is a data directory whose daemon ends with the test.
func dataDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() {
		if err := quit(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// door runs `thinkd stdio`; who the daemon is, is its affair.
func door(t *testing.T, data string, env []string, flags ...string) *process {
	t.Helper()
	args := append([]string{"--data", data}, flags...)
	return startCommand(t, command(t, env, append(args, "stdio")...))
}

// theDaemon is who serves a data directory.
func theDaemon(t *testing.T, data string) rpc.Status {
	t.Helper()
	link, err := greet(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	return link.Status
}

// killDaemon ends it as a crash would.
func killDaemon(t *testing.T, data string) (pid int) {
	t.Helper()
	pid = theDaemon(t, data).PID
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// vendorOf serves answers of known words.
func vendorOf(t *testing.T) []string {
	vendor, env := simulator(t, sim.Config{})
	vendor.ScriptFunc(recite)
	return env
}

// closing is the code for what the daemon's end has left open.
const closing = int(rpc.CodeClosing)

const vendorModel = "anthropic/claude-opus-5-5"

// attach subscribes and is where the session stands.
func (p *process) attach(session string) (seq uint64, open bool) {
	p.t.Helper()
	var at struct {
		Seq  uint64          `json:"seq"`
		Open json.RawMessage `json:"open"`
	}
	p.must("session/attach", map[string]any{"session_id": session}, &at)
	return at.Seq, at.Open != nil
}

// afresh returns when the door has the next daemon: the one before has ended, and requests that were on their way to it
// are answered with that.
func (p *process) afresh() {
	p.t.Helper()
	for range 10 {
		err := p.call("ping", nil, nil)
		if err == nil {
			return
		}
		if e, ok := errors.AsType[*callError](err); !ok || e.Code != closing {
			p.t.Fatal(err)
		}
	}
	p.t.Fatal("there is no daemon any more")
}

// checkDense fails unless each number after one comes once, as far as it goes.
func checkDense(t *testing.T, who string, updates []update, session string, after uint64) {
	t.Helper()
	for _, u := range updates {
		if u.Session != session || u.Method == "stale" {
			continue
		}
		first := u.Seq
		if u.FirstSeq != 0 {
			first = u.FirstSeq
		}
		if first != after+1 || u.Seq < first {
			t.Errorf("%s: %s has the numbers %d to %d after %d", who, u.Method, first, u.Seq, after)
			return
		}
		after = u.Seq
	}
}

// Ten editors that start at once have one daemon.
func TestTenDoorsStartOneDaemon(t *testing.T) {
	t.Parallel()
	data := dataDir(t)
	var doors []*process
	for range 10 {
		doors = append(doors, door(t, data, nil))
	}
	id := doors[0].newSession()
	for _, p := range doors {
		p.attach(id)
	}
	if s := theDaemon(t, data); s.Clients != 11 {
		t.Errorf("the daemon has %d clients, want ten doors and us", s.Clients)
	}
	for _, p := range doors {
		p.end()
		if log := p.log(); log != "" {
			t.Errorf("standard error has %q", log)
		}
	}
	log, err := os.ReadFile(filepath.Join(data, logName))
	if n := strings.Count(string(log), "daemon version="); n != 1 || err != nil {
		t.Errorf("%d daemons have started (%v):\n%s", n, err, log)
	}
}

// Two processes on a data directory see one session: each update once, with the same number.
func TestTwoDoorsSeeOneSession(t *testing.T) {
	t.Parallel()
	data, env := dataDir(t), vendorOf(t)
	a, b := door(t, data, env), door(t, data, env)
	id := a.newSession("model_id", vendorModel, "thinking_level", "medium")
	seq, _ := b.attach(id)
	for i, p := range []*process{a, b, a} {
		turn := p.say(id, recital{Tag: fmt.Sprint("r", i), Thinking: 50, Blocks: 2, Words: 50}.prompt())
		for _, p := range []*process{a, b} {
			if end := p.wait("the end", ended(turn)); end.Stop != "end_turn" {
				t.Fatalf("the turn ends with %s", end.Stop)
			}
		}
	}
	var words [2]string
	var ends [2][]uint64
	for i, p := range []*process{a, b} {
		after := uint64(0)
		if p == b {
			after = seq
		}
		checkDense(t, fmt.Sprint("door ", i), p.seen(), id, after)
		for _, u := range p.seen() {
			words[i] += u.Delta
			if !strings.HasSuffix(u.Method, "_delta") && u.Seq > seq {
				ends[i] = append(ends[i], u.Seq)
			}
		}
	}
	if words[0] != words[1] || !slices.Equal(ends[0], ends[1]) || words[0] == "" {
		t.Errorf("the two saw different things: %d and %d bytes, %v and %v", len(words[0]), len(words[1]), ends[0], ends[1])
	}
	a.end()
	if seq, open := b.attach(id); open || seq == 0 {
		t.Errorf("the session is at %d, open %v, when the other has gone", seq, open)
	}
	b.end()
}

// The daemon is killed in mid-turn, again and again: the doors have another one within two seconds, requests in flight
// are answered, attach tells how the turn ended, and a new prompt works.
func TestDoorsOutliveDaemons(t *testing.T) {
	t.Parallel()
	data, env := dataDir(t), vendorOf(t)
	a, b := door(t, data, env), door(t, data, env)
	a.must("initialize", map[string]any{"client": map[string]any{"name": "a"}}, nil)
	id := a.newSession("model_id", vendorModel, "thinking_level", "medium")
	b.attach(id)
	both := []*process{a, b}
	var took []time.Duration
	for round := range *doorRounds {
		turn := a.say(id, recital{Tag: fmt.Sprint("cut", round), Thinking: 3000, Blocks: 1, Words: 10, Pace: 200}.prompt())
		for _, p := range both {
			p.wait("thinking", func(u update) bool { return u.Method == "thinking_delta" && u.Turn == turn })
		}
		var inFlight []func(any) error
		for _, p := range both {
			inFlight = append(inFlight, p.send("turn/wait", map[string]any{"session_id": id, "turn_id": turn}))
			p.must("ping", nil, nil) // the daemon has both
		}
		killed := time.Now()
		pid := killDaemon(t, data)
		for i, p := range both {
			if e, ok := errors.AsType[*callError](inFlight[i](nil)); !ok || e.Code != closing {
				t.Errorf("round %d: a request in flight is answered with %v", round, e)
			}
			stale := p.wait("stale", func(u update) bool { return u.Method == "stale" && u.Session == id })
			last := uint64(0)
			for _, u := range p.seen() {
				last = max(last, u.Seq)
			}
			if !strings.Contains(string(stale.Raw), fmt.Sprintf(`"after_seq":%d}`, last)) {
				t.Errorf("round %d: %s after %d", round, stale.Raw, last)
			}
		}
		after := map[*process]uint64{}
		for _, p := range both {
			seq, open := p.attach(id)
			if open {
				t.Errorf("round %d: the turn is open after a kill", round)
			}
			after[p] = seq
		}
		took = append(took, time.Since(killed))
		if s := theDaemon(t, data); s.PID == pid {
			t.Fatalf("round %d: the daemon lives", round)
		}
		var end struct {
			Stop string `json:"stop_reason"`
		}
		b.must("turn/wait", map[string]any{"session_id": id, "turn_id": turn}, &end)
		if end.Stop != "interrupted" {
			t.Errorf("round %d: the turn ended with %s", round, end.Stop)
		}
		if a.call("initialize", map[string]any{}, nil) == nil {
			t.Errorf("round %d: the new daemon was not told who the client is", round)
		}
		for _, p := range both {
			p.forget()
		}
		if end := b.turn(id, recital{Tag: fmt.Sprint("new", round), Thinking: 5, Blocks: 1, Words: 5}.prompt()); end.Stop != "end_turn" {
			t.Errorf("round %d: the next turn ends with %s", round, end.Stop)
		}
		for i, p := range both {
			p.wait("the end", func(u update) bool { return u.Method == "turn_end" })
			checkDense(t, fmt.Sprint("door ", i), p.seen(), id, after[p])
			p.forget()
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	slices.Sort(took)
	t.Logf("from the kill to the answer of both attaches: median %v, longest %v", took[len(took)/2], took[len(took)-1])
	if took[len(took)/2] > 2*time.Second { // the longest is a matter of what else the machine does
		t.Error("a new daemon takes longer than two seconds")
	}
	a.end()
	b.end()
}

// An editor that is killed in mid-turn loses nothing: its turn ends as it would have, and is there when it comes back.
func TestTurnOutlivesItsEditor(t *testing.T) {
	t.Parallel()
	data, env := dataDir(t), vendorOf(t)
	a, b := door(t, data, env), door(t, data, env)
	id := a.newSession("model_id", vendorModel, "thinking_level", "medium")
	r := recital{Tag: "whole", Thinking: 100, Blocks: 1, Words: 100, Pace: 300}
	turn := a.say(id, r.prompt())
	a.wait("thinking", func(u update) bool { return u.Method == "thinking_delta" })
	a.kill()
	var end struct {
		Stop string `json:"stop_reason"`
	}
	b.must("turn/wait", map[string]any{"session_id": id, "turn_id": turn}, &end)
	if end.Stop != "end_turn" {
		t.Errorf("the turn ended with %s", end.Stop)
	}
	b.end()
	a = door(t, data, env)
	messages, err := a.history(id)
	if err != nil || len(messages) != 2 {
		t.Fatalf("%d messages, %v", len(messages), err)
	}
	got := messages[1].Content
	if len(got) != 2 || got[0].Text != r.block(0) || !got[0].Signed || got[1].Text != r.block(1) {
		t.Errorf("the answer is %+v", got)
	}
	a.end()
}

// The daemon leaves when it has had neither client nor turn for a while; a turn without clients keeps it.
func TestDaemonLeavesUnused(t *testing.T) {
	t.Parallel()
	data, env := t.TempDir(), vendorOf(t)
	h := open(t, data, env, "--idle", "1s")
	h.ready()
	link, err := greet(t.Context(), data) // it keeps the daemon until the door is there
	if err != nil {
		t.Fatal(err)
	}
	p := h.client(env)
	p.house = nil
	id := p.newSession("model_id", vendorModel)
	link.Close()
	r := recital{Tag: "alone", Thinking: 10, Blocks: 1, Words: 300, Pace: 300}
	p.say(id, r.prompt())
	p.kill()
	if err := h.gone(); err != nil {
		t.Errorf("the daemon ends with %v", err)
	}
	view := stored(t, data, id)
	if len(view.Turns) != 1 || view.Turns[0].End == nil || view.Turns[0].End.StopReason != "end_turn" {
		t.Errorf("the turn without clients: %+v", view.Turns)
	}
	if _, err := os.Lstat(filepath.Join(data, socketName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
}

// SIGTERM under load: clients hear how their turns end, the daemon ends well and soon, and nothing that was acknowledged
// is lost.
func TestDaemonEndsInOrder(t *testing.T) {
	t.Parallel()
	data, env := dataDir(t), vendorOf(t)
	h := open(t, data, env)
	h.ready()
	type work struct {
		p        *process
		id, turn string
		queued   string
	}
	var all []work
	for i := range 6 {
		p := h.client(env)
		p.house = nil
		w := work{p: p, id: p.newSession("model_id", vendorModel, "thinking_level", "medium")}
		w.turn = p.say(w.id, recital{Tag: fmt.Sprint("cut", i), Thinking: 20_000, Blocks: 1, Words: 10, Pace: 300}.prompt())
		w.queued = p.say(w.id, recital{Tag: fmt.Sprint("queued", i), Thinking: 3, Blocks: 1, Words: 10}.prompt())
		p.wait("thinking", func(u update) bool { return u.Method == "thinking_delta" })
		all = append(all, w)
	}
	hangOn(t, data)
	began := time.Now()
	h.end()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the end took %v", took)
	}
	for _, w := range all {
		if end := w.p.wait("the end of the turn", ended(w.turn)); end.Stop != "interrupted" {
			t.Errorf("the turn ends with %s", end.Stop)
		}
		w.p.wait("stale", func(u update) bool { return u.Method == "stale" && u.Session == w.id })
	}
	for _, w := range all {
		w.p.afresh()
		messages, err := w.p.history(w.id)
		if err != nil {
			t.Fatal(err)
		}
		if len(messages) != 3 || messages[0].Turn != w.turn || messages[1].Incomplete != "interrupted" || messages[2].Turn != w.queued {
			t.Errorf("after the end the history is %+v", messages)
		}
		w.p.end()
	}
}

// hangOn is a client that asks for much and takes nothing.
func hangOn(t *testing.T, data string) {
	t.Helper()
	path, err := findSocket(data)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	ask := []byte(strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}`+"\n", 100))
	for err == nil { // until the daemon reads no more
		conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, err = conn.Write(ask)
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
}

// A daemon whose store was removed or replaced ends.
func TestDaemonEndsWithoutItsStore(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	h := open(t, data, nil)
	h.ready()
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	if err := h.gone(); err == nil {
		t.Error("the daemon ends as if all were well")
	}
}

// A door says what is wrong when there is no daemon to be had any more, and everything in flight has its answer.
func TestDoorTellsWhyThereIsNoDaemon(t *testing.T) {
	t.Parallel()
	data, env := dataDir(t), vendorOf(t)
	config := writeConfig(t, "")
	p := door(t, data, env, "--config", config)
	id := p.newSession("model_id", vendorModel)
	turn := p.say(id, recital{Tag: "cut", Thinking: 3000, Blocks: 1, Words: 10, Pace: 200}.prompt())
	answered := make(chan error, 1)
	go func() { // ends with the kill; received below
		answered <- p.call("turn/wait", map[string]any{"session_id": id, "turn_id": turn}, nil)
	}()
	p.wait("thinking", func(u update) bool { return strings.HasSuffix(u.Method, "_delta") })
	p.must("ping", nil, nil)
	if err := os.WriteFile(config, []byte("model = 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	// While a daemon runs, a broken config is a word on standard error.
	out, err := command(t, env, "--data", data, "--config", config, "sessions", "list").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "in force until it ends") || !strings.Contains(string(out), config+":1: model: wants a string") {
		t.Errorf("%v, %s", err, out)
	}
	killDaemon(t, data)
	if e, ok := errors.AsType[*callError](<-answered); !ok || e.Code != closing {
		t.Errorf("the request in flight is answered with %v", e)
	}
	<-p.gone
	exit, ok := errors.AsType[*exec.ExitError](p.cmd.Wait())
	if !ok || exit.ExitCode() != 1 {
		t.Errorf("the door ends with %v", exit)
	}
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	if want := "thinkd: " + config + ":1: model: wants a string\n"; p.log() != want {
		t.Errorf("standard error has %q, want %q", p.log(), want)
	}
}

// An older daemon without turns makes way for a newer one; with a turn it stays, and the door says so.
func TestVersions(t *testing.T) {
	t.Parallel()
	data, env := dataDir(t), vendorOf(t)
	of := func(version string) []string { return append(slices.Clone(env), versionVariable+"="+version) }
	old := door(t, data, of("1.2.0"))
	id := old.newSession("model_id", vendorModel)
	if s := theDaemon(t, data); s.Version != "1.2.0" {
		t.Fatalf("the daemon is %+v", s)
	}
	turn := old.say(id, recital{Tag: "busy", Thinking: 3000, Blocks: 1, Words: 10, Pace: 200}.prompt())
	newer := door(t, data, of("1.10.0"))
	newer.must("ping", nil, nil)
	if s := theDaemon(t, data); s.Version != "1.2.0" {
		t.Errorf("an older daemon with a turn has made way: %+v", s)
	}
	newer.end() // only then all of its standard error is here
	if log := newer.log(); !strings.Contains(log, "runs with version 1.2.0, not 1.10.0; that is in force until it ends\n") || strings.Count(log, "\n") != 1 {
		t.Errorf("the newer door says %q", log)
	}
	old.must("session/cancel", map[string]any{"session_id": id}, nil)
	old.wait("the end", ended(turn))
	old.end()

	// The same, and now it makes way. The older door, had it stayed, might have started its own again.
	newer = door(t, data, of("1.10.0"))
	newer.must("ping", nil, nil)
	if s := theDaemon(t, data); s.Version != "1.10.0" {
		t.Errorf("the daemon is %+v", s)
	}
	old = door(t, data, of("1.9.9"))
	old.must("ping", nil, nil)
	if messages, err := newer.history(id); err != nil || len(messages) == 0 {
		t.Errorf("%d messages, %v", len(messages), err)
	}
	old.end()
	if log := old.log(); !strings.Contains(log, "runs with version 1.10.0, not 1.9.9;") {
		t.Errorf("the older door says %q", log)
	}
	newer.end()
}

// A data directory whose path is too long for a socket works as any other.
func TestLongDataPath(t *testing.T) {
	t.Parallel()
	data := filepath.Join(dataDir(t), strings.Repeat("long/", 25)+"path")
	t.Cleanup(func() {
		if err := quit(data); err != nil {
			t.Error(err)
		}
	})
	runtime, err := os.MkdirTemp("", "thinkd") // t.TempDir has a long path itself
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(runtime) })
	env := []string{"XDG_RUNTIME_DIR=" + runtime}
	a, b := door(t, data, env), door(t, data, []string{"XDG_RUNTIME_DIR="}) // the path is in the data directory
	id := a.newSession()
	b.attach(id)
	path, err := findSocket(data)
	if err != nil || (!strings.HasPrefix(path, runtime) && !strings.HasPrefix(path, os.TempDir())) {
		t.Fatalf("the socket is %s, %v", path, err)
	}
	checkMode(t, filepath.Dir(path), os.ModeDir|0o700)
	checkMode(t, path, os.ModeSocket|0o600)
	checkMode(t, filepath.Join(data, socketPathName), 0o600)
	killDaemon(t, data)
	for _, p := range []*process{a, b} {
		p.wait("stale", func(u update) bool { return u.Method == "stale" })
		p.attach(id)
	}
	a.end()
	b.end()
}

func checkMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Error(err)
	} else if info.Mode() != want {
		t.Errorf("%s has mode %v, want %v", filepath.Base(path), info.Mode(), want)
	}
}

// Whatever the umask, what lies in the data directory is its owner's.
func TestModes(t *testing.T) {
	t.Parallel()
	for _, umask := range []string{"0", "0777"} {
		data := filepath.Join(dataDir(t), "data")
		t.Cleanup(func() {
			if err := quit(data); err != nil {
				t.Error(err)
			}
		})
		cmd := command(t, nil, "--data", data, "--log-level", "debug", "sessions", "list")
		shell := exec.Command("sh", "-c", "umask "+umask+`; exec "$@"`, "sh", cmd.Path)
		shell.Args = append(shell.Args, cmd.Args[1:]...)
		shell.Env = cmd.Env
		if out, err := shell.CombinedOutput(); err != nil {
			t.Fatalf("umask %s: %v\n%s", umask, err, out)
		}
		checkMode(t, data, os.ModeDir|0o700)
		files, err := os.ReadDir(data)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range files {
			names = append(names, f.Name())
			want := os.FileMode(0o600)
			if f.Name() == socketName {
				want |= os.ModeSocket
			} else if f.IsDir() {
				want = os.ModeDir | 0o700
			}
			checkMode(t, filepath.Join(data, f.Name()), want)
		}
		if want := []string{"blobs", "thinkd.db", "thinkd.lock", logName, "thinkd.mark", socketName}; !slices.Equal(names, want) {
			t.Errorf("the data directory has %v, want %v", names, want)
		}
	}
}

// A door whose standard output is closed ends.
func TestDoorWithClosedOutput(t *testing.T) {
	t.Parallel()
	data := dataDir(t)
	cmd := command(t, nil, "--data", data, "stdio")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.Close()
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it ends as if all were well")
		}
	case <-time.After(patience):
		cmd.Process.Kill()
		t.Error("it does not end")
	}
}

// A signal to the command that asked ends its turn, which would go on without it.
func TestInterruptedPromptCancels(t *testing.T) {
	t.Parallel()
	data, env := dataDir(t), vendorOf(t)
	p := door(t, data, env)
	p.must("ping", nil, nil)
	cmd := command(t, env, "--data", data, "prompt", "--model", vendorModel, "--thinking", "medium",
		recital{Tag: "cut", Thinking: 3000, Blocks: 1, Words: 10, Pace: 200}.prompt())
	thinking, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := thinking.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for b := make([]byte, 1<<10); ; {
		n, err := thinking.Read(b)
		said.Write(b[:n])
		if err != nil {
			break
		}
	}
	if err := cmd.Wait(); err == nil || !strings.HasSuffix(said.String(), "thinkd: the turn ended: cancelled\n") {
		t.Errorf("it ends with %v, and says …%.100q", err, said.String()[max(0, said.Len()-100):])
	}
	var list struct{ Sessions []struct{ Status string } }
	p.must("session/list", map[string]any{}, &list)
	if len(list.Sessions) != 1 || list.Sessions[0].Status != "idle" {
		t.Errorf("the sessions are %+v", list.Sessions)
	}
	p.end()
}
