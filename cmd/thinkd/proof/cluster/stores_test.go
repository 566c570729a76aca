//go:build long && unix

package cluster

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session/jet/jettest"
)

// prompter prompts in one session, until stop is closed, and waits for the end of each turn.
type prompter struct {
	t       *testing.T
	p       *proof.Process
	session string
	ended   <-chan struct{}
	done    chan struct{} // has an element for each turn that ended
	texts   []string
	took    []time.Duration
	bad     []string
}

func (c *cluster) prompts(p *proof.Process, name string, stop <-chan struct{}) *prompter {
	w := &prompter{t: c.t, p: p, session: p.NewSession(), done: make(chan struct{}, 10000)}
	w.ended = testgo.Go(c.t, func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			text := fmt.Sprintf("Prompt %d of %s.", i, name)
			var r struct {
				Turn string `json:"turn_id"`
			}
			since := time.Now()
			if err := p.Call("session/prompt", map[string]any{"session_id": w.session, "text": text}, &r); err != nil {
				w.bad = append(w.bad, fmt.Sprintf("%s %v", text, err))
				continue
			}
			w.took = append(w.took, time.Since(since))
			w.texts = append(w.texts, text)
			if end, err := p.Find(proof.Ended(r.Turn)); err != nil || end.Stop != "end_turn" {
				w.bad = append(w.bad, fmt.Sprintf("%s ends with %+v, %v", text, end, err))
				if err != nil {
					return
				}
			}
			select {
			case w.done <- struct{}{}:
			default:
			}
		}
	})
	return w
}

// turnsEnd waits until each has ended n more turns.
func turnsEnd(t *testing.T, list []*prompter, n int) (took time.Duration) {
	t.Helper()
	since := time.Now()
	for _, w := range list {
		for len(w.done) > 0 {
			<-w.done
		}
		for range n {
			select {
			case <-w.done:
			case <-time.After(proof.Patience):
				t.Fatal("no turn ends")
			}
		}
	}
	return time.Since(since)
}

