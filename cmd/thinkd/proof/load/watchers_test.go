package load

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/testgo"
)

var watcherCount = flag.Int("watchers", 20, "how many clients TestWatchersThatDoNotRead has on one session; one in ten does not read, and one hardly")

// lecture is an answer whose updates are many and small: blocks of three deltas each, which are one update if they arrive together. Neither
// the start nor the end of a block can be merged with anything, so that who does not read has 1,024 updates waiting soon.
type lecture struct {
	blocks int
	pace   float64 // deltas a second
}

const deltasOfBlock = 3

// text is all that is said. The simulator's longest delta has 64 bytes.
func (l lecture) text() string {
	var b strings.Builder
	for i := range l.blocks {
		b.WriteString(l.block(i))
	}
	return b.String()
}

func (l lecture) block(n int) string {
	return strings.Repeat(fmt.Sprintf("<%014d>", n), deltasOfBlock*64/16)
}

func (l lecture) give(sim.Request) *sim.Answer {
	a := &sim.Answer{Pace: l.pace}
	for i := range l.blocks {
		a.Parts = append(a.Parts, sim.Part{Kind: sim.Text, Text: l.block(i)})
	}
	return a
}

// watcher is a client on a WebSocket. To cost little, it keeps sums and texts, not the messages that it received.
type watcher struct {
	t    testing.TB
	s    *proof.Served
	id   string        // of the session
	wake chan struct{} // nil: it reads from the start. Else not before this is closed
	tap  *tap          // how it reads meanwhile; nil: not at all

	ws  *websocket.Conn
	buf bytes.Buffer

	seq   atomic.Uint64 // of the last update
	text  strings.Builder
	heard atomic.Int64    // bytes of text in updates
	late  []time.Duration // of each update, since its ts, which has milliseconds
	ended time.Time       // when the turn's end arrived
	stop  string          // what it said; empty: the turn had ended before
	after string          // what it found when it woke up
}

// tap is a connection of which a byte a second is read until it is opened.
type tap struct {
	net.Conn
	open <-chan struct{}
	drip atomic.Bool
}

func (c *tap) Read(p []byte) (int, error) {
	if c.drip.Load() {
		select {
		case <-time.After(time.Second):
			p = p[:min(1, len(p))]
		case <-c.open:
		}
	}
	return c.Conn.Read(p)
}

// connect dials and subscribes.
func (w *watcher) connect() error {
	dialer := &net.Dialer{}
	if w.wake != nil {
		dialer.Control = narrow
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if w.tap == nil || err != nil {
			return conn, err
		}
		w.tap.Conn = conn
		return w.tap, nil
	}}}
	ws, _, err := websocket.Dial(w.t.Context(), w.s.Base+"rpc", &websocket.DialOptions{HTTPClient: client,
		Subprotocols: []string{"thinkd.v1", "thinkd.token." + w.s.Token}})
	if err != nil {
		return err
	}
	w.t.Cleanup(func() { ws.CloseNow() })
	ws.SetReadLimit(-1)
	w.ws = ws
	return w.attach()
}

