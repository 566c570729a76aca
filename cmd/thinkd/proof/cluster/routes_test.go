//go:build long

package cluster

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/session/jet/jettest"
)

var routeTime = flag.Duration("clusterroute", 20*time.Second, "how long TestOneRouteCut leaves a route cut")

// leads has a server lead all streams of a prefix for logs, as far as it can.
func leads(t *testing.T, servers *jettest.Servers, prefix string, want int) {
	t.Helper()
	since := time.Now()
	for k := range 4 {
		stream := fmt.Sprintf("%s_LOG_%d", prefix, k)
		for {
			i, ok := servers.Leader(stream)
			if ok && i == want {
				break
			}
			if ok && servers.StepDown(stream) != nil {
				t.Logf("stream %s has no leader that steps down", stream)
			}
			if time.Since(since) > proof.Patience {
				t.Fatalf("server %d does not become the leader of %s", want+1, stream)
			}
			proof.Moment(20 * time.Millisecond)
		}
	}
}

// TestOneRouteCut cuts the route between two of three servers, with the leader in the middle, while viewers at both nodes attach and prompt. No node is
// cut off, and none takes a session over.
func TestOneRouteCut(t *testing.T) {
	servers := jettest.StartRouted(t, 3)
	c := begin(t, servers, 3)
	certs := certify(t, c.prefix, "a", "b")
	a, b := c.startLinked("a", certs), c.startLinked("b", certs)
	at, bt := a.door(), b.door()
	session := at.NewSession()
	bt.Must("session/attach", map[string]any{"session_id": session}, nil)
	leads(t, servers, c.prefix, 1)
	servers.Part(0, 2)
	prompts := 0
	for since := time.Now(); time.Since(since) < *routeTime; prompts++ {
		p := []*proof.Process{at, bt}[prompts%2]
		p.Must("session/attach", map[string]any{"session_id": session}, nil)
		if end := p.Turn(session, fmt.Sprintf("Prompt %d.", prompts)); end.Stop != "end_turn" {
			t.Fatalf("the turn of prompt %d ends with %+v", prompts, end)
		}
		proof.Moment(200 * time.Millisecond)
	}
	t.Logf("%d prompts in %v with a cut route", prompts, *routeTime)
	for _, p := range []*proof.Process{at, bt} {
		for _, u := range p.Seen() {
			if u.Method == "stale" {
				t.Errorf("a viewer gets %s", u.Raw)
			}
		}
	}
	for _, n := range []*node{a, b} {
		n.steady()
	}
	servers.Join(0, 2)
	ends(at, bt, a, b)
}

// TestLeaderApart cuts the leading server from both others. The nodes reach all three. Turns go on at a new leader, no node is cut off, and no session
// moves. What was acknowledged meanwhile is there when the old leader is back, and a node that starts then sees it.
func TestLeaderApart(t *testing.T) {
	servers := jettest.StartRouted(t, 3)
	c := begin(t, servers, 3)
	a := c.start("a")
	at := a.door()
	session := at.NewSession()
	if end := at.Turn(session, "Before."); end.Stop != "end_turn" {
		t.Fatalf("the turn ends with %+v", end)
	}
	leads(t, servers, c.prefix, 0)
	servers.Part(0, 1)
	servers.Part(0, 2)
	since := time.Now()
	if end := at.Turn(session, "Meanwhile."); end.Stop != "end_turn" {
		t.Errorf("the turn ends with %+v", end)
	}
	t.Logf("a turn without the old leader takes %v", time.Since(since))
	a.steady()
	at.House = a.House
	at.Kill()
	servers.Join(0, 1) // the old leader learns of the new one about now
	servers.Join(0, 2)
	b := c.start("b")
	bt := b.door()
	attach(t, bt, session)
	history, err := bt.History(session)
	if err != nil || len(history) != 4 {
		t.Errorf("%d messages of 4, %v", len(history), err)
	}
	c.onceEach(t, "Before.", "Meanwhile.")
	bt.End()
	b.End()
}

// TestBlackHole has the owner's packets to all servers vanish, while its connections stay. It publishes nothing more, and another node takes over.
func TestBlackHole(t *testing.T) {
	servers := jettest.Start(t, 3)
	c := begin(t, servers, 3)
	c.vendor.Script(thinks())
	behind, proxies := c.behind(servers)
	a, b := behind.start("a"), c.start("b")
	at, bt := a.door(), b.door()
	session := at.NewSession()
	at.Say(session, "First.")
	at.Wait("thinking", method("thinking_delta"))
	for _, p := range proxies {
		p.Swallow()
	}
	took, _ := attach(t, bt, session)
	heard := len(at.Seen())
	t.Logf("a node in a black hole is taken over after %v", took)
	if took > 10*time.Second {
		t.Errorf("the takeover takes %v", took)
	}
	if end := bt.Turn(session, "Second."); end.Stop != "end_turn" {
		t.Errorf("the turn ends with %+v", end)
	}
	if kind, _ := refused(t, at.Call("session/attach", map[string]any{"session_id": session}, nil)); kind != "cut_off" {
		t.Errorf("the node in the black hole refuses as %q", kind)
	}
	for _, p := range proxies {
		p.Cut() // new connections are whole
	}
	at.Wait("stale", method("stale"))
	for _, u := range at.Seen()[heard:] {
		if u.Method == "thinking_delta" {
			t.Errorf("a node that is cut off publishes %s", u.Raw)
		}
	}
	c.onceEach(t, "First.", "Second.")
	ends(at, bt, a, b)
}

// TestLostMark loses the mark of a session's first turn on the way to each server. The turn runs only when the mark is stored, and is closed when
// its node is killed and starts again under its name at once, without a client.
func TestLostMark(t *testing.T) {
	servers := jettest.Start(t, 3)
	c := begin(t, servers, 3)
	c.vendor.Script(thinks())
	behind, proxies := c.behind(servers)
	a := behind.start("a")
	at := a.door()
	session := at.NewSession()
	for _, p := range proxies {
		p.CutAt(c.prefix+".open.", 1)
	}
	at.Say(session, "First.")
	at.Wait("thinking", method("thinking_delta"))
	lost := 0
	for _, p := range proxies {
		lost += 1 - p.Bites()
		p.CutAt("", 0)
	}
	t.Logf("%d publications of the mark were lost", lost)
	if lost == 0 {
		t.Error("no mark was lost")
	}
	at.House = a.House
	at.Kill()
	killed := time.Now()
	a = c.start("a")
	for a.open() > 0 {
		if time.Since(killed) > proof.Patience {
			t.Fatal("the session stays open")
		}
		proof.Moment(20 * time.Millisecond)
	}
	t.Logf("the turn is closed %v after the kill", time.Since(killed))
	at = a.door()
	if _, s := attach(t, at, session); s.Session.Status != "idle" {
		t.Errorf("the session is %s", s.Session.Status)
	}
	c.onceEach(t, "First.")
	at.End()
	a.End()
}

// quick is an answer without a pause.
func quick() *sim.Answer {
	return &sim.Answer{Pace: -1, Parts: []sim.Part{{Kind: sim.Text, Text: "So."}}}
}
