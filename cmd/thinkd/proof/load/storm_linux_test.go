package load

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/testgo"
)

var stormClients = flag.Int("storm", 100, "how many clients TestReconnectStorm has")

// TestReconnectStorm has clients watch sessions in which turns run, loses all of their connections at once, and has them
// return with the number of what they saw last, when the daemon had told each of them. All go on where they were, soon, and
// the daemon's memory does not double. The clients take the same cores.
func TestReconnectStorm(t *testing.T) {
	t.Parallel()
	sessions := max(*stormClients/50, 4)
	l := lecture{blocks: 2000, pace: 4}
	vendor, env := proof.Simulator(t, sim.Config{NoJournal: true})
	vendor.ScriptFunc(l.give)
	s := proof.StartServe(t, proof.Command(t, env, proof.ServeArgs(t.TempDir())...))
	speaker := proof.DialWS(t, s.Base, s.Token, nil)
	ids := make([]string, sessions)
	for i := range ids {
		var made struct {
			ID string `json:"session_id"`
		}
		speaker.Must("session/new", map[string]any{"model_id": proof.VendorModel}, &made)
		speaker.Must("session/detach", map[string]any{"session_id": made.ID}, nil)
		ids[i] = made.ID
	}
	clients := make([]*returning, *stormClients)
	each := func(what string, do func(*returning) error) time.Duration {
		t.Helper()
		begun := time.Now()
		failed := make([]error, len(clients))
		var doing sync.WaitGroup
		for i, c := range clients {
			doing.Go(testgo.Guard(t, func() { failed[i] = do(c) })) // ends with the test's context
		}
		doing.Wait()
		if err := errors.Join(slices.DeleteFunc(failed, func(err error) bool { return err == nil })...); err != nil {
			t.Fatalf("%s: %.2000v", what, err)
		}
		return time.Since(begun)
	}
	for i := range clients {
		clients[i] = &returning{s: s, id: ids[i%sessions]}
	}
	connected := each("connecting", func(c *returning) error { return c.connect(t.Context()) })
	for _, id := range ids {
		speaker.Must("session/prompt", map[string]any{"session_id": id, "text": "speak"}, nil)
	}
	first := each("the first words", func(c *returning) error { return c.until(t.Context(), func() bool { return c.deltas >= 3 }) })
	before := proof.MemoryOf(t, s.Cmd.Process.Pid).Resident
	for _, c := range clients {
		c.ws.CloseNow()
	}
	var back crowd
	took := each("returning", func(c *returning) error {
		shortest, longest := c.pause.Get("min_ms").Int(), c.pause.Get("max_ms").Int()
		select {
		case <-time.After(time.Duration(shortest+rand.N(longest-shortest)) * time.Millisecond):
		case <-t.Context().Done():
		}
		back.comes(longest)
		return c.connect(t.Context())
	})
	each("what follows", func(c *returning) error {
		had := c.deltas
		return c.until(t.Context(), func() bool { return c.deltas > had })
	})
	peak := proof.MemoryOf(t, s.Cmd.Process.Pid).Peak
	for _, id := range ids {
		speaker.Must("session/cancel", map[string]any{"session_id": id}, nil)
	}
	each("the end", func(c *returning) error { return c.until(t.Context(), func() bool { return c.ended }) })
	said := make(map[string]uint64)
	for _, id := range ids {
		var log struct{ Messages []proof.SpokenMessage }
		speaker.Must("session/history", map[string]any{"session_id": id}, &log)
		h := fnv.New64a()
		for _, block := range log.Messages[len(log.Messages)-1].Content {
			h.Write([]byte(block.Text))
		}
		said[id] = h.Sum64()
	}
	gaps, anew := 0, 0
	for _, c := range clients {
		if c.anew {
			anew++
		} else if c.heard != said[c.id] {
			gaps++
		}
		c.ws.CloseNow()
	}
	t.Logf("%d clients of %d sessions connected in %v and had the first words in %v; all were lost, returned within %d ms as they had been told, at most %d in a tenth of a second, and had gone on after %v; "+
		"%d differ from the log, %d had to begin anew; the daemon had %.1f MiB before and %.1f MiB at most, %.2f times",
		len(clients), sessions, connected.Round(time.Millisecond), first.Round(time.Millisecond), back.longest, back.most(), took.Round(time.Millisecond), gaps, anew,
		float64(before)/(1<<20), float64(peak)/(1<<20), float64(peak)/float64(before))
	if gaps > 0 || anew > 0 || back.longest < int64(len(clients)) {
		t.Errorf("%d clients differ from the log, %d began anew, and all were to return within %d ms", gaps, anew, back.longest)
	}
	proof.Judge(t, took <= 15*time.Second && peak <= 2*before, "it took %v and %.2f times the memory", took, float64(peak)/float64(before))
	s.Terminate()
}

