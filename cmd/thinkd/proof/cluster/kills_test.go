//go:build long

package cluster

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/session/jet/jettest"
)

var (
	rounds = flag.Int("clusterkills", 5, "how many kills TestKills makes")
	seed   = flag.Uint64("clusterseed", 0, "the seed of TestKills; 0: any")
)

// TestKills kills the owner of a session at random moments, again and again, while prompts are sent and run. Each prompt is in the log once,
// whether its acknowledgement arrived or it was sent again to the next owner, and no model got it twice.
func TestKills(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-clusterseed %d", *seed)
	rng := rand.New(rand.NewPCG(*seed, 0))
	c := begin(t, jettest.Start(t, 3), 3)
	c.vendor.ScriptFunc(func(sim.Request) *sim.Answer {
		return &sim.Answer{Pace: 100, Parts: []sim.Part{{Kind: sim.Thinking, Text: strings.Repeat("Both count. ", 20)}, {Kind: sim.Text, Text: "So."}}}
	})
	nodes := []*node{c.start("a"), c.start("b")}
	first := nodes[0].door()
	session := first.NewSession()
	first.End()
	var texts []string
	for round := range *rounds {
		owner := nodes[0]
		p := owner.door()
		attach(t, p, session)
		p.Must("session/queue", map[string]any{"session_id": session, "resume": true}, nil)
		var again []map[string]any
		kill := time.After(time.Duration(rng.IntN(1500)) * time.Millisecond)
		killed := false
		for i := 0; !killed; i++ {
			text := fmt.Sprintf("Prompt %d of round %d.", i, round)
			texts = append(texts, text)
			params := map[string]any{"session_id": session, "text": text, "client_id": text}
			answered := p.Send("session/prompt", params)
			select {
			case <-kill:
				killed = true
				p.House = owner.House
				p.Kill()
			case <-time.After(time.Duration(rng.IntN(300)) * time.Millisecond):
			}
			if answered(nil) != nil {
				again = append(again, params)
			}
		}
		nodes = []*node{nodes[1], c.start(owner.name)}
		p = nodes[0].door()
		attach(t, p, session)
		for _, params := range again {
			p.Must("session/prompt", params, nil)
		}
		p.End()
		t.Logf("round %d: %d prompts were sent again", round, len(again))
	}
	p := nodes[0].door()
	attach(t, p, session)
	p.Must("session/queue", map[string]any{"session_id": session, "resume": true}, nil)
	since := time.Now()
	for status := ""; status != "idle"; {
		_, a := attach(t, p, session)
		if status = a.Session.Status; time.Since(since) > proof.Patience {
			t.Fatalf("the session stays %s", status)
		}
		proof.Moment(100 * time.Millisecond)
	}
	history, err := p.History(session)
	if err != nil {
		t.Fatal(err)
	}
	said := make(map[string]int)
	for _, m := range history {
		if m.Role == "user" && len(m.Content) > 0 {
			said[m.Content[0].Text]++
		}
	}
	asked := c.prompted()
	for _, text := range texts {
		if said[text] != 1 {
			t.Errorf("%q is %d times in the history", text, said[text])
		}
		if asked[text] > 1 {
			t.Errorf("a model got %q %d times", text, asked[text])
		}
	}
	t.Logf("%d prompts over %d kills", len(texts), *rounds)
	p.End()
	for _, n := range nodes {
		n.End()
	}
}

// prompted counts the requests by their last text.
func (c *cluster) prompted() map[string]int {
	counts := make(map[string]int)
	for _, r := range c.vendor.Requests() {
		counts[lastText(r.Body)]++
	}
	return counts
}

// lastText is the last text of a request to the model.
func lastText(request []byte) (text string) {
	var body struct {
		Messages []struct{ Content json.RawMessage }
	}
	if json.Unmarshal(request, &body) != nil || len(body.Messages) == 0 {
		return ""
	}
	content := body.Messages[len(body.Messages)-1].Content
	var blocks []struct{ Text string }
	if json.Unmarshal(content, &blocks) == nil && len(blocks) > 0 {
		return blocks[len(blocks)-1].Text
	}
	if json.Unmarshal(content, &text) != nil {
		return ""
	}
	return text
}
