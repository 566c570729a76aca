//go:build long && unix

package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/jet/jettest"
	"github.com/thinkd/thinkd/session/storetest"
)

var (
	loadTime     = flag.Duration("clustertime", time.Minute, "how long TestLoad has faults come")
	loadSessions = flag.Int("clustersessions", 12, "how many sessions TestLoad uses in parallel; two clients use each")
	loadQuiet    = flag.Bool("clusterquiet", false, "TestLoad without faults")
)

// TestLoad has clients of three nodes that prompt, cancel, rename, read and delete, over three store servers, while at random moments nodes and servers
// are killed or stopped and connections between them are cut, go silent or lose answers. What the clients saw is the history of one log for each session. No
// acknowledged prompt is lost, no prompt goes to a model twice, no update has the number of another one, and the logs in the store are whole.
//
// With -clustertime 1h it is the long run of presence and claims.
func TestLoad(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-clusterseed %d", *seed)
	l := newLoad(t)
	stop := make(chan struct{})
	var clients, faults []<-chan struct{}
	for i := range *loadSessions {
		shared := &seat{l: l}
		for n := range 2 {
			rng := rand.New(rand.NewPCG(*seed, uint64(100+2*i+n)))
			clients = append(clients, testgo.Go(t, func() { l.use(shared, 2*i+n, rng, stop) }))
		}
	}
	over := make(chan struct{})
	if !*loadQuiet {
		faults = append(faults, testgo.Go(t, func() { l.breakNodes(rand.New(rand.NewPCG(*seed, 1)), over) }),
			testgo.Go(t, func() { l.breakStores(rand.New(rand.NewPCG(*seed, 2)), over) }))
	}
	proof.Moment(*loadTime)
	close(over)
	for _, f := range faults {
		<-f
	}
	close(stop)
	for _, c := range clients {
		<-c
	}
	l.settle()
	l.judge()
	for _, s := range l.slots {
		s.door.End()
		s.node.End()
	}
}

// load is a cluster of three nodes and three servers, and what clients know of it.
type load struct {
	*cluster
	stores    *jettest.Processes
	certs     string
	slots     []*slot
	histories []*history
	begun     time.Time
	faults    map[string]int
	asked     atomic.Int64
	failed    atomic.Int64

	mu      sync.Mutex
	numbers map[string]string // by session and number, what had it
	seen    int
}

// slot is a node that comes and goes, behind a proxy for each server.
type slot struct {
	l       *load
	name    string
	proxies []*jettest.Proxy
	urls    []string

	mu   sync.Mutex
	node *node
	door *proof.Process // nil: the node is down
}

func newLoad(t *testing.T) *load {
	stores := jettest.StartProcesses(t, t.TempDir())
	l := &load{cluster: begin(t, stores, 3), stores: stores, begun: time.Now(), faults: make(map[string]int), numbers: make(map[string]string)}
	l.vendor.ScriptFunc(func(sim.Request) *sim.Answer {
		return &sim.Answer{Pace: 100, Parts: []sim.Part{{Kind: sim.Thinking, Text: strings.Repeat("Both count. ", 10)}, {Kind: sim.Text, Text: "So."}}}
	})
	l.certs = certify(t, l.prefix, "a", "b", "c")
	for _, name := range []string{"a", "b", "c"} {
		s := &slot{l: l, name: name}
		for i := range 3 {
			s.proxies = append(s.proxies, jettest.NewProxy(t, stores.Address(i)))
			s.urls = append(s.urls, s.proxies[i].URL())
		}
		s.begin()
		l.slots = append(l.slots, s)
	}
	return l
}

// seat is the session that two clients use, and then the next one.
type seat struct {
	l *load

	mu   sync.Mutex
	h    *history // nil: there is none yet
	used int
}

// manyRequests is how many requests a session gets before its clients take a new one, so that its history can be checked.
const manyRequests = 400