// returning is a client that keeps no more than a sum of what it heard: there are thousands.
type returning struct {
	s  *proof.Served
	id string // of the session
	ws *websocket.Conn

	pause  gjson.Result // what the daemon said of it
	seq    uint64       // of the last update
	heard  uint64       // FNV-1a of the text so far
	deltas int
	ended  bool
	anew   bool // it was given all anew where it asked for what followed
}

const fnvOffset, fnvPrime = 14695981039346656037, 1099511628211

// connect dials and attaches, from where it was if it was there before.
func (c *returning) connect(ctx context.Context) (err error) {
	if c.ws, _, err = websocket.Dial(ctx, c.s.Base+"rpc", &websocket.DialOptions{Subprotocols: []string{"thinkd.v1", "thinkd.token." + c.s.Token}}); err != nil {
		return err
	}
	c.ws.SetReadLimit(-1)
	after := ""
	if c.deltas > 0 {
		after = fmt.Sprintf(`,"after_seq":%d`, c.seq)
	}
	hello, err := c.ask(ctx, "initialize", `{"protocol_version":1}`)
	if err != nil {
		return err
	}
	c.pause = gjson.Parse(hello.Get("reconnect").Raw)
	at, err := c.ask(ctx, "session/attach", fmt.Sprintf(`{"session_id":%q%s}`, c.id, after))
	if err != nil {
		return err
	}
	if after == "" {
		c.seq, c.heard = at.Get("seq").Uint(), fnvOffset
		return nil
	}
	if !at.Get("updates").Exists() {
		c.seq, c.anew, c.ended = at.Get("seq").Uint(), true, !at.Get("open").Exists()
		return nil
	}
	for _, u := range at.Get("updates").Array() {
		if err := c.take(u); err != nil {
			return err
		}
	}
	if c.seq != at.Get("seq").Uint() {
		return fmt.Errorf("what followed leads to %d of %d", c.seq, at.Get("seq").Uint())
	}
	return nil
}

// ask asks before anything else can come.
func (c *returning) ask(ctx context.Context, method, params string) (gjson.Result, error) {
	request := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	if err := c.ws.Write(ctx, websocket.MessageText, []byte(request)); err != nil {
		return gjson.Result{}, err
	}
	data, err := readWhole(ctx, c.ws)
	result := gjson.GetBytes(data, "result")
	if err == nil && !result.Exists() {
		err = fmt.Errorf("%s is answered with %.200s", method, data)
	}
	return result, err
}

// crowd is when clients came back.
type crowd struct {
	mu      sync.Mutex
	at      []time.Time
	longest int64 // that any of them was to wait, in milliseconds
}

func (c *crowd) comes(longest int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.longest = append(c.at, time.Now()), max(c.longest, longest)
}

// most is how many came within a tenth of a second.
func (c *crowd) most() (n int) {
	for first, last := 0, 0; last < len(c.at); last++ {
		for c.at[last].Sub(c.at[first]) > 100*time.Millisecond {
			first++
		}
		n = max(n, last-first+1)
	}
	return n
}

func (c *returning) take(u gjson.Result) error {
	p := u.Get("params")
	first := p.Get("seq").Uint()
	if f := p.Get("first_seq"); f.Exists() {
		first = f.Uint()
	}
	if first != c.seq+1 {
		return fmt.Errorf("%s has the number %d behind %d", u.Get("method").Str, first, c.seq)
	}
	c.seq = p.Get("seq").Uint()
	switch u.Get("method").Str {
	case "message_delta":
		c.deltas++
		for _, b := range []byte(p.Get("delta").Str) {
			c.heard = (c.heard ^ uint64(b)) * fnvPrime
		}
	case "turn_end":
		c.ended = true
	}
	return nil
}

func (c *returning) until(ctx context.Context, is func() bool) error {
	ctx, stop := context.WithTimeout(ctx, proof.Patience)
	defer stop()
	for !is() {
		data, err := readWhole(ctx, c.ws)
		if err != nil {
			return err
		}
		if err := c.take(gjson.ParseBytes(data)); err != nil {
			return err
		}
	}
	return nil
}
