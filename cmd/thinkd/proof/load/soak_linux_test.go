package load

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/cmd/thinkd/proof/inside"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/testgo"
)

var (
	soakTime = flag.Duration("soak", 5*time.Second, "how long TestSoak loads the daemon")
	soakSeed = flag.Uint64("soakseed", 0, "the seed of TestSoak; 0: any")

	soakHeaps = flag.String("soakheaps", "", "a directory for profiles of TestSoak, with one of the heap at each rest; they take memory themselves")
)

// soakLanes is how many clients work at the same time.
const soakLanes = 8

// soakClient is a lane: one client that talks natively, or as editors do.
type soakClient interface {
	connect(context.Context) error
	session(context.Context) error
	hangUp()
}

// soakFaults are what goes wrong in three of ten calls. After a stall the client cancels.
var soakFaults = []string{
	"fault=overloaded after=3 times=1", "fault=server_error times=1", "fault=server_error", "fault=cut after=8", "fault=end after=2", "fault=cut",
	"fault=html", "fault=json_error", "fault=empty", "fault=gzip", "fault=noise", "fault=bad_request", "fault=auth", "fault=stall after=3", "fault=stall",
	"fault=redirect", "fault=endless_thinking",
}

// TestSoak loads the daemon with all that clients do, over all wire APIs, among faults of vendors and clients that go without
// a word, and watches it: what it holds does not grow with time.
//
// What counts as memory is what is the daemon's own, RssAnon. The rest of what is resident are pages of files: of the program,
// and of the store, which is mapped. They come with reading, and the system takes them back whenever it wants the room.
//
// Own memory takes minutes to find its level, and moves by what the lanes are at just then. So now and then they pause,
// and the heap is looked at while there is no session of theirs, no garbage, and no client but those that stay for all of the
// time. What it has more than at an earlier rest, by the sessions that came and went between, is what a session leaves behind: some
// bytes, where own memory needs an hour to show a kilobyte.
//
// A short run judges goroutines and descriptors alone; one of some minutes what a session leaves; -soak 1h all.
func TestSoak(t *testing.T) {
	t.Parallel()
	seed := *soakSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-soakseed %d", seed)
	k := startSoak(t)
	var clients []soakClient
	for n := range soakLanes {
		clients = append(clients, k.client(n, seed))
	}
	k.idle = k.sample()
	k.begun = time.Now()
	ctx, stop := context.WithTimeout(t.Context(), *soakTime)
	defer stop()
	var working sync.WaitGroup
	t.Cleanup(working.Wait)
	for n, c := range clients {
		working.Go(testgo.Guard(t, func() { // ends with ctx
			for ctx.Err() == nil {
				if err := k.session(ctx, c); err != nil && ctx.Err() == nil {
					t.Errorf("lane %d, -soakseed %d: %v", n, seed, err)
					return
				}
			}
		}))
	}
	rests := max(*soakTime/12, 30*time.Second)
	for next := rests; ctx.Err() == nil; proof.Moment(max(*soakTime/2000, 100*time.Millisecond)) {
		k.samples = append(k.samples, k.sample())
		if time.Since(k.begun) > next && ctx.Err() == nil {
			k.rests = append(k.rests, k.rest())
			next = time.Since(k.begun) + rests
		}
	}
	working.Wait()
	t.Logf("%d sessions, %d turns, %d of them failed and %d were cancelled, %d connections lost, %d forks, %d tools, %d summaries in %v",
		k.done.sessions.Load(), k.done.turns.Load(), k.done.failed.Load(), k.done.cancelled.Load(), k.done.lost.Load(), k.done.forks.Load(), k.done.tools.Load(), k.done.summaries.Load(), *soakTime)
	k.rest()
	k.judge()
	k.s.Terminate()
}

