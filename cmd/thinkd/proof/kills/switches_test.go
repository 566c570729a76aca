package kills

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/session"
)

// TestConversationOverKillsAndSwitches holds one conversation over changes of level and model and over a kill in
// mid-thinking, with a simulator that refuses whatever the vendor would: a signature that is missing, changed or in
// another place. So it is not enough that nothing is refused: all signatures that were ever stored are on the wire in
// the end.
func TestConversationOverKillsAndSwitches(t *testing.T) {
	t.Parallel()
	vendor, env := proof.Simulator(t, sim.Config{})
	data := t.TempDir()

	p := proof.Start(t, data, env)
	id := p.NewSession("model_id", "anthropic/claude-opus-5", "thinking_level", "high")
	turns := []struct{ model, level string }{
		{"", ""}, {"", "low"}, {"", "off"}, {"", "max"},
		{"claude-opus-5-5", ""}, {"", "medium"}, {"", "xhigh"},
		{"claude-sonnet-5", "low"}, {"", "off"}, {"", "high"},
	}
	converse := func(first int) {
		t.Helper()
		for i, turn := range turns {
			if turn.model != "" {
				p.Must("model/set", map[string]any{"session_id": id, "model_id": "anthropic/" + turn.model}, nil)
			}
			if turn.level != "" {
				p.Must("thinking/set", map[string]any{"session_id": id, "level": turn.level}, nil)
			}
			text := fmt.Sprintf("Question %d: which date is later? [[sim: thinking=60 text=40 blocks=%d]]", first+i, 1+i%3)
			if end := p.Turn(id, text); end.Stop != "end_turn" {
				t.Fatalf("turn %d ends with %s: %v", first+i, end.Stop, end.Error)
			}
		}
	}
	converse(1)

	// The kill falls when part of the thinking is stored: more than a second after its first word.
	p.Must("model/set", map[string]any{"session_id": id, "model_id": "anthropic/claude-opus-5-5"}, nil)
	cut := p.Say(id, "Interrupted question: which date is later? [[sim: thinking=30000 pace=60]]")
	thinks := func(u proof.Update) bool { return u.Method == "thinking_delta" && u.Turn == cut }
	first := p.Wait("thinking", thinks)
	p.Wait("more thinking", func(u proof.Update) bool { return thinks(u) && u.TS > first.TS+1200 })
	p.Kill()

	p = proof.Start(t, data, env)
	p.Must("session/attach", map[string]any{"session_id": id}, nil)
	messages, err := p.History(id)
	if err != nil {
		t.Fatal(err)
	}
	shown := messages[len(messages)-1]
	if shown.Turn != cut || shown.Incomplete != "interrupted" || len(shown.Content) != 1 {
		t.Fatalf("after the kill the history ends in %+v", shown)
	}
	if b := shown.Content[0]; b.Type != "thinking" || b.Signed || !strings.HasPrefix(b.Text, "The user says “Interrupted question") {
		t.Errorf("the thinking that was cut off is shown as %+v", b)
	}
	var waited struct {
		Stop string `json:"stop_reason"`
	}
	p.Must("turn/wait", map[string]any{"session_id": id, "turn_id": cut}, &waited)
	if waited.Stop != "interrupted" {
		t.Errorf("the turn that was cut off ended with %q", waited.Stop)
	}
	before := len(vendor.Requests())
	p.Must("model/set", map[string]any{"session_id": id, "model_id": "anthropic/claude-opus-5"}, nil)
	converse(11)
	p.End()

	if r := vendor.Refusals(); len(r) > 0 {
		t.Errorf("refused: %+v", r)
	}
	view := proof.Stored(t, data, id)
	if len(view.Turns) != 21 {
		t.Errorf("the log has %d turns", len(view.Turns))
	}
	requests := vendor.Requests()[before:]
	if len(requests) != 10 {
		t.Errorf("%d requests after the kill", len(requests))
	}
	for i, r := range requests {
		if bytes.Contains(r.Body, []byte("The user says “Interrupted")) {
			t.Errorf("request %d after the kill has the thinking that was cut off", i+1)
		}
		if !bytes.Contains(r.Body, []byte("Interrupted question: which date is later?")) {
			t.Errorf("request %d after the kill lacks the prompt whose answer was cut off", i+1)
		}
	}
	want := signatures(t, view, 20) // the last request was made before the last answer
	got := sentSignatures(t, requests[len(requests)-1].Body)
	if !slices.Equal(got, want) {
		t.Errorf("the last request has %d signatures, the log %d of earlier turns: they are not the same in order", len(got), len(want))
	}
	if len(want) < 20 {
		t.Errorf("the log has %d signatures: too few to show anything", len(want))
	}
	for i := range want {
		if slices.Contains(want[:i], want[i]) {
			t.Errorf("signature %d stands twice", i)
		}
	}
}

// signatures lists those of the first turns, as the vendor gave them.
func signatures(t *testing.T, v *session.View, turns int) []string {
	t.Helper()
	var all []string
	for _, turn := range v.Turns[:turns] {
		for _, m := range turn.Messages {
			for _, part := range m.Parts {
				b, ok := part.Block.(provider.Thinking)
				if !ok || b.State.IsZero() {
					continue
				}
				var raw struct{ Signature string }
				if err := json.Unmarshal(b.State.Data, &raw); err != nil || raw.Signature == "" {
					t.Fatalf("stored thinking %s: no signature (%v)", b.State.Data, err)
				}
				all = append(all, raw.Signature)
			}
		}
	}
	return all
}

// sentSignatures lists those of a request.
func sentSignatures(t *testing.T, body []byte) []string {
	t.Helper()
	var request struct {
		Messages []struct {
			Content []struct{ Type, Signature string }
		}
	}
	if err := json.Unmarshal(body, &request); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range request.Messages {
		for _, b := range m.Content {
			if b.Type == "thinking" {
				all = append(all, b.Signature)
			}
		}
	}
	return all
}