// take returns the session for one more request; nil: none can be made now.
func (s *seat) take(rng *rand.Rand) *history {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used++; s.h != nil && s.used < manyRequests {
		return s.h
	}
	var made struct {
		ID string `json:"session_id"`
	}
	if s.l.call(rng, "session/new", map[string]any{"title": firstTitle}, &made) != nil { // without a title, the first prompt would give it one
		return nil
	}
	s.h, s.used = &history{session: made.ID}, 0
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	s.l.histories = append(s.l.histories, s.h)
	return s.h
}

// leave has the clients take a new session.
func (s *seat) leave(h *history) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.h == h {
		s.used = manyRequests
	}
}

// begin starts the node, again if it cannot reach the servers yet.
func (s *slot) begin() {
	behind := *s.l.cluster
	behind.urls = s.urls
	n := behind.linked(s.name, s.l.certs)
	for line := ""; line != proof.DaemonReady; {
		var more bool
		if line, more = <-n.Lines; !more {
			if err := n.Gone(); err == nil {
				s.l.t.Errorf("node %s ends", s.name)
			}
			n = behind.linked(s.name, s.l.certs)
		}
	}
	door := n.door()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.node, s.door = n, door
}

func (s *slot) kill() {
	s.mu.Lock()
	n, door := s.node, s.door
	s.node, s.door = nil, nil
	s.mu.Unlock()
	door.House = n.House
	door.Kill()
	s.l.hear(door)
}

func (s *slot) client() *proof.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.door
}

// hear takes in the updates of a connection that has ended. No number means two things.
func (l *load) hear(p *proof.Process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := make(map[string]uint64)
	for _, u := range p.Seen() {
		if u.Session == "" || u.Seq == 0 || u.Method == "stale" {
			continue
		}
		first := u.FirstSeq
		if first == 0 {
			first = u.Seq
		}
		if first <= last[u.Session] {
			l.t.Errorf("session %s: %s has the numbers %d to %d after %d", u.Session, u.Method, first, u.Seq, last[u.Session])
		}
		last[u.Session] = u.Seq
		what := fmt.Sprint(u.Method, " ", u.Turn, " ", u.Message, " ", u.Block)
		for n := first; n <= u.Seq; n++ {
			l.seen++
			at := fmt.Sprint(u.Session, " ", n)
			if before, ok := l.numbers[at]; ok && before != what {
				l.t.Errorf("the number %s is that of %q and of %q", at, before, what)
			}
			l.numbers[at] = what
		}
	}
}

// note counts a fault.
func (l *load) note(fault string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults[fault]++
}

// pause waits, at most until the channel is closed.
func pause(rng *rand.Rand, least, most time.Duration, over <-chan struct{}) {
	select {
	case <-time.After(least + time.Duration(rng.Int64N(int64(most-least)))):
	case <-over:
	}
}

// cuts are what can happen to the connections of a node.
var cuts = []struct {
	name        string
	begin, end  func(*jettest.Proxy)
	least, most time.Duration
}{
	{"connections cut", (*jettest.Proxy).Refuse, (*jettest.Proxy).Accept, time.Second, 10 * time.Second},
	{"connections silent", (*jettest.Proxy).Swallow, (*jettest.Proxy).Cut, time.Second, 10 * time.Second},
	{"answers lost", (*jettest.Proxy).LoseAnswers, (*jettest.Proxy).Cut, 100 * time.Millisecond, 3 * time.Second},
}

// breakNodes breaks one node after another, or its connections to servers.
func (l *load) breakNodes(rng *rand.Rand, over <-chan struct{}) {
	for {
		pause(rng, 2*time.Second, 6*time.Second, over)
		select {
		case <-over:
			return
		default:
		}
		s := l.slots[rng.IntN(len(l.slots))]
		some := rng.Perm(3)[:1+rng.IntN(3)]
		switch rng.IntN(5) {
		case 0:
			l.note("node killed")
			s.kill()
			pause(rng, 0, 8*time.Second, nil)
			s.begin()
		case 1:
			l.note("node stopped")
			if err := s.node.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				l.t.Error(err)
			}
			pause(rng, time.Second, 12*time.Second, nil)
			if err := s.node.Cmd.Process.Signal(syscall.SIGCONT); err != nil {
				l.t.Error(err)
			}
		default:
			f := cuts[rng.IntN(len(cuts))]
			l.note(fmt.Sprint(f.name, ": ", len(some)))
			for _, i := range some {
				f.begin(s.proxies[i])
			}
			pause(rng, f.least, f.most, nil)
			for _, i := range some {
				f.end(s.proxies[i])
			}
		}
	}
}