// soak is a run of TestSoak.
type soak struct {
	t      *testing.T
	s      *proof.Served
	vendor *httptest.Server
	store  string // the store's file
	heap   heapLooks
	done   soaked
	pause  sync.RWMutex // read by each session, written while there is to be none

	begun   time.Time
	idle    sample   // before the load
	samples []sample // under load
	rests   []sample // without any, and without garbage
}

// startSoak starts a daemon with vendors and some sessions, so many that the store is walked log by log.
func startSoak(t *testing.T) *soak {
	k := &soak{t: t, vendor: httptest.NewServer(sim.New(sim.Config{NoJournal: true}))}
	t.Cleanup(func() { k.vendor.CloseClientConnections(); k.vendor.Close() })
	var config strings.Builder
	for _, api := range proof.WireAPIs {
		fmt.Fprintf(&config, "[providers.%s]\napi = %q\nbase_url = %q\napi_key_env = \"SOAK_KEY\"\n", api.Name, api.Name, k.vendor.URL+api.Path)
	}
	data := t.TempDir()
	proof.Fill(t, data, 16, 8)
	k.store = filepath.Join(data, "thinkd.db")
	env := []string{"SOAK_KEY=sk-of-the-test"}
	if k.heap.dir = *soakHeaps; k.heap.dir == "" {
		k.heap.dir = t.TempDir()
	} else {
		env = append(env, proof.ProfileEnv+"="+k.heap.dir)
	}
	k.s = proof.StartServe(t, proof.Command(t, append(env, inside.HeapVariable+"="+k.heap.dir), append(proof.ServeArgs(data), "--config", proof.WriteConfig(t, config.String()))...))
	k.heap.pid = k.s.Cmd.Process.Pid
	return k
}

// client is a lane. The first two stay connected.
func (k *soak) client(n int, seed uint64) (c soakClient) {
	l := soakLane{s: k.s, rng: rand.New(rand.NewPCG(seed, uint64(n))), done: &k.done, stays: n < 2}
	c = &l
	if n == 0 {
		c = &soakEditor{l}
	}
	if l.stays {
		if err := c.connect(k.t.Context()); err != nil {
			k.t.Fatal(err)
		}
		k.t.Cleanup(c.hangUp)
	}
	return c
}

// session is one, unless the lanes are to pause.
func (k *soak) session(ctx context.Context, c soakClient) error {
	k.pause.RLock()
	defer k.pause.RUnlock()
	return c.session(ctx)
}

// rest waits until nothing of the load is there but the clients that stay, and looks at what is left: what was open under load is
// closed, with the sessions that its end left. Connections to the vendor would be kept for 90 s.
func (k *soak) rest() (at sample) {
	asked := time.Now()
	k.pause.Lock()
	defer k.pause.Unlock()
	t := k.t
	if err := (&soakLane{s: k.s}).clear(t.Context(), k.begun); err != nil {
		t.Error(err)
	}
	k.vendor.CloseClientConnections()
	for deadline := time.Now().Add(proof.Patience); ; proof.Moment(100 * time.Millisecond) {
		if at = k.sample(); at.goroutines <= k.idle.goroutines+2 && at.files <= k.idle.files+2 {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("before the load %v, after it %v", k.idle, at)
			break
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), proof.Patience)
	defer stop()
	var err error
	if at.heap, at.objects, err = k.heap.look(ctx); err != nil {
		t.Fatal(err)
	}
	t.Logf("at rest after %v, %.1f s of them waited for it, and %.0f sessions: %v; heap %.0f bytes in %.0f objects", at.at.Round(time.Second),
		time.Since(asked).Seconds(), at.sessions, at, at.heap, at.objects)
	return at
}

// leftBytes is what a session may leave on the heap at most: less than its id in a map takes, and more than the moment makes of it.
const leftBytes = 32

