//go:build long

package clock

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/cmd/thinkd/telemetry/otlp/otlptest"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/logins"
)

// A wall clock that a test sets under a running daemon. Go asks the kernel for the time without a call that could be answered in
// its place, so the daemon is built with another runtime (go build -overlay): its wall clock is off by the seconds that
// a file says, which the daemon has mapped. What measures how long something takes is left as it is. So it is for a
// machine that sleeps, too: there the wall clock goes on, and the other one stands still (clock_gettime(2), CLOCK_MONOTONIC).

// wallVariable names the file.
const wallVariable = "THINKD_TEST_WALL"

// What is changed in the runtime, and what stands beside the program's own files.
const (
	wallReads = "\treturn time_now()\n"
	wallShift = `	sec, nsec, mono = time_now()
	if shift := wallShift; shift != nil {
		sec += *shift
	}
	return sec, nsec, mono
`
	wallOfRuntime = `
//go:linkname wallShift
var wallShift *int64
`
	wallOfMain = `package main

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

//go:linkname wallShift runtime.wallShift
var wallShift *int64

var _ = func() bool {
	f, err := os.Open(os.Getenv("` + wallVariable + `"))
	if err != nil {
		panic(err)
	}
	data, err := unix.Mmap(int(f.Fd()), 0, 8, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	wallShift = (*int64)(unsafe.Pointer(&data[0]))
	return true
}()
`
)

// buildWithWall is the program with a clock that can be set. The first build for a version of Go takes a while, since all packages
// depend on the runtime.
func buildWithWall(t *testing.T) string {
	t.Helper()
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("needs: the go command, to build the program")
	}
	here, err := filepath.Abs("../..") // the program's package
	if err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command(goTool, "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(strings.TrimSpace(string(said)), "src", "runtime", "time.go")
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(source), wallReads) != 1 {
		t.Fatalf("%s does not read the clock by one %q: see where this version of Go does", path, strings.TrimSpace(wallReads))
	}
	overlay := map[string]string{}
	for target, text := range map[string]string{path: strings.Replace(string(source), wallReads, wallShift, 1) + wallOfRuntime,
		filepath.Join(here, "wall.go"): wallOfMain} {
		overlay[target] = filepath.Join(dir, filepath.Base(target))
		if err := os.WriteFile(overlay[target], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	file, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "thinkd")
	if err := os.WriteFile(file, list, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command(goTool, "build", "-overlay", file, "-o", program, ".")
	build.Dir = here
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building with another runtime: %v\n%s", err, out)
	}
	return program
}

// wall is how far a daemon's wall clock is off.
type wall struct {
	t    *testing.T
	file *os.File
}

func newWall(t *testing.T) *wall {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "wall"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	w := &wall{t, f}
	w.set(0)
	return w
}

func (w *wall) set(by time.Duration) {
	w.t.Helper()
	if _, err := w.file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(int64(by/time.Second))), 0); err != nil {
		w.t.Fatal(err)
	}
}

// TestWallClock sets the wall clock of a running daemon forward or back by a day, and then to where it was. Meanwhile there are open
// thinking, a question, a wait that a vendor asked for, a login's token, a stamped prompt and telemetry. Nothing ends early or late.
// No update comes out of order, twice, or with a number or an id that was used before. An idle daemon stays for its time.
func TestWallClock(t *testing.T) {
	t.Parallel()
	program := buildWithWall(t)
	for _, by := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			l := newLatitude(t, program)
			l.jump(by)
			l.jump(0)
			l.judge()
			l.leave(by)
		})
	}
}

// latitude is a daemon under a clock that is set, with a client.
type latitude struct {
	*proof.Process
	daemon    *proof.House
	door      func() *proof.Process // another client
	wall      *wall
	vendor    *sim.Server
	logins    *logins.Server
	collector *otlptest.Collector
	sessions  []string
	prompts   map[string][]string // of each session, in order
	now       time.Duration       // what the clock is off by
}

// idleInTest is for how long the daemon stays without anybody.
const idleInTest = 5 * time.Second

