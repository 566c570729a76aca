//go:build long && unix

package cluster

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session/jet/jettest"
)

var (
	manyTurns    = flag.Int("clusterturns", 30, "how many turns run when TestManyTurns kills their node, and over all drains of TestDrainInTurn")
	manyUnloaded = flag.Int("clusterunloaded", 500, "how many sessions TestDrainUnloaded has")
)

// each runs f for each number in parallel, a few at once, and returns when all have ended.
func each(t *testing.T, n int, f func(i int)) {
	t.Helper()
	next := make(chan int)
	var ended []<-chan struct{}
	for range min(n, 16) {
		ended = append(ended, testgo.Go(t, func() { // ends with the numbers
			for i := range next {
				f(i)
			}
		}))
	}
	for i := range n {
		next <- i
	}
	close(next)
	for _, e := range ended {
		<-e
	}
}

// TestManyTurns kills a node with many open turns. It measures when another node first answers about each, and how much text is lost.
func TestManyTurns(t *testing.T) {
	c := begin(t, jettest.Start(t, 3), 3)
	c.vendor.ScriptFunc(func(sim.Request) *sim.Answer {
		a := thinks()
		return &a
	})
	a, b := c.start("a"), c.start("b")
	at, bt := a.door(), b.door()
	var sessions, turns []string
	for i := range *manyTurns {
		sessions = append(sessions, at.NewSession())
		turns = append(turns, at.Say(sessions[i], fmt.Sprintf("Prompt %d.", i)))
	}
	for _, turn := range turns {
		at.Wait("thinking", func(u proof.Update) bool { return u.Method == "thinking_delta" && u.Turn == turn })
	}
	proof.Moment(5 * time.Second) // of growth
	at.House = a.House
	at.Kill()
	killed := time.Now()
	said := make(map[string]int)
	for _, u := range at.Seen() {
		if u.Method == "thinking_delta" {
			said[u.Session] += len(u.Delta)
		}
	}
	var mu sync.Mutex
	var took []time.Duration
	var lost []int
	each(t, len(sessions), func(i int) {
		attach(t, bt, sessions[i])
		since := time.Since(killed)
		history, err := bt.History(sessions[i])
		kept := 0
		if err != nil || len(history) < 2 || history[1].Incomplete == "" {
			t.Errorf("session %d: the history is %+v, %v", i, history, err)
		} else {
			for _, block := range history[1].Content {
				kept += len(block.Text)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		took, lost = append(took, since), append(lost, said[sessions[i]]-kept)
	})
	slices.Sort(took)
	slices.Sort(lost)
	p95 := took[len(took)*95/100]
	t.Logf("%d turns: the first answer of the other node after %v (median), %v (95 %%), %v (longest)", len(took), took[len(took)/2], p95, took[len(took)-1])
	t.Logf("text lost, of 60 bytes in a second: %d (median), %d (most) bytes", lost[len(lost)/2], lost[len(lost)-1])
	proof.Judge(t, p95 <= 10*time.Second, "the takeover takes %v", p95)
	proof.Judge(t, lost[len(lost)-1] <= 90, "%d bytes of text are lost", lost[len(lost)-1])
	bt.End()
	b.End()
}

// TestDrainInTurn drains three nodes one after another, with running turns and a queue in each session, and a viewer at another node. No turn is
// interrupted, each prompt runs once, and the viewer gets the end of each.
func TestDrainInTurn(t *testing.T) {
	c := begin(t, jettest.Start(t, 3), 3)
	c.vendor.ScriptFunc(func(sim.Request) *sim.Answer {
		return &sim.Answer{Pace: 10, Parts: []sim.Part{{Kind: sim.Text, Text: strings.Repeat("On it goes. ", 20)}}}
	})
	certs := certify(t, c.prefix, "a", "b", "c")
	nodes := []*node{c.startLinked("a", certs), c.startLinked("b", certs), c.startLinked("c", certs)}
	perNode := max(*manyTurns/6, 1)
	var texts []string
	var slowest time.Duration
	for round := range nodes {
		drained, other := nodes[round], nodes[(round+1)%3]
		maker, viewer := drained.door(), other.door()
		sessions := make(map[string]bool)
		var turns []string
		for i := range perNode {
			id := maker.NewSession()
			sessions[id] = true
			viewer.Must("session/attach", map[string]any{"session_id": id}, nil)
			for _, which := range []string{"Running", "Queued"} {
				texts = append(texts, fmt.Sprintf("%s prompt %d of node %s.", which, i, drained.name))
				turns = append(turns, viewer.Say(id, texts[len(texts)-1]))
			}
		}
		maker.End()
		began := time.Now()
		out, err := proof.Command(t, c.env, "--data", drained.Cmd.Args[2], "cluster", "drain").CombinedOutput()
		if err != nil {
			t.Errorf("drain: %v\n%s", err, out)
		}
		if err := drained.Gone(); err != nil {
			t.Errorf("the node ends with %v\n%s", err, proof.Excerpt(drained.Stderr.String()))
		}
		t.Logf("node %s is drained after %v", drained.name, time.Since(began))
		for id := range sessions { // each was stale once
			viewer.Wait("stale", func(u proof.Update) bool { return u.Method == "stale" && u.Session == id })
			took, _ := attach(t, viewer, id)
			slowest = max(slowest, took)
		}
		for id := range sessions {
			c.rest(t, viewer, id)
			history, err := viewer.History(id)
			if err != nil || len(history) != 4 {
				t.Errorf("%d messages, %v", len(history), err)
			}
			for _, m := range history {
				if m.Incomplete != "" || m.Role == "assistant" && m.Content[0].Text != strings.Repeat("On it goes. ", 20) {
					t.Errorf("a message of turn %s is %q: %+v", m.Turn, m.Incomplete, m.Content)
				}
			}
		}
		numbers := make(numbers)
		numbers.take(t, viewer)
		viewer.End()
		nodes[round] = c.startLinked(drained.name, certs)
		t.Logf("%d turns of node %s ended", len(turns), drained.name)
	}
	t.Logf("after a session moved, its viewer was served again within %v", slowest)
	proof.Judge(t, slowest <= 2*time.Second, "a move takes %v", slowest)
	c.onceEach(t, texts...)
	for _, n := range nodes {
		n.End()
	}
}

// rest waits until a session has nothing to do.
func (c *cluster) rest(t *testing.T, p *proof.Process, session string) {
	t.Helper()
	for since := time.Now(); ; {
		_, a := attach(t, p, session)
		if a.Session.Status == "idle" {
			return
		}
		if time.Since(since) > proof.Patience {
			t.Fatalf("session %s stays %s", session, a.Session.Status)
		}
		proof.Moment(50 * time.Millisecond)
	}
}

// TestDrainUnloaded drains a node that is named by many sessions, and has loaded few of them. While it drains, and after, each opens at another node.
func TestDrainUnloaded(t *testing.T) {
	c := begin(t, jettest.Start(t, 3), 3)
	c.more = "[limits]\nmax_loaded_bytes = \"1MiB\"\n"
	c.thinksAt("Hold.")
	a := c.start("a")
	c.more = ""
	b := c.start("b")
	sessions := make([]string, *manyUnloaded)
	each(t, (len(sessions)+7)/8, func(i int) { // a session with a client is not unloaded
		p := a.door()
		for k := 8 * i; k < min(8*i+8, len(sessions)); k++ {
			sessions[k] = p.NewSession()
			p.Turn(sessions[k], "Hello. "+strings.Repeat("x", 8<<10))
		}
		p.End()
	})
	at := a.door()
	at.Say(at.NewSession(), "Hold.") // so that the drain takes a while
	at.Wait("thinking", method("thinking_delta"))
	if err := a.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	bt := b.door()
	var mu sync.Mutex
	var took []time.Duration
	each(t, len(sessions), func(i int) {
		one, _ := attach(t, bt, sessions[i])
		mu.Lock()
		defer mu.Unlock()
		took = append(took, one)
	})
	slices.Sort(took)
	t.Logf("%d sessions open at the other node: median %v, longest %v", len(took), took[len(took)/2], took[len(took)-1])
	proof.Judge(t, took[len(took)-1] <= 2*time.Second, "a session takes %v", took[len(took)-1])
	if err := a.Cmd.Process.Signal(syscall.SIGTERM); err != nil { // the second ends it at once
		t.Fatal(err)
	}
	a.Gone()
	at.Kill()
	bt.End()
	b.End()
}

// TestOutdatedLeader stops the server that leads, while turns run at a new leader and the node lets its sessions go. Another node asks for them at the moment
// at which the old leader goes on and does not know yet. It sees all that was acknowledged.
func TestOutdatedLeader(t *testing.T) {
	p := jettest.StartProcesses(t, t.TempDir())
	c := begin(t, p, 3)
	c.vendor.ScriptFunc(func(sim.Request) *sim.Answer { return quick() })
	a, b := c.start("a"), c.start("b")
	at, bt := a.door(), b.door()
	conns := p.Dial(0, 1, 2)
	sessions := make([]string, 12)
	for i := range sessions {
		sessions[i] = at.NewSession()
		at.Turn(sessions[i], "Before.")
	}
	old := p.Leader(conns, c.prefix+"_LOG_0")
	p.Signal(old, syscall.SIGSTOP)
	each(t, len(sessions), func(i int) { at.Turn(sessions[i], "Meanwhile.") })
	at.End()
	a.End() // all sessions are free
	p.Signal(old, syscall.SIGCONT)
	each(t, len(sessions), func(i int) {
		attach(t, bt, sessions[i])
		history, err := bt.History(sessions[i])
		if err != nil || len(history) != 4 {
			t.Errorf("%d messages of 4, %v", len(history), err)
		}
	})
	bt.End()
	b.End()
}
