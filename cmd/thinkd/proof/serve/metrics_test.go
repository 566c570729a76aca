package serve

import (
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// A turn is counted, and nothing that was said is there to read, nor a word that a client made up.
func TestMetrics(t *testing.T) {
	s := proof.StartServe(t, proof.Command(t, nil, proof.ServeArgs(t.TempDir())...))
	if code, body := s.Scrape("readyz"); code != 200 || body != "ready" {
		t.Errorf("%d %q", code, body)
	}
	c := proof.DialWS(t, s.Base, s.Token, nil)
	const said = "canary-of-the-prompt"
	var made struct {
		ID string `json:"session_id"`
	}
	c.Must("session/new", map[string]any{"model_id": "sim/claude", "thinking_level": "high"}, &made)
	c.Must("session/attach", map[string]any{"session_id": made.ID}, nil)
	c.Must("session/prompt", map[string]any{"session_id": made.ID, "text": said + " [[sim: pace=0]]"}, nil)
	c.TurnEnd()
	want := []string{
		`thinkd_turns_total{effort="high",error="",provider="sim",stop_reason="end_turn"} 1`,
		`thinkd_model_calls_total{provider="sim"} 1`,
		`thinkd_model_calls_again_total{provider="sim"} 0`,
		`thinkd_turn_seconds_count{provider="sim"} 1`,
		`thinkd_clients 1`,
		`thinkd_turns_running 0`,
		`thinkd_store_read_only 0`,
		`thinkd_tokens_total{kind="output",provider="sim"} `,
		"go_goroutines ",
	}
	var body string
	missing := func() (list []string) {
		_, body = s.Scrape("metrics")
		for _, line := range want {
			if !strings.Contains(body, "\n"+line) {
				list = append(list, line)
			}
		}
		return list
	}
	for begun := time.Now(); len(missing()) > 0 && time.Since(begun) < proof.Patience; { // the turn's end is published a moment before the metrics count it
		time.Sleep(20 * time.Millisecond)
	}
	for _, line := range missing() {
		t.Errorf("there is no %s", line)
	}
	for _, secret := range []string{said, made.ID, s.Token} {
		if strings.Contains(body, secret) {
			t.Errorf("the metrics contain %q", secret)
		}
	}
	if t.Failed() {
		for line := range strings.Lines(body) {
			if strings.HasPrefix(line, "thinkd_") {
				t.Log(line)
			}
		}
	}
	s.Terminate()
}