func newLatitude(t *testing.T, program string) *latitude {
	t.Helper()
	l := &latitude{wall: newWall(t), collector: &otlptest.Collector{}, prompts: make(map[string][]string)}
	var env []string
	l.vendor, env = proof.Simulator(t, sim.Config{})
	l.logins = logins.New(logins.Config{ClientID: "Iv1.test", Interval: 1})
	copilot := sim.New(sim.Config{})
	server := proof.Serve(t, l.logins)
	api := proof.Serve(t, l.logins.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/chat/completions" { // the simulator has a path for each host
			r.URL.Path = "/copilot" + r.URL.Path
		}
		copilot.ServeHTTP(w, r)
	})))
	config := proof.WriteConfig(t, fmt.Sprintf("[providers.copilot]\nbase_url = %q\n[providers.copilot.login]\nclient_id = \"Iv1.test\"\neditor = true\naddress = %q\napi_address = %q\n",
		api, server, server))
	env = append(env, "OTEL_EXPORTER_OTLP_ENDPOINT="+proof.Serve(t, l.collector), "OTEL_METRIC_EXPORT_INTERVAL=200")
	data := t.TempDir()
	cmd := proof.Command(t, append(env[:len(env):len(env)], wallVariable+"="+l.wall.file.Name()), "--data", data, "--config", config, "daemon", "--idle", idleInTest.String())
	cmd.Path = program
	l.daemon = proof.OpenCommand(t, cmd)
	l.daemon.Ready()
	l.door = func() *proof.Process {
		return proof.StartCommand(t, proof.Command(t, env, "--data", data, "--config", config, "stdio"))
	}
	l.Process = l.door()

	l.Must("auth/login", map[string]any{"provider": "copilot"}, nil)
	(&proof.LoginHouse{}).Progress(t, l.Process, "waiting", func(_, code string) {
		if !l.logins.Approve(code) {
			t.Errorf("the code %q is not known", code)
		}
	})
	(&proof.LoginHouse{}).Progress(t, l.Process, "ready", nil)
	tools := map[string]any{"model_id": "anthropic/claude-opus-5-5", "tools": []any{map[string]any{"name": "work", "effect": "run"}},
		"tool_policy": map[string]any{"effects": map[string]any{"run": "ask"}}}
	for _, with := range []map[string]any{{"model_id": "anthropic/claude-opus-5-5", "thinking_level": "high"}, tools,
		{"model_id": "anthropic/claude-opus-5-5"}, {"model_id": "copilot/claude-sonnet-5"}} {
		var s struct {
			ID string `json:"session_id"`
		}
		l.Must("session/new", with, &s)
		l.sessions = append(l.sessions, s.ID)
	}
	return l
}

// prompt says something in one of the sessions and returns its turn.
func (l *latitude) prompt(session int, text string, more ...string) string {
	l.T.Helper()
	id := l.sessions[session]
	params := map[string]any{"session_id": id, "text": text}
	for i := 0; i < len(more); i += 2 {
		params[more[i]] = more[i+1]
	}
	var r struct {
		Turn string `json:"turn_id"`
	}
	l.Must("session/prompt", params, &r)
	if len(more) == 0 {
		l.prompts[id] = append(l.prompts[id], text)
	}
	return r.Turn
}

// of waits for an update of a turn.
func (l *latitude) of(turn, method string) proof.Update {
	l.T.Helper()
	return l.Wait(method, func(u proof.Update) bool { return u.Turn == turn && u.Method == method })
}

// told counts updates of a turn.
func (l *latitude) told(turn, method string) (n int) {
	for _, u := range l.Seen() {
		if u.Turn == turn && u.Method == method {
			n++
		}
	}
	return n
}

// endsWell waits until a turn ends as it should.
func (l *latitude) endsWell(turn string) proof.Update {
	l.T.Helper()
	u := l.of(turn, "turn_end")
	if u.Stop != "end_turn" {
		l.T.Errorf("by %s: the turn ends with %s", l.now, u.Raw)
	}
	return u
}

// later is a refusal that says when to come back, by the vendor's clock.
func later(after time.Duration) sim.Answer {
	return sim.Answer{Fault: sim.FaultRateLimit, Head: http.Header{"Retry-After": {time.Now().Add(after).UTC().Format(http.TimeFormat)}}}
}

const quick = "[[sim: thinking=5 text=5 pace=0]]"