// attach subscribes. The text so far comes with the answer.
func (w *watcher) attach() error {
	request := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"session/attach","params":{"session_id":%q}}`, w.id)
	if err := w.ws.Write(w.t.Context(), websocket.MessageText, []byte(request)); err != nil {
		return err
	}
	m, err := w.receive()
	if err != nil {
		return err
	}
	at := m.Get("result")
	if !at.Exists() {
		return fmt.Errorf("attach is answered with %s", m.Raw)
	}
	w.seq.Store(at.Get("seq").Uint())
	w.text.Reset()
	for _, message := range append(at.Get("messages").Array(), at.Get("open.messages").Array()...) {
		if message.Get("role").Str != "assistant" {
			continue
		}
		for _, block := range message.Get("content").Array() {
			w.text.WriteString(block.Get("text").Str)
		}
		if !at.Get("open").Exists() {
			w.ended = time.Now()
		}
	}
	return nil
}

var (
	errStale = errors.New("the subscription has ended as stale")
	errCut   = errors.New("the connection has ended")
)

// whole is an error if a message is only a part of one. The library reports the end of a connection inside a frame as the end
// of the message, since msgReader.Read passes every io.EOF on. A part of a message is not JSON.
func whole(message []byte) error {
	if !gjson.ValidBytes(message) {
		return fmt.Errorf("the connection ended inside a message, after %d bytes: %w", len(message), io.ErrUnexpectedEOF)
	}
	return nil
}

// readWhole reads the next message of a connection.
func readWhole(ctx context.Context, ws *websocket.Conn) ([]byte, error) {
	_, data, err := ws.Read(ctx)
	if err == nil {
		err = whole(data)
	}
	return data, err
}

// receive is the next message, valid until the one after it.
func (w *watcher) receive() (gjson.Result, error) {
	_, r, err := w.ws.Reader(w.t.Context())
	if err == nil {
		w.buf.Reset()
		_, err = w.buf.ReadFrom(r)
	}
	if err != nil {
		return gjson.Result{}, fmt.Errorf("%w: %w", errCut, err)
	}
	if err := whole(w.buf.Bytes()); err != nil {
		return gjson.Result{}, fmt.Errorf("%w: %w", errCut, err)
	}
	return gjson.ParseBytes(w.buf.Bytes()), nil
}

// A connection that ends inside a frame is cut, and no message.
func TestWatcherSeesACutInsideAMessage(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		accept := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) // RFC 6455, 4.2.2
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n%s",
			base64.StdEncoding.EncodeToString(accept[:]), "\x81\x20") // the header of 32 bytes
	}))
	defer server.Close()
	ws, _, err := websocket.Dial(t.Context(), server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	if m, err := (&watcher{t: t, ws: ws}).receive(); !errors.Is(err, errCut) {
		t.Errorf("half a message is received as %s, %v", m.Raw, err)
	}
}

// watch reads until the turn's end. Its error is errStale, errCut, or what should not be.
func (w *watcher) watch() error {
	for w.ended.IsZero() {
		m, err := w.receive()
		if err != nil {
			return err
		}
		now, method, p := time.Now(), m.Get("method").Str, m.Get("params")
		if method == "stale" {
			if after := p.Get("after_seq").Uint(); after != w.seq.Load() {
				return fmt.Errorf("stale says %d behind %d", after, w.seq.Load())
			}
			return errStale
		}
		first, last := p.Get("seq").Uint(), p.Get("seq").Uint()
		if f := p.Get("first_seq"); f.Exists() {
			first = f.Uint()
		}
		if first != w.seq.Load()+1 || last < first {
			return fmt.Errorf("%s has the numbers %d to %d behind %d", method, first, last, w.seq.Load())
		}
		w.seq.Store(last)
		w.late = append(w.late, now.Sub(time.UnixMilli(p.Get("ts").Int())))
		switch method {
		case "message_delta":
			w.text.WriteString(p.Get("delta").Str)
			w.heard.Add(int64(len(p.Get("delta").Str)))
		case "turn_end":
			w.ended, w.stop = now, p.Get("stop_reason").Str
		}
	}
	return nil
}

// run watches. Who did not read takes what it finds, and comes back.
func (w *watcher) run() error {
	if w.wake == nil {
		return w.watch()
	}
	if w.tap == nil {
		select {
		case <-w.wake:
		case <-w.t.Context().Done():
		}
	}
	err := w.watch()
	switch code := websocket.CloseStatus(err); {
	case err == nil:
		w.after = "everything"
		return nil
	case errors.Is(err, errStale):
		w.after = "stale"
		err = w.attach()
	case errors.Is(err, errCut) && (code == -1 || code == websocket.StatusTryAgainLater):
		w.after = "an end without a word"
		if code != -1 {
			w.after = "1013"
		}
		w.wake, w.tap = nil, nil
		err = w.connect()
	}
	if err == nil {
		err = w.watch()
	}
	return err
}

// shown is what a lecture's audience had of it.
type shown struct {
	late  []time.Duration // sorted; of those that read
	apart time.Duration   // of the first and the last that read, at the turn's end
	took  time.Duration   // the turn
	after map[string]int  // of the others
	peak  uint64          // the daemon's memory
}

func (s shown) late99() time.Duration { return s.late[len(s.late)*99/100] }

// attend runs a daemon and a turn that so many clients watch. silent ones do not read: half of them until the lecture has
// gone on without them for long enough, and half of them until the daemon has let go of them, and so does the one in
// dripping that takes a byte a second.
func attend(t *testing.T, l lecture, reading, silent, dripping int) shown {
	vendor, env := proof.Simulator(t, sim.Config{})
	vendor.ScriptFunc(l.give)
	s := proof.StartServe(t, proof.Command(t, env, append(proof.ServeArgs(t.TempDir()), "--log-level", "debug")...))
	speaker := proof.DialWS(t, s.Base, s.Token, nil)
	var made struct {
		ID string `json:"session_id"`
	}
	speaker.Must("session/new", map[string]any{"model_id": proof.VendorModel}, &made)
	session := map[string]any{"session_id": made.ID}
	speaker.Must("session/detach", session, nil)

	early, late := make(chan struct{}), make(chan struct{})
	all := make([]*watcher, reading+silent+dripping)
	for i := range all {
		w := &watcher{t: t, s: s, id: made.ID}
		switch {
		case i >= reading+silent:
			w.wake, w.tap = late, &tap{open: late}
		case i >= reading+silent/2:
			w.wake = late
		case i >= reading:
			w.wake = early
		}
		if err := w.connect(); err != nil {
			t.Fatal(err)
		}
		if w.tap != nil {
			w.tap.drip.Store(true)
		}
		all[i] = w
	}
	failed := make([]error, len(all))
	var watching sync.WaitGroup
	t.Cleanup(watching.Wait) // they end with the test's context
	for i, w := range all {
		watching.Go(testgo.Guard(t, func() { failed[i] = w.run() }))
	}

	began := time.Now()
	speaker.Must("session/prompt", map[string]any{"session_id": made.ID, "text": "speak"}, nil)
	until := func(what string, is func() bool) {
		t.Helper()
		for deadline := began.Add(proof.Patience); !is(); proof.Moment(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s does not come", what)
			}
		}
	}
	if silent+dripping > 0 {
		until("most of the answer", func() bool { return all[0].heard.Load() >= int64(len(l.text()))*3/4 })
		close(early)
		until("the end of those that do not read", func() bool {
			return strings.Count(s.Stderr.String(), "took nothing for 10s") >= silent-silent/2+dripping
		})
		close(late)
	}
	watching.Wait()

	r := shown{after: make(map[string]int)}
	var first, last time.Time
	for i, w := range all {
		if failed[i] != nil {
			t.Errorf("watcher %d: %v", i, failed[i])
		}
		if got := w.text.String(); got != l.text() || w.stop != "" && w.stop != "end_turn" {
			t.Errorf("watcher %d has %d bytes of text, and they are not the %d that were said; the turn ends with %s", i, len(got), len(l.text()), w.stop)
		}
		if i >= reading {
			r.after[w.after]++
			continue
		}
		if r.late = append(r.late, w.late...); first.IsZero() || w.ended.Before(first) {
			first = w.ended
		}
		if w.ended.After(last) {
			last = w.ended
		}
	}
	if t.Failed() {
		t.Fatalf("those that did not read found %v\n%s", r.after, proof.Excerpt(s.Stderr.String()))
	}
	slices.Sort(r.late)
	r.apart, r.took = last.Sub(first), first.Sub(began)

	var log struct{ Messages []proof.SpokenMessage }
	speaker.Must("session/history", session, &log)
	var text strings.Builder
	for _, block := range log.Messages[len(log.Messages)-1].Content {
		text.WriteString(block.Text)
	}
	if text.String() != l.text() {
		t.Errorf("the log has %d bytes of text, and they are not the %d that were said", text.Len(), len(l.text()))
	}
	r.peak = proof.MemoryOf(t, s.Cmd.Process.Pid).Peak
	for _, w := range all {
		w.ws.CloseNow()
	}
	s.Terminate()
	return r
}

// One session, many watchers, and a few of them do not read: the others are not held up, what the daemon keeps for the
// few is bounded, and when these wake up they have it all, too.
func TestWatchersThatDoNotRead(t *testing.T) {
	t.Parallel()
	silent, dripping := max(*watcherCount/10, 2), 1
	reading := max(*watcherCount-silent-dripping, 1)
	l := lecture{blocks: 700, pace: 200} // for longer than the daemon is patient with who takes nothing
	r := attend(t, l, reading, silent, dripping)
	t.Logf("%d that read beside %d that do not: p50 %v, p99 %v late; apart at the end %v, of %v; the others found %v",
		reading, silent+dripping, r.late[len(r.late)/2], r.late99(), r.apart, r.took, r.after)
	proof.Judge(t, r.apart <= 10*time.Second, "the end of the turn came to one reader %v after the first", r.apart)
	if !proof.Alone() {
		return // the rest is figures
	}
	alone := attend(t, l, reading, 0, 0)
	t.Logf("alone: p50 %v, p99 %v late; beside the others %.2f times as much", alone.late[len(alone.late)/2], alone.late99(), float64(r.late99())/float64(alone.late99()))
	each := (int64(r.peak) - int64(alone.peak)) / int64(silent+dripping)
	t.Logf("the daemon had %d KiB at most, and %d KiB without those that do not read: %d KiB for each", r.peak>>10, alone.peak>>10, each>>10)
	proof.Judge(t, each <= 8<<20, "%d bytes for each that does not read", each)
}

// SIGTERM while clients read and others do not: those that read learn how the turn ended and are closed with 1001, and
// whatever was acknowledged or told is there afterwards.
func TestServeEndsWithWatchersThatDoNotRead(t *testing.T) {
	t.Parallel()
	l := lecture{blocks: 3000, pace: 1000}
	vendor, env := proof.Simulator(t, sim.Config{})
	vendor.ScriptFunc(l.give)
	data := t.TempDir()
	s := proof.StartServe(t, proof.Command(t, env, proof.ServeArgs(data)...))
	speaker := proof.DialWS(t, s.Base, s.Token, nil)
	var made struct {
		ID string `json:"session_id"`
	}
	speaker.Must("session/new", map[string]any{"model_id": proof.VendorModel}, &made)
	var reading []*watcher
	for i := range 12 {
		w := &watcher{t: t, s: s, id: made.ID}
		if i < 2 {
			w.wake = make(chan struct{}) // and never again
		} else {
			reading = append(reading, w)
		}
		if err := w.connect(); err != nil {
			t.Fatal(err)
		}
	}
	failed := make([]error, len(reading))
	var watching sync.WaitGroup
	t.Cleanup(watching.Wait) // they end with the test's context
	for i, w := range reading {
		watching.Go(testgo.Guard(t, func() { failed[i] = w.watch() }))
	}
	var turn, queued struct {
		ID string `json:"turn_id"`
	}
	prompt := map[string]any{"session_id": made.ID, "text": "speak"}
	speaker.Must("session/prompt", prompt, &turn)
	speaker.Must("session/prompt", prompt, &queued)
	for deadline := time.Now().Add(proof.Patience); reading[0].seq.Load() < 1500; proof.Moment(10 * time.Millisecond) { // by then the others' buffers are full
		if time.Now().After(deadline) {
			t.Fatal("the answer does not come")
		}
	}
	took := s.Terminate()
	t.Logf("the end took %v", took)
	proof.Judge(t, took <= 10*time.Second, "the end took %v", took)
	watching.Wait()
	var heard string
	for i, w := range reading {
		if failed[i] != nil || w.stop != "interrupted" {
			t.Errorf("watcher %d: %v; the turn ends with %q", i, failed[i], w.stop)
			continue
		}
		var err error
		for err == nil { // what follows is that the turn's prompts are held, and stale
			_, err = w.receive()
		}
		if websocket.CloseStatus(err) != websocket.StatusGoingAway {
			t.Errorf("watcher %d: %v", i, err)
		}
		if got := w.text.String(); i > 0 && got != heard {
			t.Errorf("watcher %d has heard %d bytes of text, and they are not the first one's %d", i, len(got), len(heard))
		} else {
			heard = got
		}
	}

	s = proof.StartServe(t, proof.Command(t, env, proof.ServeArgs(data)...))
	var log struct{ Messages []proof.SpokenMessage }
	proof.DialWS(t, s.Base, s.Token, nil).Must("session/history", map[string]any{"session_id": made.ID}, &log)
	if m := log.Messages; len(m) != 3 || m[0].Turn != turn.ID || m[1].Incomplete != "interrupted" || m[2].Turn != queued.ID {
		t.Fatalf("after the end the history is %+v", log.Messages)
	}
	var text strings.Builder
	for _, block := range log.Messages[1].Content {
		text.WriteString(block.Text)
	}
	if !strings.HasPrefix(text.String(), heard) || !strings.HasPrefix(l.text(), text.String()) || heard == "" {
		t.Errorf("the log has %d bytes of text, the clients heard %d, and these are not one answer", text.Len(), len(heard))
	}
	s.Terminate()
}

// valve sits between a program's output and its reader. While it is shut, the reader takes only what sip allows.
type valve struct {
	mu      sync.Mutex
	changed sync.Cond
	shut    bool
	allowed int // bytes
}

func newValve() *valve {
	v := &valve{}
	v.changed.L = &v.mu
	return v
}

func (v *valve) Write(b []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for v.shut && v.allowed <= 0 {
		v.changed.Wait()
	}
	v.allowed -= len(b)
	return len(b), nil
}

func (v *valve) set(shut bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shut, v.allowed = shut, 0
	v.changed.Broadcast()
}

// sip lets a little more through than the daemon's door writes in one piece.
func (v *valve) sip() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.allowed = 24 << 10
	v.changed.Broadcast()
}

// sipping calls sip every 3 s until the test ends. A door ends after 10 s in which its client took nothing, so a client that only falls
// behind has to take something in that time, however slow the machine is.
func (v *valve) sipping(t *testing.T) {
	testgo.Go(t, func() {
		tick := time.NewTicker(3 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				v.sip()
			case <-t.Context().Done():
				return
			}
		}
	})
}

// An editor that does not read what its door says holds up neither the daemon nor another editor.
func TestDoorsThatDoNotRead(t *testing.T) {
	t.Parallel()
	l := lecture{blocks: 1200, pace: 1000}
	vendor, env := proof.Simulator(t, sim.Config{})
	vendor.ScriptFunc(l.give)
	data := proof.DataDir(t)
	valves := [2]*valve{newValve(), newValve()}
	reader := proof.StartCommand(t, proof.Command(t, env, "--data", data, "stdio"))
	id := reader.NewSession("model_id", proof.VendorModel)
	var asleep [2]*proof.Process
	for i := range asleep {
		p := proof.StartCommand(t, proof.Command(t, env, "--data", data, "stdio"), valves[i])
		seq, _ := p.Attach(id)
		if seq != 0 {
			t.Fatalf("a new session is at %d", seq)
		}
		valves[i].set(true)
		asleep[i] = p
	}
	valves[0].sipping(t)
	open := func(i int) { valves[i].set(false) }
	t.Cleanup(func() { open(0); open(1) }) // before the processes are killed, which are read to their ends
	began := time.Now()
	turn := reader.Say(id, "speak")
	if end := reader.Wait("the end", proof.Ended(turn)); end.Stop != "end_turn" {
		t.Fatalf("the turn ends with %s", end.Raw)
	}
	proof.CheckDense(t, "the reader", reader.Seen(), id, 0)
	if got := growthOf(reader); got != l.text() {
		t.Errorf("the reader has %d bytes of text, and they are not the %d that were said", len(got), len(l.text()))
	}
	t.Logf("the turn took %v", time.Since(began))

	// One fell behind and wakes up: it gets stale.
	open(0)
	p := asleep[0]
	stale := p.Wait("stale", func(u proof.Update) bool { return u.Method == "stale" })
	said := p.Seen()
	proof.CheckDense(t, "the one that wakes up", said, id, 0)
	if last := said[len(said)-2].Seq; !strings.Contains(string(stale.Raw), fmt.Sprintf(`"after_seq":%d}`, last)) {
		t.Errorf("%s behind %d", stale.Raw, last)
	}
	hasAll(t, p, id, l)

	// The other does not: its door ends, and says why.
	for deadline := time.Now().Add(proof.Patience); proof.TheDaemon(t, data).Clients > 3; proof.Moment(20 * time.Millisecond) { // the reader, the first, us
		if time.Now().After(deadline) {
			t.Fatal("the door of the other does not end")
		}
	}
	p = asleep[1]
	p.Mu.Lock()
	p.Ended = true // what it says last may be cut
	p.Mu.Unlock()
	open(1)
	<-p.Gone
	if exit, ok := errors.AsType[*exec.ExitError](p.Cmd.Wait()); !ok || exit.ExitCode() != 1 || !strings.Contains(p.Log(), "took nothing for 10s") {
		t.Errorf("the door ends with %v: %s", exit, proof.Excerpt(p.Log()))
	}
	proof.CheckDense(t, "the one that does not wake up", p.Seen(), id, 0)
	again := proof.Door(t, data, env)
	hasAll(t, again, id, l)
	for _, p := range []*proof.Process{reader, asleep[0], again} {
		p.End()
	}
}

// growthOf returns the text that a client received piece by piece.
func growthOf(p *proof.Process) string {
	var text strings.Builder
	for _, u := range p.Seen() {
		if u.Method == "message_delta" {
			text.WriteString(u.Delta)
		}
	}
	return text.String()
}

// hasAll attaches and compares the text in the log with what was said.
func hasAll(t *testing.T, p *proof.Process, id string, l lecture) {
	t.Helper()
	if _, open := p.Attach(id); open {
		t.Error("the turn is still open")
	}
	messages, err := p.History(id)
	if err != nil || len(messages) != 2 {
		t.Fatalf("the history has %d messages, %v", len(messages), err)
	}
	var text strings.Builder
	for _, block := range messages[1].Content {
		text.WriteString(block.Text)
	}
	if text.String() != l.text() {
		t.Errorf("the log has %d bytes of text, and they are not the %d that were said", text.Len(), len(l.text()))
	}
}
