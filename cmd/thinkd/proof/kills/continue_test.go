package kills

import (
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
)

// TestContinueAfterKill kills the daemon while a model answers, starts it again, and continues the turn: nothing runs by itself, the
// finished thinking goes back with its signature, the vendor refuses nothing, and the text of both turns stands once in what follows.
func TestContinueAfterKill(t *testing.T) {
	t.Parallel()
	vendor, env := proof.Simulator(t, sim.Config{})
	vendor.Script(sim.Answer{Pace: 20, Parts: []sim.Part{{Kind: sim.Thinking, Text: "Both dates count."},
		{Kind: sim.Text, Text: "Alpha bravo charlie. " + strings.Repeat("Delta echo foxtrot. ", 500)}}})
	data := t.TempDir()
	p := proof.Start(t, data, env)
	session := p.NewSession()
	turn := p.Say(session, "Which date is later?")
	p.Wait("the end of thinking", func(u proof.Update) bool { return u.Method == "thinking_end" })
	p.Wait("text that is older than a checkpoint", func(u proof.Update) bool { return u.Method == "message_delta" && u.Seq >= 60 })
	p.Kill()

	p = proof.Start(t, data, env)
	defer p.End()
	vendor.Script(sim.Answer{Parts: []sim.Part{{Kind: sim.Text, Text: "Golf hotel."}}}, sim.Answer{Parts: []sim.Part{{Kind: sim.Text, Text: "India."}}})
	p.Must("session/attach", map[string]any{"session_id": session}, nil)
	if n := len(vendor.Requests()); n != 1 {
		t.Fatalf("the vendor got %d requests before anybody asked to continue", n)
	}
	var on struct {
		Turn      string `json:"turn_id"`
		Continues string `json:"continues"`
		Parts     []struct{ Type, Action string }
	}
	p.Must("session/continue", map[string]any{"session_id": session, "client_id": "c"}, &on)
	p.Wait("the end of the turn", proof.Ended(on.Turn))
	p.Turn(session, "Thanks.")
	if on.Continues != turn || len(on.Parts) == 0 || on.Parts[0].Type != "thinking" {
		t.Errorf("continued: %+v, not %s", on, turn)
	}
	if refusals := vendor.Refusals(); len(refusals) > 0 {
		t.Errorf("refused: %+v", refusals)
	}
	all := vendor.Requests()
	last := string(all[len(all)-1].Body)
	for _, text := range []string{"Golf hotel.", "Both dates count."} {
		if n := strings.Count(last, text); n != 1 {
			t.Errorf("%q stands %d times in the last request", text, n)
		}
	}
}