// judge prints what grew, and says when it is too much.
func (k *soak) judge() {
	t := k.t
	if len(k.rests) < 3 {
		return
	}
	rests := k.rests[len(k.rests)/4:]
	first, last := rests[0], rests[len(rests)-1]
	sessions := last.sessions - first.sessions
	left := (last.heap - first.heap) / sessions
	t.Logf("each of %.0f sessions left %.1f bytes, in %.3f objects", sessions, left, (last.objects-first.objects)/sessions)
	if sessions >= 2000 && left > leftBytes {
		t.Errorf("a session that is deleted leaves %.0f bytes", left)
	}
	settled := k.samples[len(k.samples)/4:] // by then what is kept for the next turn is there
	t.Logf("under load at first %v, at last %v", settled[0], settled[len(settled)-1])
	for _, of := range []struct {
		name  string
		unit  float64
		value func(sample) float64
	}{
		{"goroutines", 1, func(m sample) float64 { return m.goroutines }},
		{"descriptors", 1, func(m sample) float64 { return m.files }},
		{"MiB of pages of files", 1 << 20, func(m sample) float64 { return m.mapped }},
		{"MiB of the store's file", 1 << 20, func(m sample) float64 { return m.stored }},
		{"MiB of the heap's spans", 1 << 20, func(m sample) float64 { return m.spans }},
		{"MiB of stacks", 1 << 20, func(m sample) float64 { return m.stacks }},
		{"MiB of records for profiles", 1 << 20, func(m sample) float64 { return m.records }},
		{"MiB of Go's other tables", 1 << 20, func(m sample) float64 { return m.tables }},
	} {
		perHour, within := slope(settled, func(m sample) float64 { return of.value(m) / of.unit })
		t.Logf("%+.2f %s an hour (+- %.2f)", perHour, of.name, within)
	}
	own, within := slope(settled, func(m sample) float64 { return m.own / (1 << 20) })
	t.Logf("%+.2f MiB of its own an hour (+- %.2f)", own, within)
	if *soakTime >= 20*time.Minute && own-2*within > 1 {
		t.Errorf("own memory grows by %.2f MiB an hour", own)
	}
}

// soaked counts what was done.
type soaked struct {
	sessions, turns, failed, cancelled, lost, forks, tools, summaries atomic.Int64
}

// sample is how the daemon is at a moment, in bytes where nothing else is said.
type sample struct {
	at                time.Duration // after the begin of the load
	sessions          float64       // made until then
	goroutines, files float64
	own, mapped       float64 // of resident memory: anonymous, and pages of files
	stored            float64 // of the store's file
	spans, stacks     float64 // of Go's memory: spans of the heap with anything in them, and stacks
	records, tables   float64 // of Go's memory: what profiles would be written from, and what it needs to keep the rest
	heap, objects     float64 // that are reachable; of a rest only
}

func (m sample) String() string {
	return fmt.Sprintf("%.0f goroutines, %.0f descriptors, %.1f MiB of its own, %.1f of files, store %.1f MiB", m.goroutines, m.files, m.own/(1<<20), m.mapped/(1<<20), m.stored/(1<<20))
}

// sample is what the daemon says of itself, and the system of it.
func (k *soak) sample() (m sample) {
	if !k.begun.IsZero() {
		m.at = time.Since(k.begun)
	}
	m.sessions = float64(k.done.sessions.Load())
	memory := proof.MemoryOf(k.t, k.heap.pid)
	m.own, m.mapped = float64(memory.Own), float64(memory.Mapped)
	info, err := os.Stat(k.store)
	if err != nil {
		k.t.Fatal(err)
	}
	m.stored = float64(info.Size())
	told := k.s.Metrics()
	for name, to := range map[string]*float64{"go_goroutines": &m.goroutines, "process_open_fds": &m.files,
		"go_memstats_heap_inuse_bytes": &m.spans, "go_memstats_stack_sys_bytes": &m.stacks, "go_memstats_buck_hash_sys_bytes": &m.records} {
		if *to = told[name]; *to == 0 {
			k.t.Fatalf("the metrics lack %s", name)
		}
	}
	for _, name := range []string{"gc", "mspan", "mcache", "other"} {
		m.tables += told["go_memstats_"+name+"_sys_bytes"]
	}
	return m
}

