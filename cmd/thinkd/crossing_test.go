package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/rpc"
	"github.com/thinkd/thinkd/session"
)

// crossed is what becomes of earlier thinking, as thinking/explain foretells it or thinking_converted tells it.
type crossed struct{ Kept, Converted, Dropped int }

// TestCrossingsAreForetold holds one conversation with a model of every vendor, and with the first ones again. The daemon
// says before each switch what it will do to earlier thinking, and that is what it does and tells, once. No vendor's
// strict stand-in refuses anything.
func TestCrossingsAreForetold(t *testing.T) {
	t.Parallel()
	vendor := sim.New(sim.Config{})
	p := &program{out: io.Discard, errOut: io.Discard, getenv: standInEnvironment, logLevel: "warn", logFormat: "text",
		configPath: writeConfig(t, standInConfig(serve(t, vendor)))}
	d, err := p.open(t.Context(), session.NewMem())
	if err != nil {
		t.Fatal(err)
	}
	s := newConversation(t, linked(t, d), "anthropic/claude-opus-5-5")
	var told []crossed
	follow := s.link.Notify
	s.link.Notify = func(n rpc.Notification) error {
		if n.Method == "thinking_converted" {
			var c struct {
				crossed
				AsText int `json:"as_text"`
			}
			if err := json.Unmarshal(n.Params, &c); err != nil {
				return err
			}
			c.Converted = c.AsText
			told = append(told, c.crossed)
		}
		return follow(n)
	}
	models := strings.Fields(`anthropic/claude-opus-5-5 openai/gpt-5.6 gemini/gemini-3.8-flash deepseek/deepseek-v4-pro xai/grok-4.5
		xai/grok-3-mini openrouter/anthropic/claude-sonnet-5 openrouter/openai/gpt-5.5 groq/qwen/qwen3-32b mistral/mistral-medium-3-5
		moonshot/kimi-k3 zai/glm-5.2 minimax/MiniMax-M3 dashscope/qwen3.7-max ollama/ollama anthropic/claude-haiku-4-5-20251001
		anthropic/claude-opus-5-5 openai/gpt-5.6 gemini/gemini-3.8-flash ollama/ollama`)
	picture := map[string]any{"type": "media", "mime_type": "image/png", "data": base64.StdEncoding.EncodeToString([]byte("png"))}
	for i, model := range models {
		var foretold struct {
			Blocks *struct {
				crossed
				Why []string
			}
		}
		s.call("thinking/explain", map[string]any{"model_id": model}, &foretold)
		if foretold.Blocks == nil {
			t.Fatalf("to %s: nothing is said of earlier thinking", model)
		}
		want := []crossed{}
		if b := foretold.Blocks; b.Converted+b.Dropped > 0 {
			want = append(want, b.crossed)
			if len(b.Why) == 0 {
				t.Errorf("to %s: no reason for %+v", model, b.crossed)
			}
		}
		s.call("model/set", map[string]any{"model_id": model, "thinking_level": "high"}, &json.RawMessage{})
		told = []crossed{}
		content := []any{map[string]any{"type": "text", "text": fmt.Sprintf("Question %d [[sim: thinking=9 text=9 pace=0]]", i)}}
		if strings.HasPrefix(model, "gemini/") || i == 0 { // later ones are not all shown it
			content = append(content, picture)
		}
		s.prompt(map[string]any{"content": content})
		s.say(fmt.Sprintf("And question %d? [[sim: thinking=9 text=9 pace=0]]", i))
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("to %s (-foretold +told):\n%s", model, diff)
		}
		t.Logf("%-42s %+v %s", model, foretold.Blocks.crossed, strings.Join(foretold.Blocks.Why, "; "))
		if again := slices.Index(models, model) < i; again && foretold.Blocks.Kept < 2 {
			t.Errorf("back to %s: of its own only %d are kept", model, foretold.Blocks.Kept)
		}
	}
	for _, r := range vendor.Refusals() {
		if r.Path != "/" { // where one asks whether an Ollama is there
			t.Errorf("refused: %+v", r)
		}
	}
}
