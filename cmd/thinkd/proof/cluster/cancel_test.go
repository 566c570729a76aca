//go:build long && unix

package cluster

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/session/jet/jettest"
)

// observed serves the vendor to nodes that start from now on. The channel gets the time of the end of each request.
func (c *cluster) observed() <-chan time.Time {
	ends := make(chan time.Time, 100)
	url := proof.Serve(c.t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { ends <- time.Now() }()
		c.vendor.ServeHTTP(w, r)
	}))
	c.env = append([]string{"ANTHROPIC_BASE_URL=" + url}, c.env[:1]...)
	return ends
}

// hang stops two of three servers, and returns what has them go on.
func hang(p *jettest.Processes) (goOn func()) {
	for i := range 2 {
		p.Signal(i, syscall.SIGSTOP)
	}
	return func() {
		for i := range 2 {
			p.Signal(i, syscall.SIGCONT)
		}
	}
}

// TestCancelWithoutStores cancels turns while two of three store servers hang: one whose block waits to be stored, and one whose model thinks when the node is
// cut off. The request to the model ends within a second. The cancel is acknowledged when the servers go on.
func TestCancelWithoutStores(t *testing.T) {
	p := jettest.StartProcesses(t, t.TempDir())
	c := begin(t, p, 3)
	ended := c.observed()
	c.vendor.ScriptFunc(func(r sim.Request) *sim.Answer {
		a := thinks()
		if strings.Contains(lastText(r.Body), "block") {
			a.Parts = []sim.Part{{Kind: sim.Thinking, Text: "Both count. "}, {Kind: sim.Text, Text: strings.Repeat("On it goes. ", 2000)}}
		}
		return &a
	})
	a := c.start("a")
	at := a.door()
	for _, prompt := range []string{"A block.", "Think."} {
		session := at.NewSession()
		turn := at.Say(session, prompt)
		at.Wait("thinking", func(u proof.Update) bool { return u.Method == "thinking_delta" && u.Turn == turn })
		goOn := hang(p)
		if prompt == "A block." {
			proof.Moment(2 * time.Second) // the block has ended, and the node is not cut off yet
		} else {
			for kind := ""; kind != "cut_off"; proof.Moment(50 * time.Millisecond) {
				if err := at.Call("session/state", map[string]any{"session_id": session}, nil); err != nil {
					kind, _ = refused(t, err)
				}
			}
		}
		since := time.Now()
		var r struct{ Cancelled bool }
		wait := at.Send("session/cancel", map[string]any{"session_id": session, "turn_id": turn})
		took := (<-ended).Sub(since)
		t.Logf("%s the request to the model ends %v after the cancel", prompt, took)
		if took < 0 {
			t.Errorf("%s the request ends before the cancel", prompt)
		}
		proof.Judge(t, took < time.Second, "%s the request ends %v after the cancel", prompt, took)
		goOn()
		if err := wait(&r); err != nil || !r.Cancelled {
			t.Errorf("%s the cancel is answered with %+v, %v", prompt, r, err)
		}
		t.Logf("%s the cancel is acknowledged after %v", prompt, time.Since(since))
		if end := at.Wait("the end", proof.Ended(turn)); end.Stop != "cancelled" {
			t.Errorf("%s the turn ends as %s", prompt, end.Stop)
		}
	}
	make(numbers).take(t, at)
	ends(at, a)
}
