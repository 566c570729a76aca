package doors

import (
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

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/cmd/thinkd/proof/inside"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/conn"
)

var doorRounds = flag.Int("doorkills", 2, "how often TestDoorsOutliveDaemons kills the daemon")

// killDaemon ends it as a crash would.
func killDaemon(t *testing.T, data string) (pid int) {
	t.Helper()
	pid = proof.TheDaemon(t, data).PID
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
	vendor, env := proof.Simulator(t, sim.Config{})
	vendor.ScriptFunc(proof.Recite)
	return env
}

// closing is the code for what the daemon's end has left open.
const closing = int(conn.CodeClosing)

// afresh returns when the door has the next daemon: the one before has ended, and requests that were on their way to it
// are answered with that.
func afresh(p *proof.Process) {
	p.T.Helper()
	for range 10 {
		err := p.Call("ping", nil, nil)
		if err == nil {
			return
		}
		if e, ok := errors.AsType[*proof.CallError](err); !ok || e.Code != closing {
			p.T.Fatal(err)
		}
	}
	p.T.Fatal("there is no daemon any more")
}

// Ten editors that start at once have one daemon.
func TestTenDoorsStartOneDaemon(t *testing.T) {
	t.Parallel()
	data := proof.DataDir(t)
	var doors []*proof.Process
	for range 10 {
		doors = append(doors, proof.Door(t, data, nil))
	}
	id := doors[0].NewSession()
	for _, p := range doors {
		p.Attach(id)
	}
	if s := proof.TheDaemon(t, data); s.Clients != 11 {
		t.Errorf("the daemon has %d clients, want ten doors and us", s.Clients)
	}
	for _, p := range doors {
		p.End()
		if log := p.Log(); log != "" {
			t.Errorf("standard error has %q", log)
		}
	}
	log, err := os.ReadFile(filepath.Join(data, proof.LogFileName))
	if n := strings.Count(string(log), "daemon version="); n != 1 || err != nil {
		t.Errorf("%d daemons have started (%v):\n%s", n, err, log)
	}
}

// Two processes on a data directory see one session: each update once, with the same number.
func TestTwoDoorsSeeOneSession(t *testing.T) {
	t.Parallel()
	data, env := proof.DataDir(t), vendorOf(t)
	a, b := proof.Door(t, data, env), proof.Door(t, data, env)
	id := a.NewSession("model_id", proof.VendorModel, "thinking_level", "medium")
	seq, _ := b.Attach(id)
	for i, p := range []*proof.Process{a, b, a} {
		turn := p.Say(id, proof.Recital{Tag: fmt.Sprint("r", i), Thinking: 50, Blocks: 2, Words: 50}.Prompt())
		for _, p := range []*proof.Process{a, b} {
			if end := p.Wait("the end", proof.Ended(turn)); end.Stop != "end_turn" {
				t.Fatalf("the turn ends with %s", end.Stop)
			}
		}
	}
	var words [2]string
	var ends [2][]uint64
	for i, p := range []*proof.Process{a, b} {
		after := uint64(0)
		if p == b {
			after = seq
		}
		proof.CheckDense(t, fmt.Sprint("door ", i), p.Seen(), id, after)
		for _, u := range p.Seen() {
			words[i] += u.Delta
			if !strings.HasSuffix(u.Method, "_delta") && u.Seq > seq {
				ends[i] = append(ends[i], u.Seq)
			}
		}
	}
	if words[0] != words[1] || !slices.Equal(ends[0], ends[1]) || words[0] == "" {
		t.Errorf("the two saw different things: %d and %d bytes, %v and %v", len(words[0]), len(words[1]), ends[0], ends[1])
	}
	a.End()
	if seq, open := b.Attach(id); open || seq == 0 {
		t.Errorf("the session is at %d, open %v, when the other has gone", seq, open)
	}
	b.End()
}

