package kills

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

var serverKills = flag.Int("serverkills", 2, "kills of TestServerToolsOverKillsAndSwitches")

// TestServerToolsOverKillsAndSwitches holds a conversation in which the vendors search and run code, over kills in the middle of their
// answers, interrupted answers and switches between all five wire APIs. The built-in simulator refuses items that are missing, changed or
// of another vendor: each later turn ends with an answer, and no repair is needed. The option survives the kills.
func TestServerToolsOverKillsAndSwitches(t *testing.T) {
	t.Parallel()
	searching := []string{"sim/gpt", "sim/gemini", "sim/claude", "sim/claude-always", "sim/gpt-always"}
	others := []string{"sim/claude", "sim/ollama", "sim/gemini", "sim/deepseek", "sim/gpt", "sim/gemini-budget", "sim/claude-between-tools"}
	data := t.TempDir()
	p := proof.Start(t, data, nil) // the first one builds the program
	begun := time.Now()
	id := p.NewSession("model_id", "sim/claude")
	p.Must("session/update", map[string]any{"session_id": id, "options": map[string]any{"server_tools": []string{"web_search", "code_execution"}}}, nil)
	rng := rand.New(rand.NewPCG(uint64(*serverKills), 1))
	ran, interrupted := 0, 0
	for i := range 2 * *serverKills {
		model := searching[i%len(searching)]
		p.Must("model/set", map[string]any{"session_id": id, "model_id": model}, nil)
		turn := p.Say(id, fmt.Sprintf("Search for %d [[sim: thinking=5 search=2 code=1 text=400 pace=300]]", i))
		wanted, seen := 1+rng.IntN(6), 0
		p.Wait("a tool of the vendor", func(u proof.Update) bool {
			if u.Turn == turn && u.Method == "server_tool" {
				seen++
			}
			return u.Turn == turn && (seen >= wanted || u.Method == "turn_end" || seen > 0 && u.Method == "message_delta")
		})
		ran += seen
		if i%2 == 0 {
			p.Kill()
			p = proof.Start(t, data, nil)
			p.Must("session/attach", map[string]any{"session_id": id}, nil)
		} else {
			p.Must("session/cancel", map[string]any{"session_id": id}, nil)
			interrupted++
		}
		next := others[rng.IntN(len(others))]
		p.Must("model/set", map[string]any{"session_id": id, "model_id": next}, nil)
		turn = p.Say(id, fmt.Sprintf("Question %d: which date is later? [[sim: thinking=5 search=1 text=5 pace=0]]", i))
		if end := p.Wait("the end of the turn", proof.Ended(turn)); end.Stop != "end_turn" {
			t.Fatalf("turn %d of %s after %s ends with %s: %v", i, next, model, end.Stop, end.Error)
		}
		for _, u := range p.Seen() {
			if u.Turn != turn {
				continue
			}
			if u.Method == "server_tool" {
				ran++
			}
			if u.Method == "retry" || u.Method == "notice" && (u.Kind == "history_repaired" || u.Kind == "left_out") {
				t.Errorf("turn %d of %s after %s: %s %s", i, next, model, u.Method, u.Kind)
			}
		}
	}
	if ran < 2**serverKills {
		t.Errorf("%d updates of the vendors' tools were seen", ran)
	}
	p.End()
	t.Logf("%d kills, %d interruptions, %d updates of the vendors' tools, in %v", *serverKills, interrupted, ran, time.Since(begun).Round(time.Millisecond))
}
