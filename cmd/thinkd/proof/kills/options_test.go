package kills

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// TestOptionsOverKillsAndSwitches holds a conversation of 20 turns with other options in each, over kills in the middle of answers, with
// models of all five wire APIs. The built-in simulator refuses whatever the vendors would: each turn ends with the answer that its
// options ask for, and no repair is needed. The options of the session survive the kills.
func TestOptionsOverKillsAndSwitches(t *testing.T) {
	t.Parallel()
	data, env := t.TempDir(), []string(nil)
	const schema = `"output_schema":{"name":"verdict","schema":{"type":"object","properties":{"later":{"type":"string","enum":["first","second"]},"days":{"type":"integer","minimum":0}},"required":["later","days"]}}`
	turns := []struct{ model, level, session, turn string }{
		{"sim/claude", "high", `{"temperature":0.2,"stop":["END"]}`, ``},
		{"sim/claude", "off", ``, `{"temperature":0.9,"top_p":0.5}`},
		{"sim/gpt", "high", ``, `{` + schema + `}`},
		{"sim/gpt", "off", `{"verbosity":"low","service_tier":"flex"}`, `{"temperature":0.1}`},
		{"sim/gemini", "low", ``, `{"output":"json","seed":7}`},
		{"sim/ollama", "on", ``, `{` + schema + `,"top_k":20}`},
		{"sim/deepseek", "off", `{` + schema + `}`, `{"max_output_tokens":4000}`},
		{"sim/mistral", "high", ``, `{"temperature":2,"stop":["a a","b b","c c","d d","e e"]}`},
		{"sim/claude-budget", "medium", ``, `{"max_output_tokens":2000,"top_k":5}`},
		{"sim/claude-always", "max", ``, `{"output":"text","tool_choice":"required"}`},
		{"sim/gemini-budget", "off", `{"seed":-3,"cache":"1h"}`, `{` + schema + `}`},
		{"sim/grok", "low", ``, `{"temperature":0.4,"verbosity":"high"}`},
		{"sim/gpt-always", "high", ``, `{"max_output_tokens":4000000,"service_tier":"priority"}`},
		{"sim/glm", "on", ``, `{"temperature":1.8,"stop":["x x","y y"]}`},
		{"sim/claude", "max", `{"output":"text"}`, `{` + schema + `}`},
		{"sim/ollama-levels", "low", ``, `{"seed":1,"temperature":0}`},
		{"sim/claude-between-tools", "off", `{}`, `{"parallel_tools":false}`},
		{"sim/gpt", "xhigh", ``, `{"output":"json","max_output_tokens":5000}`},
		{"sim/gemini", "high", ``, `{` + schema + `}`},
		{"sim/claude", "low", ``, `{"service_tier":"standard","cache":"off"}`},
	}
	p := proof.Start(t, data, env)
	id := p.NewSession("model_id", "sim/claude")
	for i, turn := range turns {
		p.Must("model/set", map[string]any{"session_id": id, "model_id": turn.model, "thinking_level": turn.level}, nil)
		if turn.session != "" {
			p.Must("session/update", map[string]any{"session_id": id, "options": json.RawMessage(turn.session)}, nil)
		}
		if i%6 == 3 { // in the middle of an answer
			cut := p.Say(id, fmt.Sprintf("Interrupted question %d [[sim: thinking=0 text=3000 pace=40]]", i))
			p.Wait("an answer", func(u proof.Update) bool {
				return u.Turn == cut && (u.Method == "message_delta" || u.Method == "turn_end")
			})
			was := optionsOf(p, id)
			p.Kill()
			p = proof.Start(t, data, env)
			p.Must("session/attach", map[string]any{"session_id": id}, nil)
			if now := optionsOf(p, id); now != was {
				t.Errorf("after the kill the session has the options %s, want %s", now, was)
			}
		}
		params := map[string]any{"session_id": id, "text": fmt.Sprintf("Question %d: which date is later, as JSON? [[sim: pace=0]]", i)}
		if turn.turn != "" {
			params["options"] = json.RawMessage(turn.turn)
		}
		var begun struct {
			Turn string `json:"turn_id"`
		}
		p.Must("session/prompt", params, &begun)
		end := p.Wait("the end of the turn", proof.Ended(begun.Turn))
		if end.Stop != "end_turn" && end.Stop != "max_tokens" {
			t.Fatalf("turn %d of %s ends with %s: %v", i, turn.model, end.Stop, end.Error)
		}
		for _, u := range p.Seen() {
			if u.Turn == begun.Turn && (u.Method == "retry" || u.Method == "notice" && (u.Kind == "history_repaired" || u.Kind == "left_out")) {
				t.Errorf("turn %d of %s: %s %s", i, turn.model, u.Method, u.Kind)
			}
		}
	}
	p.End()
}

// optionsOf is what a session has, as JSON.
func optionsOf(p *proof.Process, id string) string {
	var state struct {
		Session struct {
			Options json.RawMessage `json:"options"`
		} `json:"session"`
	}
	p.Must("session/state", map[string]any{"session_id": id}, &state)
	return string(state.Session.Options)
}