// finish waits for the prompters, and checks what they did.
func (c *cluster) finish(list []*prompter) {
	c.t.Helper()
	var took []time.Duration
	for _, w := range list {
		<-w.ended
	}
	asked := c.prompted()
	for _, w := range list {
		took = append(took, w.took...)
		for _, bad := range w.bad {
			c.t.Error(bad)
		}
		history, err := w.p.History(w.session)
		if err != nil {
			c.t.Fatal(err)
		}
		said := make(map[string]int)
		for _, m := range history {
			if m.Role == "user" && len(m.Content) > 0 {
				said[m.Content[0].Text]++
			}
			if m.Incomplete != "" {
				c.t.Errorf("session %s: a message is %s", w.session, m.Incomplete)
			}
		}
		for _, text := range w.texts {
			if said[text] != 1 {
				c.t.Errorf("%q is %d times in the history", text, said[text])
			}
		}
		for _, text := range w.texts {
			if asked[text] != 1 {
				c.t.Errorf("%d requests with %q", asked[text], text)
			}
		}
	}
	slices.Sort(took)
	c.t.Logf("%d prompts acknowledged: median %v, p99 %v, longest %v", len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
	numbers := make(numbers)
	for _, w := range list {
		if w == list[0] || w.p != list[0].p {
			numbers.take(c.t, w.p)
		}
	}
}

// TestStoreServers kills the leading store server under load, and restarts the servers one after another. No node is cut off, no prompt is refused, and no turn
// ends early. Then all servers are killed while models think, and start again: turns go on, or end as interrupted with their text.
func TestStoreServers(t *testing.T) {
	p := jettest.StartProcesses(t, t.TempDir())
	c := begin(t, p, 3)
	c.vendor.ScriptFunc(func(r sim.Request) *sim.Answer { return quick() })
	a, b := c.start("a"), c.start("b")
	at, bt := a.door(), b.door()
	stop := make(chan struct{})
	var list []*prompter
	for i, door := range []*proof.Process{at, at, bt} {
		list = append(list, c.prompts(door, fmt.Sprint("session ", i), stop))
	}
	conns := p.Dial(0, 1, 2)
	t.Logf("without a fault, 5 turns in %v", turnsEnd(t, list, 5))
	leader := p.Leader(conns, c.prefix+"_LOG_0")
	p.Kill(leader)
	t.Logf("the leader is killed: %v", turnsEnd(t, list, 5))
	p.Start(leader)
	t.Logf("it is back: %v", turnsEnd(t, list, 5))
	for i := range 3 {
		p.Shutdown(i)
		p.Start(i)
		t.Logf("server %d was shut down and started: %v", i+1, turnsEnd(t, list, 5))
	}
	leader = p.Leader(conns, c.prefix+"_LOG_0")
	p.Signal(leader, syscall.SIGSTOP)
	t.Logf("the leader hangs: %v", turnsEnd(t, list, 5))
	p.Signal(leader, syscall.SIGCONT)
	t.Logf("it goes on: %v", turnsEnd(t, list, 5))
	close(stop)
	c.finish(list)
	for _, n := range []*node{a, b} {
		n.steady()
	}

	// All servers.
	c.vendor.ScriptFunc(func(r sim.Request) *sim.Answer {
		return &sim.Answer{Pace: 20, Parts: []sim.Part{{Kind: sim.Text, Text: strings.Repeat("On it goes. ", 200)}}}
	})
	session := at.NewSession()
	turn := at.Say(session, "Go on.")
	at.Wait("text", func(u proof.Update) bool { return u.Method == "message_delta" && u.Turn == turn })
	for i := range 3 {
		p.Kill(i)
	}
	down := time.Now()
	p.StartAll()
	t.Logf("all servers were down for %v", time.Since(down))
	var end proof.Update
	for end.Method == "" { // the client gets the end, or the session is loaded again
		for _, u := range at.Seen() {
			if u.Method == "turn_end" && u.Turn == turn || u.Method == "stale" && u.Session == session {
				end = u
			}
		}
		if time.Since(down) > proof.Patience {
			t.Fatal("the turn does not end")
		}
		proof.Moment(50 * time.Millisecond)
	}
	attach(t, at, session)
	history, err := at.History(session)
	if err != nil || len(history) != 2 || len(history[1].Content) == 0 {
		t.Fatalf("the history is %+v, %v", history, err)
	}
	t.Logf("the turn ends %v after the kill by %s %q, its message is %q with %d bytes", time.Since(down), end.Method, end.Stop, history[1].Incomplete, len(history[1].Content[0].Text))
	ends(at, bt, a, b)
}

// TestRestartInBlock restarts all store servers while a block is open, and kills its node later. The next node has the text of the block, without that of the last
// moments: the pieces from before were lost with the memory of the servers.
func TestRestartInBlock(t *testing.T) {
	p := jettest.StartProcesses(t, t.TempDir())
	c := begin(t, p, 3)
	c.vendor.Script(thinks())
	a, b := c.start("a"), c.start("b")
	at, bt := a.door(), b.door()
	session := at.NewSession()
	turn := at.Say(session, "First.")
	at.Wait("thinking", method("thinking_delta"))
	for i := range 3 {
		p.Kill(i)
	}
	down := time.Now()
	p.StartAll()
	up := len(at.Seen())
	for grown := 0; grown < 40; { // 8 s of growth after the restart
		grown = 0
		for _, u := range at.Seen()[up:] {
			if u.Method == "thinking_delta" && u.Turn == turn {
				grown++
			}
			if u.Method == "turn_end" || u.Method == "stale" {
				proof.Judge(t, false, "the servers were away for too long: the turn ends by %s after %v", u.Method, time.Since(down))
				return
			}
		}
		if time.Since(down) > proof.Patience {
			t.Fatal("the turn does not go on")
		}
		proof.Moment(20 * time.Millisecond)
	}
	at.House = a.House
	at.Kill()
	said := 0
	for _, u := range at.Seen() {
		if u.Method == "thinking_delta" && u.Turn == turn {
			said += len(u.Delta)
		}
	}
	attach(t, bt, session)
	history, err := bt.History(session)
	if err != nil || len(history) < 2 {
		t.Fatalf("the history is %+v, %v", history, err)
	}
	kept := 0
	for _, block := range history[1].Content {
		kept += len(block.Text)
	}
	lost := said - kept
	t.Logf("%d of %d bytes of the open block were kept; the node wrote 60 in a second", kept, said)
	if lost > 60*5 {
		t.Errorf("%d bytes are lost", lost)
	}
	bt.End()
	b.End()
}