// The daemon is killed in mid-turn, again and again: the doors have another one within two seconds, requests in flight
// are answered, attach tells how the turn ended, and a new prompt works.
func TestDoorsOutliveDaemons(t *testing.T) {
	t.Parallel()
	data, env := proof.DataDir(t), vendorOf(t)
	a, b := proof.Door(t, data, env), proof.Door(t, data, env)
	a.Must("initialize", map[string]any{"client": map[string]any{"name": "a"}}, nil)
	id := a.NewSession("model_id", proof.VendorModel, "thinking_level", "medium")
	b.Attach(id)
	both := []*proof.Process{a, b}
	var took []time.Duration
	for round := range *doorRounds {
		turn := a.Say(id, proof.Recital{Tag: fmt.Sprint("cut", round), Thinking: 3000, Blocks: 1, Words: 10, Pace: 20}.Prompt())
		for _, p := range both {
			p.Wait("thinking", func(u proof.Update) bool { return u.Method == "thinking_delta" && u.Turn == turn })
		}
		var inFlight []func(any) error
		for _, p := range both {
			inFlight = append(inFlight, p.Send("turn/wait", map[string]any{"session_id": id, "turn_id": turn}))
			p.Must("ping", nil, nil) // the daemon has both
		}
		killed := time.Now()
		pid := killDaemon(t, data)
		for i, p := range both {
			if e, ok := errors.AsType[*proof.CallError](inFlight[i](nil)); !ok || e.Code != closing {
				t.Errorf("round %d: a request in flight is answered with %v", round, e)
			}
			stale := p.Wait("stale", func(u proof.Update) bool { return u.Method == "stale" && u.Session == id })
			last := uint64(0)
			for _, u := range p.Seen() {
				last = max(last, u.Seq)
			}
			if !strings.Contains(string(stale.Raw), fmt.Sprintf(`"after_seq":%d}`, last)) {
				t.Errorf("round %d: %s after %d", round, stale.Raw, last)
			}
		}
		after := map[*proof.Process]uint64{}
		for _, p := range both {
			seq, open := p.Attach(id)
			if open {
				t.Errorf("round %d: the turn is open after a kill", round)
			}
			after[p] = seq
		}
		took = append(took, time.Since(killed))
		if s := proof.TheDaemon(t, data); s.PID == pid {
			t.Fatalf("round %d: the daemon lives", round)
		}
		var end struct {
			Stop string `json:"stop_reason"`
		}
		b.Must("turn/wait", map[string]any{"session_id": id, "turn_id": turn}, &end)
		if end.Stop != "interrupted" {
			t.Errorf("round %d: the turn ended with %s", round, end.Stop)
		}
		if a.Call("initialize", map[string]any{}, nil) == nil {
			t.Errorf("round %d: the new daemon was not told who the client is", round)
		}
		for _, p := range both {
			p.Forget()
		}
		if end := b.Turn(id, proof.Recital{Tag: fmt.Sprint("new", round), Thinking: 5, Blocks: 1, Words: 5}.Prompt()); end.Stop != "end_turn" {
			t.Errorf("round %d: the next turn ends with %s", round, end.Stop)
		}
		for i, p := range both {
			p.Wait("the end", func(u proof.Update) bool { return u.Method == "turn_end" })
			proof.CheckDense(t, fmt.Sprint("door ", i), p.Seen(), id, after[p])
			p.Forget()
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	slices.Sort(took)
	t.Logf("from the kill to the answer of both attaches: median %v, longest %v", took[len(took)/2], took[len(took)-1])
	proof.Judge(t, took[len(took)/2] <= 2*time.Second, "a new daemon takes %v", took[len(took)/2])
	a.End()
	b.End()
}

// An editor that is killed in mid-turn loses nothing: its turn ends as it would have, and is there when it comes back.
func TestTurnOutlivesItsEditor(t *testing.T) {
	t.Parallel()
	data, env := proof.DataDir(t), vendorOf(t)
	a, b := proof.Door(t, data, env), proof.Door(t, data, env)
	id := a.NewSession("model_id", proof.VendorModel, "thinking_level", "medium")
	r := proof.Recital{Tag: "whole", Thinking: 100, Blocks: 1, Words: 100, Pace: 300}
	turn := a.Say(id, r.Prompt())
	a.Wait("thinking", func(u proof.Update) bool { return u.Method == "thinking_delta" })
	a.Kill()
	var end struct {
		Stop string `json:"stop_reason"`
	}
	b.Must("turn/wait", map[string]any{"session_id": id, "turn_id": turn}, &end)
	if end.Stop != "end_turn" {
		t.Errorf("the turn ended with %s", end.Stop)
	}
	b.End()
	a = proof.Door(t, data, env)
	messages, err := a.History(id)
	if err != nil || len(messages) != 2 {
		t.Fatalf("%d messages, %v", len(messages), err)
	}
	got := messages[1].Content
	if len(got) != 2 || got[0].Text != r.Block(0) || !got[0].Signed || got[1].Text != r.Block(1) {
		t.Errorf("the answer is %+v", got)
	}
	a.End()
}

// The daemon leaves when it has had neither client nor turn for a while; a turn without clients keeps it.
func TestDaemonLeavesUnused(t *testing.T) {
	t.Parallel()
	data, env := t.TempDir(), vendorOf(t)
	h := proof.Open(t, data, env, "--idle", "1s")
	h.Ready()
	link, err := proof.GreetDaemon(t.Context(), data) // it keeps the daemon until the door is there
	if err != nil {
		t.Fatal(err)
	}
	p := h.Client(env)
	p.House = nil
	id := p.NewSession("model_id", proof.VendorModel)
	link.Close()
	r := proof.Recital{Tag: "alone", Thinking: 10, Blocks: 1, Words: 300, Pace: 300}
	p.Say(id, r.Prompt())
	p.Kill()
	if err := h.Gone(); err != nil {
		t.Errorf("the daemon ends with %v", err)
	}
	view := proof.Stored(t, data, id)
	if len(view.Turns) != 1 || view.Turns[0].End == nil || view.Turns[0].End.StopReason != "end_turn" {
		t.Errorf("the turn without clients: %+v", view.Turns)
	}
	if _, err := os.Lstat(filepath.Join(data, proof.SocketFileName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
}

// A signal that comes as soon as the daemon says that it is ready ends it in order, also on one processor.
func TestSignalAtReady(t *testing.T) {
	t.Parallel()
	data := proof.DataDir(t)
	for range 10 {
		h := proof.Open(t, data, []string{"GOMAXPROCS=1"})
		h.Ready()
		h.End()
		if t.Failed() {
			return
		}
	}
}

// SIGTERM under load: clients hear how their turns end, the daemon ends well and soon, and nothing that was acknowledged
// is lost.
func TestDaemonEndsInOrder(t *testing.T) {
	t.Parallel()
	data, env := proof.DataDir(t), vendorOf(t)
	h := proof.Open(t, data, env)
	h.Ready()
	type work struct {
		p        *proof.Process
		id, turn string
		queued   string
	}
	var all []work
	for i := range 6 {
		p := h.Client(env)
		p.House = nil
		w := work{p: p, id: p.NewSession("model_id", proof.VendorModel, "thinking_level", "medium")}
		w.turn = p.Say(w.id, proof.Recital{Tag: fmt.Sprint("cut", i), Thinking: 20_000, Blocks: 1, Words: 10, Pace: 300}.Prompt())
		w.queued = p.Say(w.id, proof.Recital{Tag: fmt.Sprint("queued", i), Thinking: 3, Blocks: 1, Words: 10}.Prompt())
		p.Wait("thinking", func(u proof.Update) bool { return u.Method == "thinking_delta" })
		all = append(all, w)
	}
	hangOn(t, data)
	began := time.Now()
	h.End()
	took := time.Since(began)
	proof.Judge(t, took <= 10*time.Second, "the end took %v", took)
	for _, w := range all {
		if end := w.p.Wait("the end of the turn", proof.Ended(w.turn)); end.Stop != "interrupted" {
			t.Errorf("the turn ends with %s", end.Stop)
		}
		w.p.Wait("stale", func(u proof.Update) bool { return u.Method == "stale" && u.Session == w.id })
	}
	for _, w := range all {
		afresh(w.p)
		messages, err := w.p.History(w.id)
		if err != nil {
			t.Fatal(err)
		}
		if len(messages) != 3 || messages[0].Turn != w.turn || messages[1].Incomplete != "interrupted" || messages[2].Turn != w.queued {
			t.Errorf("after the end the history is %+v", messages)
		}
		w.p.End()
	}
}

// hangOn is a client that asks for much and takes nothing.
func hangOn(t *testing.T, data string) {
	t.Helper()
	path, err := proof.SocketOf(data)
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
	h := proof.Open(t, data, nil)
	h.Ready()
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	if err := h.Gone(); err == nil {
		t.Error("the daemon ends as if all were well")
	}
}

// A door says what is wrong when there is no daemon to be had any more, and everything in flight has its answer.
func TestDoorTellsWhyThereIsNoDaemon(t *testing.T) {
	t.Parallel()
	data, env := proof.DataDir(t), vendorOf(t)
	config := proof.WriteConfig(t, "")
	p := proof.Door(t, data, env, "--config", config)
	id := p.NewSession("model_id", proof.VendorModel)
	turn := p.Say(id, proof.Recital{Tag: "cut", Thinking: 3000, Blocks: 1, Words: 10, Pace: 20}.Prompt())
	answered := make(chan error, 1)
	testgo.Go(t, func() { // ends with the kill; received below
		answered <- p.Call("turn/wait", map[string]any{"session_id": id, "turn_id": turn}, nil)
	})
	p.Wait("thinking", func(u proof.Update) bool { return strings.HasSuffix(u.Method, "_delta") })
	p.Must("ping", nil, nil)
	if err := os.WriteFile(config, []byte("model = 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	// While a daemon runs, a broken config is a word on standard error.
	out, err := proof.Command(t, env, "--data", data, "--config", config, "sessions", "list").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "The config has an error now") || !strings.Contains(string(out), config+":1: model: must be a string") {
		t.Errorf("%v, %s", err, out)
	}
	killDaemon(t, data)
	if e, ok := errors.AsType[*proof.CallError](<-answered); !ok || e.Code != closing {
		t.Errorf("the request in flight is answered with %v", e)
	}
	<-p.Gone
	exit, ok := errors.AsType[*exec.ExitError](p.Cmd.Wait())
	if !ok || exit.ExitCode() != 1 {
		t.Errorf("the door ends with %v", exit)
	}
	p.Mu.Lock()
	p.Ended = true
	p.Mu.Unlock()
	if want := "thinkd: " + config + ":1: model: must be a string\n"; p.Log() != want {
		t.Errorf("standard error has %q, want %q", p.Log(), want)
	}
}

// An older daemon without turns makes way for a newer one. With a turn it stays until the turn has ended, and the door says so.
func TestVersions(t *testing.T) {
	t.Parallel()
	data, env := proof.DataDir(t), vendorOf(t)
	of := func(version string) []string { return append(slices.Clone(env), inside.VersionVariable+"="+version) }
	old := proof.Door(t, data, of("1.2.0"))
	id := old.NewSession("model_id", proof.VendorModel)
	if s := proof.TheDaemon(t, data); s.Version != "1.2.0" {
		t.Fatalf("the daemon is %+v", s)
	}
	turn := old.Say(id, proof.Recital{Tag: "busy", Thinking: 3000, Blocks: 1, Words: 10, Pace: 20}.Prompt())
	newer := proof.Door(t, data, of("1.10.0"))
	newer.Must("ping", nil, nil)
	if s := proof.TheDaemon(t, data); s.Version != "1.2.0" {
		t.Errorf("an older daemon with a turn has made way: %+v", s)
	}
	newer.End() // only then all of its standard error is here
	if log := newer.Log(); !strings.Contains(log, "runs with version 1.2.0, not 1.10.0. It restarts with yours when no turn runs\n") || strings.Count(log, "\n") != 1 {
		t.Errorf("the newer door says %q", log)
	}
	old.Must("session/cancel", map[string]any{"session_id": id}, nil)
	old.Wait("the end", proof.Ended(turn))
	old.End()

	// The same, and now it makes way. The older door, had it stayed, might have started its own again.
	newer = proof.Door(t, data, of("1.10.0"))
	newer.Must("ping", nil, nil)
	if s := proof.TheDaemon(t, data); s.Version != "1.10.0" {
		t.Errorf("the daemon is %+v", s)
	}
	old = proof.Door(t, data, of("1.9.9"))
	old.Must("ping", nil, nil)
	if messages, err := newer.History(id); err != nil || len(messages) == 0 {
		t.Errorf("%d messages, %v", len(messages), err)
	}
	old.End()
	if log := old.Log(); !strings.Contains(log, "runs with version 1.10.0, not 1.9.9. To restart") {
		t.Errorf("the older door says %q", log)
	}
	newer.End()
}

// An older daemon that was asked to make way during a turn does so at the end of that turn, and the newer door starts its own.
func TestNewerVersionWaits(t *testing.T) {
	t.Parallel()
	data, env := proof.DataDir(t), vendorOf(t)
	of := func(version string) []string { return append(slices.Clone(env), inside.VersionVariable+"="+version) }
	old := proof.Door(t, data, of("1.2.0"))
	id := old.NewSession("model_id", proof.VendorModel)
	turn := old.Say(id, proof.Recital{Tag: "busy", Thinking: 3000, Blocks: 1, Words: 10, Pace: 20}.Prompt())
	newer := proof.Door(t, data, of("1.10.0"))
	newer.Attach(id)
	old.End()
	if s := proof.TheDaemon(t, data); s.Version != "1.2.0" || s.Running != 1 {
		t.Fatalf("during the turn the daemon is %+v", s)
	}
	newer.Must("session/cancel", map[string]any{"session_id": id}, nil)
	newer.Wait("the end of the turn", proof.Ended(turn))
	newer.Wait("the end of the daemon", func(u proof.Update) bool { return u.Method == "stale" })
	afresh(newer)
	if s := proof.TheDaemon(t, data); s.Version != "1.10.0" {
		t.Errorf("after the turn the daemon is %+v", s)
	}
	newer.End()
}

// A data directory whose path is too long for a socket works as any other.
func TestLongDataPath(t *testing.T) {
	t.Parallel()
	data := filepath.Join(proof.DataDir(t), strings.Repeat("long/", 25)+"path")
	t.Cleanup(func() {
		if err := proof.Quit(data); err != nil {
			t.Error(err)
		}
	})
	runtime, err := os.MkdirTemp("", "thinkd") // t.TempDir has a long path itself
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(runtime) })
	env := []string{"XDG_RUNTIME_DIR=" + runtime}
	a, b := proof.Door(t, data, env), proof.Door(t, data, []string{"XDG_RUNTIME_DIR="}) // the path is in the data directory
	id := a.NewSession()
	b.Attach(id)
	path, err := proof.SocketOf(data)
	if err != nil || (!strings.HasPrefix(path, runtime) && !strings.HasPrefix(path, os.TempDir())) {
		t.Fatalf("the socket is %s, %v", path, err)
	}
	proof.CheckMode(t, filepath.Dir(path), os.ModeDir|0o700)
	proof.CheckMode(t, path, os.ModeSocket|0o600)
	proof.CheckMode(t, filepath.Join(data, proof.SocketPathFile), 0o600)
	killDaemon(t, data)
	for _, p := range []*proof.Process{a, b} {
		p.Wait("stale", func(u proof.Update) bool { return u.Method == "stale" })
		p.Attach(id)
	}
	a.End()
	b.End()
}

// Whatever the umask, what lies in the data directory is its owner's.
func TestModes(t *testing.T) {
	t.Parallel()
	for _, umask := range []string{"0", "0777"} {
		data := filepath.Join(proof.DataDir(t), "data")
		t.Cleanup(func() {
			if err := proof.Quit(data); err != nil {
				t.Error(err)
			}
		})
		cmd := proof.Command(t, nil, "--data", data, "--log-level", "debug", "sessions", "list")
		shell := exec.Command("sh", "-c", "umask "+umask+`; exec "$@"`, "sh", cmd.Path)
		shell.Args = append(shell.Args, cmd.Args[1:]...)
		shell.Env = cmd.Env
		if out, err := shell.CombinedOutput(); err != nil {
			t.Fatalf("umask %s: %v\n%s", umask, err, out)
		}
		proof.CheckMode(t, data, os.ModeDir|0o700)
		files, err := os.ReadDir(data)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range files {
			names = append(names, f.Name())
			want := os.FileMode(0o600)
			if f.Name() == proof.SocketFileName {
				want |= os.ModeSocket
			} else if f.IsDir() {
				want = os.ModeDir | 0o700
			}
			proof.CheckMode(t, filepath.Join(data, f.Name()), want)
		}
		if want := []string{"blobs", "thinkd.db", "thinkd.lock", proof.LogFileName, "thinkd.mark", proof.SocketFileName}; !slices.Equal(names, want) {
			t.Errorf("the data directory has %v, want %v", names, want)
		}
	}
}

// A door whose standard output is closed ends.
func TestDoorWithClosedOutput(t *testing.T) {
	t.Parallel()
	data := proof.DataDir(t)
	cmd := proof.Command(t, nil, "--data", data, "stdio")
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
	testgo.Go(t, func() { ended <- cmd.Wait() })
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it ends as if all were well")
		}
	case <-time.After(proof.Patience):
		cmd.Process.Kill()
		t.Error("it does not end")
	}
}

// A signal to the command that asked ends its turn, which would go on without it.
func TestInterruptedPromptCancels(t *testing.T) {
	t.Parallel()
	data, env := proof.DataDir(t), vendorOf(t)
	p := proof.Door(t, data, env)
	p.Must("ping", nil, nil)
	cmd := proof.Command(t, env, "--data", data, "prompt", "--model", proof.VendorModel, "--thinking", "medium",
		proof.Recital{Tag: "cut", Thinking: 3000, Blocks: 1, Words: 10, Pace: 20}.Prompt())
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
	p.Must("session/list", map[string]any{}, &list)
	if len(list.Sessions) != 1 || list.Sessions[0].Status != "idle" {
		t.Errorf("the sessions are %+v", list.Sessions)
	}
	p.End()
}
