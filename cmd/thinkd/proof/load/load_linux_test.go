package load

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/testgo"
)

var (
	loadSessions = flag.Int("loadsessions", 25, "how many sessions TestLoad has, with a viewer each; 500 for the figures")
	loadViewers  = flag.Int("loadviewers", 50, "how many viewers TestLoad has on one session; 1000 for the figures")
	loadTime     = flag.Duration("loadtime", time.Second, "how long each part of TestLoad measures; 20s for the figures")
)

const loadPace = 50 // deltas a second, of each answer

// clocks is a vendor whose answers say what time it is, for ever: each delta is the time of its sending, in nanoseconds.
func clocks(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	select {
	case <-time.After(rand.N(time.Second / loadPace)): // not all at the same moment
	case <-r.Context().Done():
		return
	}
	tick := time.NewTicker(time.Second / loadPace)
	defer tick.Stop()
	for {
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%d \"}}]}\n\n", time.Now().UnixNano())
		if flush.Flush() != nil {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}

// delays is how late each delta was.
type delays struct {
	counting atomic.Bool
	mu       sync.Mutex
	all      []time.Duration
}

// add takes the times that a text says.
func (d *delays) add(text string, now time.Time) error {
	if !d.counting.Load() {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for word := range strings.FieldsSeq(text) {
		sent, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return err
		}
		d.all = append(d.all, now.Sub(time.Unix(0, sent)))
	}
	return nil
}

// measure counts for a time, for longer if nothing comes in it, and sorts.
func (d *delays) measure(t *testing.T) {
	t.Helper()
	proof.Moment(time.Second) // until all run evenly
	d.counting.Store(true)
	proof.Moment(*loadTime)
	for deadline := time.Now().Add(proof.Patience); d.count() == 0; proof.Moment(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no delta comes")
		}
	}
	d.counting.Store(false)
	d.mu.Lock()
	defer d.mu.Unlock()
	slices.Sort(d.all)
}

func (d *delays) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.all)
}

func (d *delays) of(share int) time.Duration { return d.all[(len(d.all)-1)*share/1000] }

func (d *delays) String() string {
	return fmt.Sprintf("%d deltas, p50 %v, p99 %v, p99.9 %v", len(d.all), d.of(500).Round(10*time.Microsecond), d.of(990).Round(10*time.Microsecond), d.of(999).Round(10*time.Microsecond))
}

// TestLoad measures how late what a vendor says comes to viewers: straight from the vendor, which is the floor of this
// machine at this time, from many sessions with a viewer each, and from one session with many viewers. Vendor, daemon and
// viewers share the cores.
func TestLoad(t *testing.T) {
	t.Parallel()
	host := proof.Serve(t, http.HandlerFunc(clocks))
	floor := straight(t, host, *loadSessions)
	t.Logf("%d answers straight from the vendor: %v", *loadSessions, floor)
	many, cores := through(t, host, *loadSessions, *loadSessions)
	t.Logf("%d sessions with a viewer each: %v; more than the floor: p50 %v, p99 %v; the daemon took %.2f cores", *loadSessions, many,
		(many.of(500) - floor.of(500)).Round(10*time.Microsecond), (many.of(990) - floor.of(990)).Round(10*time.Microsecond), cores)
	one, cores := through(t, host, 1, *loadViewers)
	t.Logf("a session with %d viewers: %v; the daemon took %.2f cores", *loadViewers, one, cores)
	for name, d := range map[string]*delays{"many sessions": many, "many viewers": one} {
		proof.Judge(t, d.of(990) <= 5*time.Second, "%s: %v", name, d)
	}
	for name, n := range map[string][2]int{"many sessions": {len(many.all), *loadSessions}, "many viewers": {len(one.all), *loadViewers}} {
		want := n[1] * loadPace * int(*loadTime/time.Second)
		proof.Judge(t, n[0] >= want/10, "%s: %d deltas of %d", name, n[0], want)
	}
}

// straight reads so many answers of the vendor.
func straight(t *testing.T, host string, answers int) *delays {
	t.Helper()
	d := &delays{}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	failed := make([]error, answers)
	var reading sync.WaitGroup
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for i := range answers {
		reading.Go(testgo.Guard(t, func() { // ends with ctx
			r, err := http.NewRequestWithContext(ctx, "POST", host, strings.NewReader("{}"))
			if err == nil {
				failed[i] = listen(client, r, d)
			}
		}))
	}
	d.measure(t)
	stop()
	reading.Wait()
	if err := errors.Join(failed...); err != nil {
		t.Fatal(err)
	}
	return d
}

func listen(client *http.Client, r *http.Request, d *delays) error {
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	for in := bufio.NewScanner(answer.Body); in.Scan(); {
		if data, ok := strings.CutPrefix(in.Text(), "data: "); ok {
			if err := d.add(gjson.Get(data, "choices.0.delta.content").Str, time.Now()); err != nil {
				return err
			}
		}
	}
	return nil // it has no end but the request's
}

// through runs a daemon with so many sessions, and viewers spread over them, and says how many cores the daemon took.
func through(t *testing.T, host string, sessions, viewers int) (d *delays, cores float64) {
	t.Helper()
	config := proof.WriteConfig(t, fmt.Sprintf("[providers.clocks]\napi = \"chat\"\nbase_url = %q\napi_key_env = \"LOAD_KEY\"\n", host))
	s := proof.StartServe(t, proof.Command(t, []string{"LOAD_KEY=sk-of-the-test"}, append(proof.ServeArgs(t.TempDir()), "--config", config)...))
	speaker := proof.DialWS(t, s.Base, s.Token, nil)
	ids := make([]string, sessions)
	for i := range ids {
		var made struct {
			ID string `json:"session_id"`
		}
		speaker.Must("session/new", map[string]any{"model_id": "clocks/x"}, &made)
		speaker.Must("session/detach", map[string]any{"session_id": made.ID}, nil)
		ids[i] = made.ID
	}
	d = &delays{}
	var watching sync.WaitGroup
	failed := make([]error, viewers)
	all := make([]*returning, viewers)
	for i := range all {
		all[i] = &returning{s: s, id: ids[i%sessions]}
		if err := all[i].connect(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for i, c := range all {
		watching.Go(testgo.Guard(t, func() { failed[i] = c.watch(ctx, d) })) // ends with ctx
	}
	for _, id := range ids {
		speaker.Must("session/prompt", map[string]any{"session_id": id, "text": "speak"}, nil)
	}
	before, begun := cpuTime(t, s.Cmd.Process.Pid), time.Now()
	d.measure(t)
	cores = (cpuTime(t, s.Cmd.Process.Pid) - before).Seconds() / time.Since(begun).Seconds()
	stop()
	watching.Wait()
	if err := errors.Join(failed...); err != nil {
		t.Fatalf("%.2000v", err)
	}
	s.Terminate()
	return d, cores
}

// watch takes in updates until ctx ends.
func (c *returning) watch(ctx context.Context, d *delays) error {
	for {
		data, err := readWhole(ctx, c.ws)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		u := gjson.ParseBytes(data)
		if u.Get("method").Str == "message_delta" {
			if err := d.add(u.Get("params.delta").Str, time.Now()); err != nil {
				return err
			}
		}
		if err := c.take(u); err != nil {
			return err
		}
	}
}

// cpuTime is what a process has used of the processors (proc(5), stat: utime and stime, in hundredths).
func cpuTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