// slope is by how much a value grows in an hour, by least squares, and the standard error of that.
func slope(samples []sample, value func(sample) float64) (perHour, within float64) {
	n := float64(len(samples))
	var x, y float64
	for _, m := range samples {
		x, y = x+m.at.Hours()/n, y+value(m)/n
	}
	var xx, xy float64
	for _, m := range samples {
		xx, xy = xx+(m.at.Hours()-x)*(m.at.Hours()-x), xy+(m.at.Hours()-x)*(value(m)-y)
	}
	perHour = xy / xx
	var rest float64
	for _, m := range samples {
		off := value(m) - y - perHour*(m.at.Hours()-x)
		rest += off * off
	}
	return perHour, math.Sqrt(rest / (n - 2) / xx)
}

// soakLane is a client that makes a session, talks in it for some turns, and deletes it.
type soakLane struct {
	s     *proof.Served
	rng   *rand.Rand
	done  *soaked
	stays bool // connected between sessions

	ws   *websocket.Conn
	next int
	id   string // of the session
	seq  uint64 // of its last update
}

func (l *soakLane) connect(ctx context.Context) error {
	return l.dial(ctx, "rpc", &websocket.DialOptions{Subprotocols: []string{"thinkd.v1", "thinkd.token." + l.s.Token}})
}

// dial opens a connection. If it fails, as it does when the load ends meanwhile, the lane keeps the one before, which is
// closed at the end of the session.
func (l *soakLane) dial(ctx context.Context, path string, o *websocket.DialOptions) error {
	ws, _, err := websocket.Dial(ctx, l.s.Base+path, o)
	if err != nil {
		return err
	}
	ws.SetReadLimit(-1)
	l.ws = ws
	return nil
}

func (l *soakLane) hangUp() { l.ws.CloseNow() }

// ask sends a request and takes in what comes until its answer.
func (l *soakLane) ask(ctx context.Context, method, params string) (gjson.Result, error) {
	l.next++
	request := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, l.next, method, params)
	if err := l.ws.Write(ctx, websocket.MessageText, []byte(request)); err != nil {
		return gjson.Result{}, err
	}
	for {
		m, err := l.take(ctx)
		if err != nil || m.Get("id").Int() != int64(l.next) {
			if err != nil {
				return m, err
			}
			continue
		}
		if e := m.Get("error"); e.Exists() {
			return m, fmt.Errorf("%s: %s", method, e.Raw)
		}
		return m.Get("result"), nil
	}
}

// take is the next message. The numbers of the session's updates are dense.
func (l *soakLane) take(ctx context.Context) (gjson.Result, error) {
	data, err := readWhole(ctx, l.ws)
	if err != nil {
		return gjson.Result{}, err
	}
	m := gjson.ParseBytes(data)
	p := m.Get("params")
	if seq := p.Get("seq"); seq.Exists() && p.Get("session_id").Str == l.id {
		first := seq.Uint()
		if f := p.Get("first_seq"); f.Exists() {
			first = f.Uint()
		}
		if first != l.seq+1 {
			return m, fmt.Errorf("%s has the number %d behind %d", m.Get("method").Str, first, l.seq)
		}
		l.seq = seq.Uint()
	}
	if m.Get("method").Str == "stale" {
		return m, errors.New("a client that reads got stale, as a slow one does")
	}
	return m, nil
}

// attach subscribes and goes on from what it knows, or takes the session as it is.
func (l *soakLane) attach(ctx context.Context) error {
	at, err := l.ask(ctx, "session/attach", fmt.Sprintf(`{"session_id":%q,"after_seq":%d}`, l.id, l.seq))
	l.seq = at.Get("seq").Uint()
	return err
}