// breakStores breaks one server after another, or all.
func (l *load) breakStores(rng *rand.Rand, over <-chan struct{}) {
	for {
		pause(rng, 5*time.Second, 12*time.Second, over)
		select {
		case <-over:
			return
		default:
		}
		i := rng.IntN(3)
		switch rng.IntN(7) {
		case 0, 1:
			l.note("server killed")
			l.stores.Kill(i)
			pause(rng, 0, 5*time.Second, nil)
			l.stores.Start(i)
		case 2, 3:
			l.note("server stopped")
			l.stores.Signal(i, syscall.SIGSTOP)
			pause(rng, time.Second, 12*time.Second, nil)
			l.stores.Signal(i, syscall.SIGCONT)
		case 4, 5:
			l.note("server restarted")
			l.stores.Shutdown(i)
			l.stores.Start(i)
		case 6:
			l.note("all servers killed")
			for i := range 3 {
				l.stores.Kill(i)
			}
			l.stores.StartAll()
		}
	}
}

// code is that of an error of a call, 0 if there was no answer.
func code(err error) int {
	failed := (*proof.CallError)(nil)
	if errors.As(err, &failed) {
		return failed.Code
	}
	return 0
}

const notFound = 1001

// call asks any node.
func (l *load) call(rng *rand.Rand, method string, params map[string]any, result any) error {
	p := l.slots[rng.IntN(len(l.slots))].client()
	if p == nil {
		proof.Moment(50 * time.Millisecond)
		return errors.New("the node is down")
	}
	l.asked.Add(1)
	err := p.Call(method, params, result)
	if err != nil {
		l.failed.Add(1)
	}
	return err
}

// use has one client of a session until stop is closed.
func (l *load) use(shared *seat, client int, rng *rand.Rand, stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		h := shared.take(rng)
		if h == nil {
			continue
		}
		of := map[string]any{"session_id": h.session}
		switch n := rng.IntN(100); {
		case n < 30:
			if l.prompt(h, client, fmt.Sprintf("p%d.%d", client, i), rng, stop) == "gone" {
				shared.leave(h)
			}
		case n < 40:
			title := fmt.Sprintf("t%d.%d", client, i)
			done := h.begin(title, l.begun)
			err := l.call(rng, "session/update", map[string]any{"session_id": h.session, "title": title}, nil)
			done(client, "title", outcome(err), title)
		case n < 60:
			l.read(h, client, rng)
		case n < 75:
			l.history(h, client, rng)
		case n < 85: // whether it comes in time is open
			_ = l.call(rng, "session/cancel", of, nil)
		case n < 99: // a queue may wait, and the session may be at another node
			if l.call(rng, "session/attach", of, nil) == nil {
				_ = l.call(rng, "session/queue", map[string]any{"session_id": h.session, "resume": true}, nil)
			}
		case rng.IntN(4) == 0:
			done := h.begin("", l.begun)
			done(client, "delete", outcome(l.call(rng, "session/delete", of, nil)), "")
		}
		pause(rng, 0, 400*time.Millisecond, stop)
	}
}

func outcome(err error) string {
	switch {
	case err == nil:
		return "ok"
	case code(err) == notFound:
		return "gone"
	}
	return "unknown"
}

// prompt sends a prompt, again and again until it is acknowledged.
func (l *load) prompt(h *history, client int, text string, rng *rand.Rand, stop <-chan struct{}) (result string) {
	done := h.begin(text, l.begun)
	for try := 0; ; try++ {
		err := l.call(rng, "session/prompt", map[string]any{"session_id": h.session, "text": text, "client_id": text}, nil)
		if result = outcome(err); result != "unknown" {
			kept := result
			if result == "gone" && try > 0 { // it may have been there before the session was deleted
				kept = "unknown"
			}
			done(client, "prompt", kept, text)
			return result
		}
		select {
		case <-stop:
			done(client, "prompt", "unknown", text)
			return "unknown"
		case <-time.After(time.Duration(rng.IntN(500)) * time.Millisecond):
		}
	}
}

