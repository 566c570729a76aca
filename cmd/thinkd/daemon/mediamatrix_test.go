package daemon

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/session/mem"
)

// TestMediaMatrix holds one conversation with models of each wire API and shows each of them all that it takes: an image, one that is too
// large, a PDF, a sound and a text file. Each model gets what the others were shown, or sentences in its place. No vendor's strict
// stand-in refuses anything, and what a model does not take is refused before a call, with a model that takes it.
func TestMediaMatrix(t *testing.T) {
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
	s.call("session/new", map[string]any{"model_id": "anthropic/claude-opus-5-5"}, &made)
	s.id = made.ID
	s.link.Notify = s.take
	file := func(kind, name string, data []byte) map[string]any {
		return map[string]any{"type": "media", "mime_type": kind, "name": name, "data": base64.StdEncoding.EncodeToString(data)}
	}
	drawing := func(w, h int) []byte {
		var out bytes.Buffer
		if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	shows := map[string][]map[string]any{
		"image": {file("image/jpeg", "small.png", drawing(40, 20)), file("image/png", "large.png", drawing(9000, 3))},
		"pdf":   {file("application/pdf", "plan.pdf", []byte("%PDF-1.4\n%%EOF\n"))},
		"audio": {file("audio/wav", "call.wav", []byte("RIFF\x28\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\x04\x00\x00\x00\x80\x80\x80\x80"))},
		"text":  {file("text/markdown", "notes.md", []byte("# Notes\n```go\npackage a\n```\n"))},
	}
	var list struct {
		Models []struct {
			ID, Provider string
			Input        []string
		}
	}
	s.call("models/list", map[string]any{}, &list)
	takes := make(map[string][]string)
	for _, m := range list.Models {
		takes[m.Provider+"/"+m.ID] = m.Input
	}
	models := strings.Fields(`anthropic/claude-opus-5-5 gemini/gemini-2.5-pro openai/gpt-5.4 xai/grok-4.6 deepseek/deepseek-v4-pro mistral/mistral-medium-3-5
		openrouter/anthropic/claude-sonnet-5 groq/qwen/qwen3.6-27b moonshot/kimi-k3 dashscope/qwen3.7-max ollama/ollama anthropic/claude-opus-5-5 gemini/gemini-2.5-pro openai/gpt-5.4`)
	left := 0
	for i, model := range models {
		s.call("model/set", map[string]any{"model_id": model}, &json.RawMessage{})
		var foretold struct {
			Blocks *struct {
				Media int `json:"media_left_out"`
			}
		}
		s.call("thinking/explain", map[string]any{"model_id": model}, &foretold)
		if foretold.Blocks != nil {
			left += foretold.Blocks.Media
		}
		for _, kind := range []string{"image", "pdf", "audio"} {
			content := []any{}
			for _, f := range append(slices.Clone(shows[kind]), shows["text"]...) {
				content = append(content, f)
			}
			content = append(content, map[string]any{"type": "text", "text": fmt.Sprintf("Question %d [[sim: thinking=9 text=9 pace=0]]", i)})
			if model != "ollama/ollama" && !slices.Contains(takes[model], kind) {
				err := s.link.Call("session/prompt", map[string]any{"session_id": s.id, "content": content}, &json.RawMessage{})
				if err == nil || !strings.Contains(err.Error(), "does not take "+kind) || !strings.Contains(err.Error(), model) || !strings.Contains(err.Error(), "takes it") {
					t.Errorf("%s, %s: %v", model, kind, err)
				}
				continue
			}
			if model == "ollama/ollama" && kind != "image" {
				continue
			}
			s.turn(map[string]any{"content": content})
		}
		s.turn(map[string]any{"text": fmt.Sprintf("And %d? [[sim: thinking=9 text=9 pace=0]]", i)})
	}
	if left == 0 {
		t.Error("nothing was foretold of media that are left out")
	}
	for _, r := range vendor.Refusals() {
		if strings.Count(r.Path, "/") > 1 { // otherwise somebody asks whether a server is there
			t.Errorf("refused: %+v", r)
		}
	}
}
