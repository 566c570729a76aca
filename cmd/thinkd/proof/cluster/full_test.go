//go:build long

package cluster

import (
	"fmt"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/session/jet/jettest"
)

// TestNumbers fills a session's stream, so that its node publishes what is not in the log, and kills the node. When there is space again, the next node gives
// no number to an update that the viewer had.
func TestNumbers(t *testing.T) {
	c := begin(t, jettest.Start(t, 3), 3)
	c.more = "max_bytes = 2097152\n"
	c.vendor.ScriptFunc(func(sim.Request) *sim.Answer { return quick() })
	a, b := c.start("a"), c.start("b")
	at := a.door()
	var others []string
	for range 16 { // at least one is in the stream of the session, except once in a hundred times
		id := at.NewSession()
		others = append(others, id)
		at.Turn(id, strings.Repeat("y", 60<<10))
	}
	session := at.NewSession()
	prompts := 0
	for err := error(nil); err == nil && prompts < 200; prompts++ {
		var r struct {
			Turn string `json:"turn_id"`
		}
		if err = at.Call("session/prompt", map[string]any{"session_id": session, "text": fmt.Sprint(prompts, strings.Repeat("x", 60<<10))}, &r); err == nil {
			at.Wait("the end of a turn", proof.Ended(r.Turn))
		}
	}
	t.Logf("the stream is full after %d prompts", prompts)
	at.Wait("a notice", func(u proof.Update) bool { return u.Session == session && u.Kind == "store_readonly" && u.Seq > 0 })
	at.House = a.House
	at.Kill()
	numbers := make(numbers)
	numbers.take(t, at)
	bt := b.door()
	for _, id := range others {
		attach(t, bt, id) // as soon as the node counts as gone
		bt.Must("session/delete", map[string]any{"session_id": id}, nil)
	}
	attach(t, bt, session)
	if end := bt.Turn(session, "Again."); end.Stop != "end_turn" {
		t.Errorf("the turn ends with %+v", end)
	}
	numbers.take(t, bt)
	bt.End()
	b.End()
}
