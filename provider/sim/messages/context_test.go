package messages

import (
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/sim/simtest"
)

// The server leaves out the thinking of older turns and says so; the conversation goes on as it was.
func TestClearThinking(t *testing.T) {
	c := four(t, "claude-opus-5-5")
	whole := simtest.Create(t, c.s, simtest.Header(), simtest.Merged(c.body(), obj{"messages": append(arr{}, append(c.said, simtest.Say("user", "go on"))...)}))
	c.h = []string{"anthropic-beta", betaEdits}
	c.members = simtest.Merged(c.members, managed(obj{"type": "clear_thinking_20251015", "keep": obj{"type": "thinking_turns", "value": 1}}))
	got := c.asks()
	if got.Status != 200 {
		t.Fatalf("refused: %s", got.Body)
	}
	edits := simtest.Get[arr](got.JSON(), "context_management", "applied_edits")
	if len(edits) != 1 || simtest.Get[float64](edits, 0, "cleared_thinking_turns") < 1 {
		t.Fatalf("edits: %v", edits)
	}
	saved := simtest.Get[float64](whole.JSON(), "usage", "input_tokens") - simtest.Get[float64](got.JSON(), "usage", "input_tokens")
	if freed := simtest.Get[float64](edits, 0, "cleared_input_tokens"); freed < 1 || freed != saved {
		t.Errorf("%v tokens are said to be cleared, and the input is %v shorter", freed, saved)
	}
}

// A compaction stands for what was before it, once it comes back, and only as it was.
func TestCompaction(t *testing.T) {
	for _, test := range []struct {
		name, stop, betas string
		signed            bool
	}{
		{"in the answer", "end_turn", betaCompact, false},
		{"with a pause", "compaction", betaCompact, false},
		{"signed", "end_turn", betaCompact + "," + betaCompactLater, true},
		{"signed, with a pause", "compaction", betaCompact + "," + betaCompactLater, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			stop := test.stop
			c := four(t, "claude-opus-5-5")
			c.h = []string{"anthropic-beta", test.betas}
			c.members = simtest.Merged(c.members, managed(obj{"type": "compact_20260112", "pause_after_compaction": stop == "compaction", "trigger": obj{"type": "input_tokens", "value": 400}}))
			m := c.say("go on")
			if got := simtest.Get[string](m, "content", 0, "type"); got != "compaction" || m["stop_reason"] != stop {
				t.Fatalf("begins with %s, stops for %v", got, m["stop_reason"])
			}
			if block := simtest.Get[obj](m, "content", 0); block["encrypted_content"] == nil || (block["signature"] != nil) != test.signed {
				t.Errorf("the block is %v", block)
			}
			if n := simtest.Get[float64](m, "usage", "iterations", 0, "output_tokens"); n < 1 || simtest.Get[string](m, "usage", "iterations", 0, "type") != "compaction" {
				t.Errorf("usage: %v", m["usage"])
			}
			before := simtest.Get[float64](m, "usage", "input_tokens")
			if stop == "compaction" { // it goes on without a word of ours
				m = simtest.Stream(t, c.s, simtest.Header(c.h...), c.body())
				if got := simtest.Get[string](m, "content", 0, "type"); got == "compaction" || m["stop_reason"] != "end_turn" {
					t.Fatalf("goes on with %s, stops for %v", got, m["stop_reason"])
				}
				c.said = append(c.said, simtest.Say("assistant", m["content"]))
			}
			got := c.asks()
			if got.Status != 200 {
				t.Fatalf("refused: %s", got.Body)
			}
			if after := simtest.Get[float64](got.JSON(), "usage", "input_tokens"); after >= before {
				t.Errorf("input of %v tokens before and %v after", before, after)
			}
			changed := c.edited(func(c *talk) {
				for _, m := range c.said {
					for _, b := range simtest.Get[arr](m, "content") {
						if block, ok := b.(obj); ok && block["type"] == "compaction" {
							block["content"] = "Something else was said."
						}
					}
				}
			})
			if got := changed.asks(); got.Status != 400 || got.ErrorText() == "" {
				t.Errorf("a changed compaction is answered with %d %s", got.Status, got.Body)
			}
			if test.signed {
				early := c.edited(func(c *talk) { c.h = []string{"anthropic-beta", betaCompact} })
				if got := early.asks(); got.Status != 400 || !strings.Contains(got.ErrorText(), "signature: Extra inputs") {
					t.Errorf("a signed compaction without the later beta is answered with %d %s", got.Status, got.Body)
				}
			}
			plain := c.edited(func(c *talk) { c.h = nil; delete(c.members, "context_management") })
			if got := plain.asks(); got.Status != 400 {
				t.Errorf("a compaction without its beta is answered with %d", got.Status)
			}
		})
	}
}