// session is one from its making to its end.
func (l *soakLane) session(ctx context.Context) error {
	if !l.stays {
		if err := l.connect(ctx); err != nil {
			return err
		}
		defer func() { l.hangUp() }() // of the connection that it has then
	}
	l.id, l.seq = "", 0
	made, err := l.ask(ctx, "session/new", fmt.Sprintf(`{"client_id":"%d","model_id":%q,"tools":[{"name":"work","description":"Works.","effect":"read","input_schema":{"type":"object"}}]}`, l.rng.Uint64(), l.model()))
	if err != nil {
		return err
	}
	l.id = made.Get("session_id").Str
	l.done.sessions.Add(1)
	for range 1 + l.rng.IntN(5) {
		if err := l.turn(ctx); err != nil {
			return err
		}
		if err := l.between(ctx); err != nil {
			return err
		}
	}
	_, err = l.ask(ctx, "session/delete", fmt.Sprintf(`{"session_id":%q}`, l.id))
	return err
}

func (l *soakLane) model() string {
	api := proof.WireAPIs[l.rng.IntN(len(proof.WireAPIs))].Name
	return api + "/" + proof.SimulatedModel[api]
}

// marker is what the vendor is to do in a turn, and after what time it is cancelled: what stalls, is tried again or does not
// end.
func (l *soakLane) marker() (marker string, patient time.Duration) {
	marker = fmt.Sprintf("thinking=%d text=%d pace=%d", 5+l.rng.IntN(200), 5+l.rng.IntN(100), 100+l.rng.IntN(2000))
	if l.rng.IntN(10) >= 3 {
		return marker, 3 * time.Second
	}
	fault := soakFaults[l.rng.IntN(len(soakFaults))]
	if strings.Contains(fault, "stall") || strings.Contains(fault, "endless") {
		return marker + " " + fault, 200 * time.Millisecond
	}
	return marker + " " + fault, 3 * time.Second
}

// turn is one turn to its end, by the vendor, by a fault, or by the client; now and then the client goes meanwhile.
func (l *soakLane) turn(ctx context.Context) error {
	marker, patient := l.marker()
	if l.rng.IntN(5) == 0 && !strings.Contains(marker, "fault") {
		marker += " tool=work rounds=2"
	}
	level := []string{"off", "auto", "low", "high"}[l.rng.IntN(4)]
	turn, err := l.ask(ctx, "session/prompt", fmt.Sprintf(`{"client_id":"%d","session_id":%q,"thinking_level":%q,"text":"Go on. [[sim: %s]]"}`, l.rng.Uint64(), l.id, level, marker))
	if err != nil {
		return err
	}
	l.done.turns.Add(1)
	id := turn.Get("turn_id").Str
	cancelAt, leaveAt := -1, -1
	switch l.rng.IntN(10) {
	case 0:
		cancelAt = l.rng.IntN(30)
	case 1:
		leaveAt = l.rng.IntN(30)
	}
	defer l.cancelAfter(ctx, patient)()
	for n := 0; ; n++ {
		switch n {
		case cancelAt:
			if _, err := l.ask(ctx, "session/cancel", fmt.Sprintf(`{"session_id":%q,"turn_id":%q}`, l.id, id)); err != nil {
				return err
			}
		case leaveAt:
			l.ws.CloseNow() // without a word
			l.done.lost.Add(1)
			if err := l.connect(ctx); err != nil {
				return err
			}
			if err := l.attach(ctx); err != nil {
				return err
			}
		}
		if n == cancelAt || n == leaveAt { // the turn may have ended among what was taken in
			state, err := l.ask(ctx, "session/state", fmt.Sprintf(`{"session_id":%q}`, l.id))
			if err != nil {
				return err
			}
			if status := state.Get("session.status").Str; status == "idle" {
				return nil
			}
		}
		m, err := l.take(ctx)
		if err != nil {
			return err
		}
		switch p := m.Get("params"); m.Get("method").Str {
		case "tool_start":
			l.done.tools.Add(1)
			l.next++
			answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tool/result","params":{"session_id":%q,"call_id":%q,"content":[{"type":"text","text":"done"}]}}`,
				l.next, l.id, p.Get("call_id").Str)
			if err := l.ws.Write(ctx, websocket.MessageText, []byte(answer)); err != nil {
				return err
			}
		case "turn_end":
			switch p.Get("stop_reason").Str {
			case "error":
				l.done.failed.Add(1)
			case "cancelled":
				l.done.cancelled.Add(1)
			}
			return nil
		}
	}
}

