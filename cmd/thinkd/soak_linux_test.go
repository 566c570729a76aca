package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider/sim"
)

var (
	soakTime = flag.Duration("soak", 10*time.Second, "how long TestSoak loads the daemon")
	soakSeed = flag.Uint64("soakseed", 0, "the seed of TestSoak; 0: any")
)

// soakLanes is how many clients work at the same time.
const soakLanes = 8

// soakFaults are what goes wrong in three of ten calls. After a stall the client cancels.
var soakFaults = []string{
	"fault=overloaded after=3 times=1", "fault=server_error times=1", "fault=server_error", "fault=cut after=8", "fault=end after=2", "fault=cut",
	"fault=html", "fault=json_error", "fault=empty", "fault=gzip", "fault=noise", "fault=bad_request", "fault=auth", "fault=stall after=3", "fault=stall",
	"fault=redirect", "fault=endless_thinking",
}

// TestSoak loads the daemon with all that clients do, over all wire APIs, among faults of vendors and clients that go without
// a word, and watches it by its own metrics: what it holds does not grow with time. A short run judges goroutines and
// descriptors alone, since memory takes minutes to find its level; -soak 30m is a long one.
func TestSoak(t *testing.T) {
	t.Parallel()
	seed := *soakSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-soakseed %d", seed)
	vendor := sim.New(sim.Config{NoJournal: true})
	host := httptest.NewServer(vendor)
	t.Cleanup(func() { host.CloseClientConnections(); host.Close() })
	var config strings.Builder
	for _, api := range apis {
		fmt.Fprintf(&config, "[providers.%s]\napi = %q\nbase_url = %q\napi_key_env = \"SOAK_KEY\"\n", api.name, api.name, host.URL+api.simulated(""))
	}
	s := startServe(t, command(t, []string{"SOAK_KEY=sk-of-the-test"}, append(serveArgs(t.TempDir()), "--config", writeConfig(t, config.String()))...))
	scrape := func() sample {
		m, err := s.metrics(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	rest := scrape()
	ctx, stop := context.WithTimeout(t.Context(), *soakTime)
	defer stop()
	var done soaked
	var working sync.WaitGroup
	t.Cleanup(working.Wait)
	for n := range soakLanes {
		working.Go(func() { // ends with ctx
			l := &soakLane{s: s, rng: rand.New(rand.NewPCG(seed, uint64(n))), done: &done}
			for ctx.Err() == nil {
				if err := l.session(ctx); err != nil && ctx.Err() == nil {
					t.Errorf("lane %d, -soakseed %d: %v", n, seed, err)
					return
				}
			}
		})
	}
	var samples []sample
	period := max(*soakTime/1000, 100*time.Millisecond)
	for begun := time.Now(); ctx.Err() == nil; moment(period) {
		m := scrape()
		m.at = time.Since(begun)
		samples = append(samples, m)
	}
	working.Wait()
	t.Logf("%d sessions, %d turns, %d of them failed and %d were cancelled, %d connections lost, %d forks, %d tools, %d summaries in %v",
		done.sessions.Load(), done.turns.Load(), done.failed.Load(), done.cancelled.Load(), done.lost.Load(), done.forks.Load(), done.tools.Load(), done.summaries.Load(), *soakTime)

	settled := samples[len(samples)/4:] // by then what is kept for the next turn is there
	goroutines, _ := slope(settled, func(m sample) float64 { return m.goroutines })
	files, _ := slope(settled, func(m sample) float64 { return m.files })
	memory, within := slope(settled, func(m sample) float64 { return m.resident / (1 << 20) })
	t.Logf("per hour: %+.1f goroutines, %+.1f descriptors, %+.2f MiB resident (+- %.2f); at first %v, at last %v", goroutines, files, memory, within,
		settled[0], settled[len(settled)-1])
	if *soakTime >= 20*time.Minute && memory-2*within > 1 {
		t.Errorf("memory grows by %.2f MiB an hour", memory)
	}
	// What was open under load is closed after it, with the sessions that its end left. Connections to the vendor would
	// be kept for 90 s.
	l := &soakLane{s: s}
	if err := l.clear(t.Context()); err != nil {
		t.Error(err)
	}
	host.CloseClientConnections()
	var last sample
	for deadline := time.Now().Add(patience); ; moment(100 * time.Millisecond) {
		if last = scrape(); last.goroutines <= rest.goroutines+2 && last.files <= rest.files+2 {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("before the load %v, after it %v", rest, last)
			break
		}
	}
	t.Logf("before the load %v, after it %v", rest, last)
	s.terminate()
}

// soaked counts what was done.
type soaked struct {
	sessions, turns, failed, cancelled, lost, forks, tools, summaries atomic.Int64
}

// sample is what the daemon says of itself.
type sample struct {
	at                          time.Duration
	goroutines, files, resident float64
}

func (m sample) String() string {
	return fmt.Sprintf("%.0f goroutines, %.0f descriptors, %.1f MiB", m.goroutines, m.files, m.resident/(1<<20))
}

func (s *served) metrics(ctx context.Context) (m sample, err error) {
	r, err := http.NewRequestWithContext(ctx, "GET", s.base+"metrics", nil)
	if err != nil {
		return m, err
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Close = true
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return m, err
	}
	defer answer.Body.Close()
	for in := bufio.NewScanner(answer.Body); in.Scan(); {
		name, value, _ := strings.Cut(in.Text(), " ")
		for want, to := range map[string]*float64{"go_goroutines": &m.goroutines, "process_open_fds": &m.files, "process_resident_memory_bytes": &m.resident} {
			if name == want {
				if *to, err = strconv.ParseFloat(value, 64); err != nil {
					return m, err
				}
			}
		}
	}
	if m.goroutines == 0 || m.files == 0 || m.resident == 0 {
		return m, errors.New("the metrics lack goroutines, descriptors or memory")
	}
	return m, nil
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
	s    *served
	rng  *rand.Rand
	done *soaked

	ws   *websocket.Conn
	next int
	id   string // of the session
	seq  uint64 // of its last update
}

func (l *soakLane) connect(ctx context.Context) (err error) {
	l.ws, _, err = websocket.Dial(ctx, l.s.base+"rpc", &websocket.DialOptions{Subprotocols: []string{"thinkd.v1", "thinkd.token." + l.s.token}})
	if err == nil {
		l.ws.SetReadLimit(-1)
	}
	return err
}

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
	_, data, err := l.ws.Read(ctx)
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
		return m, errors.New("a client that reads is told that it is slow")
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
	if err := l.connect(ctx); err != nil {
		return err
	}
	defer func() { l.ws.CloseNow() }()
	l.id, l.seq = "", 0
	made, err := l.ask(ctx, "session/new", fmt.Sprintf(`{"model_id":%q,"tools":[{"name":"work","description":"Works.","effect":"read","input_schema":{"type":"object"}}]}`, l.model()))
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
	api := apis[l.rng.IntN(len(apis))].name
	return api + "/" + simulatedModel[api]
}

// turn is one turn to its end, by the vendor, by a fault, or by the client; now and then the client goes meanwhile.
func (l *soakLane) turn(ctx context.Context) error {
	marker := fmt.Sprintf("thinking=%d text=%d pace=%d", 5+l.rng.IntN(200), 5+l.rng.IntN(100), 100+l.rng.IntN(2000))
	fault := ""
	switch n := l.rng.IntN(10); {
	case n < 3:
		fault = soakFaults[l.rng.IntN(len(soakFaults))]
		marker += " " + fault
	case n < 5:
		marker += " tool=work rounds=2"
	}
	level := []string{"off", "auto", "low", "high"}[l.rng.IntN(4)]
	turn, err := l.ask(ctx, "session/prompt", fmt.Sprintf(`{"session_id":%q,"thinking_level":%q,"text":"Go on. %d [[sim: %s]]"}`, l.id, level, l.rng.Uint64(), marker))
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
	patient := 3 * time.Second // what stalls, is tried again or does not end is cancelled
	if strings.Contains(fault, "stall") || strings.Contains(fault, "endless") {
		patient = 200 * time.Millisecond
	}
	session := l.id
	impatient := time.AfterFunc(patient, func() { l.cancel(ctx, session) }) // ends with ctx
	defer impatient.Stop()
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

// clear deletes all sessions.
func (l *soakLane) clear(ctx context.Context) error {
	if err := l.connect(ctx); err != nil {
		return err
	}
	defer l.ws.CloseNow()
	list, err := l.ask(ctx, "session/list", `{"limit":1000}`)
	for _, s := range list.Get("sessions").Array() {
		if err == nil {
			_, err = l.ask(ctx, "session/delete", fmt.Sprintf(`{"session_id":%q}`, s.Get("session_id").Str))
		}
	}
	return err
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
		of := l.id
		impatient := time.AfterFunc(3*time.Second, func() { l.cancel(ctx, of) }) // the vendor's fault may be among what is summarised
		defer impatient.Stop()
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
