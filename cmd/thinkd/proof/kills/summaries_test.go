package kills

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
)

var (
	summaryKills    = flag.Int("summarykills", 4, "kills of TestSummaryKills; at most 90")
	summaryKillSeed = flag.Uint64("summarykillseed", 0, "repeats a run of TestSummaryKills; 0: a new one")
)

// TestSummaryKills kills the daemon while turns are summarised, while a summary is undone, and while a message is pinned. Each time
// the log is whole: no vendor refuses what comes next, a change that was acknowledged is there, and each pinned prompt is in every request.
func TestSummaryKills(t *testing.T) {
	t.Parallel()
	seed := *summaryKillSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-summarykillseed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	vendor, env := proof.Simulator(t, sim.Config{})
	brief := 20
	vendor.ScriptFunc(func(sim.Request) *sim.Answer { return &sim.Answer{Thinking: &brief, Text: &brief} })
	data := t.TempDir()
	session, turns, seq := "", 0, uint64(0)
	made, undone, pins := 0, 0, 0
	for i := range *summaryKills + 1 {
		p := proof.Start(t, data, env)
		if session == "" {
			session = p.NewSession("model_id", "anthropic/claude-opus-5-5", "thinking_level", "high")
		} else {
			p.Must("session/attach", map[string]any{"session_id": session}, nil)
		}
		of := map[string]any{"session_id": session}
		if end := p.Turn(session, fmt.Sprintf("Round %d. Which date is later?", i)); end.Stop != "end_turn" {
			t.Fatalf("round %d ends with %s: %v", i, end.Stop, end.Error)
		}
		all := vendor.Requests()
		for k := range i + 1 {
			if body := all[len(all)-1].Body; !bytes.Contains(body, fmt.Appendf(nil, "Round %d. ", k)) {
				t.Fatalf("round %d: the request lacks the pinned prompt %d: %s", i, k, body)
			}
		}
		list, err := p.History(session)
		if err != nil {
			t.Fatal(err)
		}
		pin := map[string]any{"session_id": session, "message_id": list[len(list)-2].ID}
		p.Must("message/pin", pin, nil)
		pins++
		if i == *summaryKills {
			p.End()
			break
		}
		soon := func() { time.Sleep(time.Duration(rng.IntN(4000)) * time.Microsecond) }
		compacted := p.Send("session/compact", of)
		switch rng.IntN(4) {
		case 0: // the kill falls among the call for the summary, or its entry
			soon()
		case 1:
			if err := compacted(nil); err != nil {
				t.Fatal(err)
			}
			made++
			p.Send("session/uncompact", of)
			soon()
		case 2:
			if err := compacted(nil); err != nil {
				t.Fatal(err)
			}
			made++
			p.Must("session/uncompact", of, nil)
			undone++
			p.Kill()
			p = proof.Start(t, data, env)
			var s struct{ Summaries []struct{ Undone bool } }
			p.Must("session/summaries", of, &s)
			if n := len(s.Summaries); n == 0 || !s.Summaries[n-1].Undone {
				t.Errorf("the undo was acknowledged, and the summaries are %+v", s.Summaries)
			}
		case 3:
			if err := compacted(nil); err != nil {
				t.Fatal(err)
			}
			made++
			p.Send("message/pin", pin)
			soon()
		}
		p.Kill()
		view := proof.Stored(t, data, session)
		if len(view.Turns) < turns || view.LastSeq < seq || len(view.Session.Pinned) != pins {
			t.Errorf("after round %d the log has %d turns up to %d and %d pins, before %d up to %d; %d pins were acknowledged",
				i, len(view.Turns), view.LastSeq, len(view.Session.Pinned), turns, seq, pins)
		}
		turns, seq = len(view.Turns), view.LastSeq
	}
	for _, r := range vendor.Refusals() {
		t.Errorf("refused: %+v", r)
	}
	t.Logf("%d kills, %d summaries and %d undone that were acknowledged, %d pins", *summaryKills, made, undone, pins)
}