// clear deletes all sessions that were made since a moment.
func (l *soakLane) clear(ctx context.Context, since time.Time) error {
	if err := l.connect(ctx); err != nil {
		return err
	}
	defer l.ws.CloseNow()
	list, err := l.ask(ctx, "session/list", `{"limit":1000}`)
	for _, s := range list.Get("sessions").Array() {
		if err == nil && s.Get("created").Int() >= since.UnixMilli() {
			_, err = l.ask(ctx, "session/delete", fmt.Sprintf(`{"session_id":%q}`, s.Get("session_id").Str))
		}
	}
	return err
}

// cancelAfter cancels what the session is doing, after a time and then every second, until stop is called, which waits for that. On
// a machine with other work the first may come before what it is to end, and the vendor's stall would be waited for.
func (l *soakLane) cancelAfter(ctx context.Context, patient time.Duration) (stop func()) {
	ctx, end := context.WithCancel(ctx)
	session := l.id
	var asking sync.WaitGroup
	asking.Go(testgo.Guard(l.s.T, func() {
		for wait := patient; ; wait = time.Second {
			select {
			case <-time.After(wait):
				l.cancel(ctx, session)
			case <-ctx.Done():
				return
			}
		}
	}))
	return func() { end(); asking.Wait() }
}

// cancel asks for the end of the turn over a connection of its own, as another client would.
func (l *soakLane) cancel(ctx context.Context, session string) {
	other := &soakLane{s: l.s}
	if other.connect(ctx) != nil {
		return // the end of the load
	}
	defer other.ws.CloseNow()
	other.ask(ctx, "session/cancel", fmt.Sprintf(`{"session_id":%q}`, session)) // too late, if it was deleted meanwhile
}

// between is what a client does between turns.
func (l *soakLane) between(ctx context.Context) (err error) {
	session := fmt.Sprintf(`{"session_id":%q}`, l.id)
	switch l.rng.IntN(8) {
	case 0:
		_, err = l.ask(ctx, "session/history", session)
	case 1:
		_, err = l.ask(ctx, "model/set", fmt.Sprintf(`{"session_id":%q,"model_id":%q}`, l.id, l.model()))
	case 2:
		_, err = l.ask(ctx, "thinking/set", fmt.Sprintf(`{"session_id":%q,"level":"auto"}`, l.id))
	case 3:
		var fork gjson.Result
		if fork, err = l.ask(ctx, "session/fork", session); err == nil {
			l.done.forks.Add(1)
			_, err = l.ask(ctx, "session/delete", fmt.Sprintf(`{"session_id":%q}`, fork.Get("session_id").Str))
		}
	case 4:
		defer l.cancelAfter(ctx, 3*time.Second)() // the vendor's fault may be among what is summarised
		if _, e := l.ask(ctx, "session/compact", session); e == nil {
			l.done.summaries.Add(1)
		} else if ctx.Err() != nil {
			err = e
		}
	case 5:
		_, err = l.ask(ctx, "session/export", fmt.Sprintf(`{"session_id":%q,"format":"markdown"}`, l.id))
	case 6: // a client that takes nothing of it
		other := &soakLane{s: l.s, done: l.done}
		if err = other.connect(ctx); err == nil {
			_, err = other.ask(ctx, "session/attach", session)
			time.AfterFunc(time.Second, func() { other.ws.CloseNow() })
		}
	case 7:
		_, err = l.ask(ctx, "session/list", `{"limit":10}`)
	}
	return err
}