// read reads the title.
func (l *load) read(h *history, client int, rng *rand.Rand) {
	var state struct{ Session struct{ Title string } }
	done := h.begin("", l.begun)
	err := l.call(rng, []string{"session/state", "session/attach"}[rng.IntN(2)], map[string]any{"session_id": h.session}, &state)
	done(client, "state", outcome(err), state.Session.Title)
}

// history reads all prompts.
func (l *load) history(h *history, client int, rng *rand.Rand) {
	var page struct {
		Messages []proof.SpokenMessage
		More     bool
	}
	done := h.begin("", l.begun)
	err := l.call(rng, "session/history", map[string]any{"session_id": h.session, "limit": 1000}, &page)
	result := outcome(err)
	if page.More {
		result = "unknown"
	}
	done(client, "history", result, promptsOf(page.Messages))
}

func promptsOf(messages []proof.SpokenMessage) string {
	var texts []string
	for _, m := range messages {
		if m.Role == "user" && len(m.Content) > 0 {
			texts = append(texts, m.Content[0].Text)
		}
	}
	return strings.Join(texts, " ")
}

// settle waits until nothing runs in any session.
func (l *load) settle() {
	since := time.Now()
	p := l.slots[0].client()
	for _, h := range l.histories {
		for {
			if time.Since(since) > proof.Patience {
				l.t.Fatalf("session %s does not come to rest", h.session)
			}
			of := map[string]any{"session_id": h.session}
			var a attached
			err := p.Call("session/attach", of, &a)
			if code(err) == notFound || err == nil && a.Session.Status == "idle" {
				break
			}
			if err == nil && a.Session.Status == "held" {
				_ = p.Call("session/queue", map[string]any{"session_id": h.session, "resume": true}, nil) // asked again, if that fails
			}
			proof.Moment(50 * time.Millisecond)
		}
	}
	l.t.Logf("all sessions came to rest in %v", time.Since(since))
	rng := rand.New(rand.NewPCG(*seed, 3))
	for i, h := range l.histories {
		l.history(h, 1000+i, rng)
		l.read(h, 1000+i, rng)
	}
	for _, s := range l.slots {
		l.hear(s.client())
	}
}

// judge compares what the clients and the model saw.
func (l *load) judge() {
	t := l.t
	prompts, known, checked := 0, 0, 0
	asked := l.prompted()
	for _, h := range l.histories {
		checked += h.check(t)
		for _, o := range h.prompts {
			if o.Input.(did).kind != "prompt" {
				continue
			}
			prompts++
			if o.Output.(got).outcome == "ok" {
				known++
			}
			if n := asked[o.Input.(did).text]; n > 1 {
				t.Errorf("a model got %q %d times", o.Input.(did).text, n)
			}
		}
	}
	conns := l.stores.Dial(0, 1, 2)
	store, err := jet.Open(t.Context(), conns, jet.Options{Prefix: l.prefix, Shards: 4, MaxGrowth: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	entries, deleted := 0, 0
	for _, h := range l.histories { // reading checks the chain and the positions
		of := store.For(session.Operator)
		if _, err := of.Get(context.Background(), session.ID(h.session)); errors.Is(err, session.ErrNotFound) {
			deleted++
			continue
		}
		entries += len(storetest.Entries(t, of, session.ID(h.session)))
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	t.Logf("%v; faults %v", *loadTime, l.faults)
	t.Logf("%d requests about %d sessions are one history for each", checked, len(l.histories))
	t.Logf("%d requests, %d without a result; %d prompts, %d acknowledged; %d entries in the logs, %d sessions deleted; %d updates", l.asked.Load(), l.failed.Load(), prompts,
		known, entries, deleted, l.seen)
}