// jump sets the clock in the middle of all that goes on.
func (l *latitude) jump(to time.Duration) {
	t := l.T
	t.Helper()
	const thinker, asker, waiter, member = 0, 1, 2, 3
	long := l.prompt(thinker, fmt.Sprintf("A long one, then %s. [[sim: thinking=300 text=20 pace=40]]", to))
	l.of(long, "thinking_delta")
	asking := l.prompt(asker, fmt.Sprintf("Use it, then %s. [[sim: tool=work thinking=0 text=3 pace=0]]", to))
	var asked struct {
		Confirm string `json:"confirm_id"`
		Call    string `json:"call_id"`
	}
	if err := json.Unmarshal(l.of(asking, "confirm").Raw, &asked); err != nil {
		t.Fatal(err)
	}
	stamp := fmt.Sprint("a stamp before ", to)
	once := l.prompt(member, "Once. "+quick, "client_id", stamp)
	l.prompts[l.sessions[member]] = append(l.prompts[l.sessions[member]], "Once. "+quick)
	before := l.endsWell(once).TS
	waiting := l.prompt(waiter, fmt.Sprintf("Come back, then %s. [[sim: fault=rate_limit retry_after=3 times=1 thinking=5 text=5 pace=0]]", to))
	l.of(waiting, "retry")
	since := time.Now()

	moved := to - l.now
	l.wall.set(to)
	l.now = to

	l.of(waiting, "message_start")
	if waited := time.Since(since); waited < 2900*time.Millisecond || waited > 20*time.Second {
		t.Errorf("by %s: the wait of 3 s took %s", moved, waited)
	}
	after := l.endsWell(waiting).TS
	if off := time.Duration(after-before)*time.Millisecond - moved; off < 0 || off > time.Minute {
		t.Errorf("the clock is not set by %s: %d and %d", moved, before, after)
	}
	l.endsWell(long)
	if n := l.told(asking, "confirm_resolved"); n != 0 {
		t.Errorf("by %s: the question was answered by nobody", moved)
	}
	var answer struct{ Accepted bool }
	l.Must("confirm/answer", map[string]any{"session_id": l.sessions[asker], "confirm_id": asked.Confirm, "action": "allow"}, &answer)
	if !answer.Accepted {
		t.Errorf("by %s: the answer does not count", moved)
	}
	l.of(asking, "tool_start")
	l.Must("tool/result", map[string]any{"session_id": l.sessions[asker], "call_id": asked.Call, "content": []any{map[string]any{"type": "text", "text": "done"}}}, nil)
	l.endsWell(asking)

	other := l.door()
	var state struct {
		Session struct{ Status string }
	}
	other.Must("session/attach", map[string]any{"session_id": l.sessions[thinker], "after_seq": 1}, &state)
	if state.Session.Status != "idle" || other.Log() != "" {
		t.Errorf("by %s: another client finds %+v, and its door says %q", moved, state, proof.Excerpt(other.Log()))
	}
	other.End()

	l.vendor.Script(later(3 * time.Second))
	soon := l.prompt(waiter, fmt.Sprintf("Soon, after %s. %s", moved, quick))
	var retry struct {
		After int `json:"after_ms"`
	}
	if err := json.Unmarshal(l.of(soon, "retry").Raw, &retry); err != nil || retry.After < 1900 || retry.After > 3000 {
		t.Errorf("by %s: told to come back in 3 s, it waits %d ms (%v)", moved, retry.After, err)
	}
	l.endsWell(soon)
	l.vendor.Script(later(10 * time.Minute))
	never := l.prompt(waiter, fmt.Sprintf("Not for long, after %s. %s", moved, quick))
	if u := l.of(never, "turn_end"); u.Error == nil || !strings.Contains(string(u.Error.Data), "rate_limit") || l.told(never, "retry") != 0 {
		t.Errorf("by %s: told to come back in 10 min, it ends with %s", moved, u.Raw)
	}

	if again := l.prompt(member, "Once. "+quick, "client_id", stamp); again != once {
		t.Errorf("by %s: a stamped prompt is turn %s, and again %s", moved, once, again)
	}
	exchanges := l.logins.Exchanges()
	l.logins.Forget() // before their time: a machine that slept finds them so
	for n := range 5 {
		l.endsWell(l.prompt(member, fmt.Sprintf("With the login, %d after %s. %s", n, moved, quick)))
	}
	if n := l.logins.Exchanges() - exchanges; n != 1 {
		t.Errorf("by %s: %d exchanges of a token", moved, n)
	}
}

// judge checks all that clients received, and what the store has.
func (l *latitude) judge() {
	t := l.T
	t.Helper()
	last := map[string]uint64{}
	for _, u := range l.Seen() {
		if u.Seq == 0 {
			continue
		}
		first := u.Seq
		if u.FirstSeq != 0 {
			first = u.FirstSeq
		}
		if before := last[u.Session]; first != before+1 {
			t.Errorf("%s %d follows %d", u.Method, first, before)
		}
		last[u.Session] = u.Seq
		var took struct {
			MS *int64 `json:"duration_ms"`
		}
		if err := json.Unmarshal(u.Raw, &took); err != nil || took.MS != nil && (*took.MS < 0 || *took.MS > time.Minute.Milliseconds()) {
			t.Errorf("%s took %s (%v)", u.Method, u.Raw, err)
		}
	}
	ids := map[string]bool{}
	for _, id := range l.sessions {
		list, err := l.History(id)
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, m := range list {
			if ids[m.ID] {
				t.Errorf("message %s is there twice", m.ID)
			}
			ids[m.ID] = true
			if m.Role == "user" && m.Content[0].Type == "text" {
				said = append(said, m.Content[0].Text)
			}
		}
		if diff := cmp.Diff(l.prompts[id], said); diff != "" {
			t.Errorf("the prompts of a session (-said +kept):\n%s", diff)
		}
	}
	t.Logf("%d notifications of %d sessions, %d messages", len(l.Seen()), len(l.sessions), len(ids))
}

// leave lets nobody need the daemon any more, sets the clock, and waits for its end.
func (l *latitude) leave(by time.Duration) {
	t := l.T
	t.Helper()
	l.End()
	since := time.Now()
	l.wall.set(by)
	if err := l.daemon.Gone(); err != nil {
		t.Errorf("the daemon ends with %v\n%s", err, proof.Excerpt(l.daemon.Stderr.String()))
	}
	if stayed := time.Since(since); stayed < idleInTest-time.Second || stayed > idleInTest+20*time.Second {
		t.Errorf("by %s: nobody needs the daemon, and it stays for %s", by, stayed)
	}
	requests, faults := l.collector.Requests()
	if len(requests) == 0 || len(l.collector.Spans()) == 0 || faults != nil {
		t.Errorf("telemetry: %d requests, %d spans, %q", len(requests), len(l.collector.Spans()), faults)
	}
	if r := l.vendor.Refusals(); len(r) > 0 {
		t.Errorf("refused: %+v", r)
	}
}
