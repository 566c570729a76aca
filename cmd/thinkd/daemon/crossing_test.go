package daemon

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session/mem"
)

// crossed is the fate of earlier thinking: what thinking/explain predicts, or what thinking_converted reports.
type crossed struct{ Kept, Converted, Dropped int }

// crossing is a client with a tool, which follows one session.
type crossing struct {
	conversation
	told  []crossed
	calls []string // of the tool, that wait for their results

	answered int
}

func (s *crossing) take(n door.Notification) error {
	var m struct {
		crossed
		AsText int    `json:"as_text"`
		Call   string `json:"call_id"`
		Host   string
		Turn   string `json:"turn_id"`
		Stop   string `json:"stop_reason"`
		Error  any
	}
	if err := json.Unmarshal(n.Params, &m); err != nil {
		return err
	}
	switch n.Method {
	case "thinking_converted":
		m.Converted = m.AsText
		s.told = append(s.told, m.crossed)
	case "tool_start":
		if m.Host != "client" {
			s.t.Errorf("a call that is not run: %s", n.Params)
		}
		s.calls = append(s.calls, m.Call)
	case "turn_end":
		s.ended = m.Turn
		if m.Stop != "end_turn" {
			s.t.Errorf("the turn ends with %s: %v", m.Stop, m.Error)
		}
	}
	return nil
}

// turn prompts, runs the tool, and waits for the end.
func (s *crossing) turn(prompt map[string]any) {
	s.t.Helper()
	var receipt struct {
		Turn string `json:"turn_id"`
	}
	s.call("session/prompt", prompt, &receipt)
	for s.ended != receipt.Turn {
		for _, id := range s.calls {
			s.call("tool/result", map[string]any{"call_id": id, "content": []any{map[string]any{"type": "text", "text": "package a"}}}, &json.RawMessage{})
			s.answered++
		}
		s.calls = nil
		if s.ended != receipt.Turn {
			s.next()
		}
	}
}

// TestCrossingsAreForetold holds one conversation with a model of every vendor, and with the first ones again. The daemon
// says before each switch what it will do to earlier thinking, and that is what it does and tells, once. No vendor's
// strict stand-in refuses anything.
func TestCrossingsAreForetold(t *testing.T) {
	t.Parallel()
	vendor := sim.New(sim.Config{})
	p := Options{LogTo: io.Discard, Getenv: proof.StandInEnvironment, LogLevel: "warn", LogFormat: "text",
		ConfigPath: proof.WriteConfig(t, proof.StandInConfig(proof.Serve(t, vendor)))}
	d, err := p.open(t.Context(), mem.New())
	if err != nil {
		t.Fatal(err)
	}
	s := &crossing{conversation: conversation{t: t, link: linked(t, d)}}
	var made struct {
		ID string `json:"session_id"`
	}
	s.call("session/new", map[string]any{"model_id": "anthropic/claude-opus-5-5", "tools": []any{map[string]any{
		"name": "read", "description": "Reads a file.", "effect": "read",
		"input_schema": map[string]any{"type": "object", "properties": map[string]any{"path": map[string]any{"type": "string"}}}}}}, &made)
	s.id = made.ID
	s.link.Notify = s.take
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
		s.told = []crossed{}
		content := []any{map[string]any{"type": "text", "text": fmt.Sprintf("Question %d [[sim: thinking=9 text=9 pace=0 tool=read rounds=2]]", i)}}
		if strings.HasPrefix(model, "gemini/") || i == 0 { // later ones are not all shown it
			content = append(content, picture)
		}
		s.turn(map[string]any{"content": content})
		s.turn(map[string]any{"text": fmt.Sprintf("And question %d? [[sim: thinking=9 text=9 pace=0]]", i)})
		if diff := cmp.Diff(want, s.told); diff != "" {
			t.Errorf("to %s (-foretold +told):\n%s", model, diff)
		}
		t.Logf("%-42s %+v %s", model, foretold.Blocks.crossed, strings.Join(foretold.Blocks.Why, "; "))
		if again := slices.Index(models, model) < i; again && foretold.Blocks.Kept < 2 {
			t.Errorf("back to %s: of its own only %d are kept", model, foretold.Blocks.Kept)
		}
	}
	if s.answered != 2*len(models) {
		t.Errorf("the tool was run %d times for %d models", s.answered, len(models))
	}
	for _, r := range vendor.Refusals() {
		if strings.Count(r.Path, "/") > 1 { // else one asks whether a server is there
			t.Errorf("refused: %+v", r)
		}
	}
}
