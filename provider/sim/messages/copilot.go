package messages

import (
	"net/http"
	"slices"
)

// Copilot serves Claude's models over this API too, with its own ids, limits and tokens. It passes one beta on, and requires
// headers that name the editor and announce images. [pydantic/pydantic-ai #8232, BerriAI/litellm #28053;
// microsoft/vscode-copilot-chat: messagesApi.ts]

// copilotClaude is a model of Copilot.
type copilotClaude struct {
	id, imitates string
	output       int // tokens
}

// copilotClaudes is the table, as GET /models lists it. Never written.
var copilotClaudes = []copilotClaude{
	{"claude-fable-5.1", "claude-fable-5-1", 128_000}, {"claude-fable-5", "claude-fable-5", 128_000},
	{"claude-opus-5.5", "claude-opus-5-5", 128_000}, {"claude-opus-5", "claude-opus-5", 64_000},
	{"claude-opus-4.8", "claude-opus-4-8", 64_000}, {"claude-sonnet-5.5", "claude-sonnet-5-5", 128_000},
	{"claude-sonnet-5", "claude-sonnet-5", 128_000}, {"claude-sonnet-4.6", "claude-sonnet-4-6", 32_000},
	{"claude-haiku-5.5", "claude-haiku-5-5", 128_000}, {"claude-haiku-4.5", "claude-haiku-4-5", 64_000},
	{"claude-opus-4.7", "claude-opus-4-7", 64_000}, {"claude-opus-4.6", "claude-opus-4-6", 64_000},
	{"claude-opus-4.5", "claude-opus-4-5", 32_000}, {"claude-sonnet-4.5", "claude-sonnet-4-5", 64_000},
}

// copilotMessages reports whether a request is for Copilot: by its own path, or, on Anthropic's path, by the headers of an
// editor.
func copilotMessages(r *http.Request) bool {
	if r.URL.Path == "/copilot/v1/messages" {
		return true
	}
	return r.URL.Path == "/v1/messages" && r.Header.Get("x-api-key") == "" && (r.Header.Get("Editor-Version") != "" || r.Header.Get("Copilot-Integration-Id") != "")
}

// copilot refuses the betas that Copilot does not pass on.
func (b betas) copilot() error {
	for name := range b {
		if name != betaInterleaved {
			return invalid("unsupported beta header(s): %s", name)
		}
	}
	return nil
}

// copilotModel returns the model with Copilot's id; nil: there is none.
func copilotModel(id string) *model {
	i := slices.IndexFunc(copilotClaudes, func(m copilotClaude) bool { return m.id == id })
	if i < 0 {
		return nil
	}
	row, _ := modelBy(copilotClaudes[i].imitates)
	own := *row
	own.output, own.turnwise = copilotClaudes[i].output, false
	return &own
}

// pictured reports whether a message or the result of a tool contains an image.
func (c *call) pictured() bool {
	for _, t := range c.turns {
		for _, b := range t.blocks {
			if b.kind == "image" || b.kind == "tool_result" && hasImage(b.m["content"]) {
				return true
			}
		}
	}
	return false
}

func hasImage(content any) bool {
	list, _ := content.([]any)
	return slices.ContainsFunc(list, func(v any) bool {
		b, _ := v.(map[string]any)
		return b["type"] == "image"
	})
}

// copilotListing returns these models as entries of Copilot's GET /models.
func copilotListing(host string) []map[string]any {
	if host != "copilot" {
		return nil
	}
	list := []map[string]any{}
	for _, m := range copilotClaudes {
		row := copilotModel(m.id)
		supports := map[string]any{"streaming": true, "tool_calls": true, "vision": true}
		switch {
		case len(row.efforts) > 0 && row.takes("adaptive"):
			supports["adaptive_thinking"], supports["reasoning_effort"] = true, row.efforts
		default:
			supports["min_thinking_budget"], supports["max_thinking_budget"] = 1024, 32_000
		}
		ends := []string{"/v1/messages", "/chat/completions"}
		if row.bound {
			ends = []string{"/v1/messages"} // newer models are only there
		}
		list = append(list, map[string]any{"id": m.id, "object": "model", "name": row.name, "vendor": "Anthropic", "model_picker_enabled": true,
			"billing": map[string]any{"is_premium": true, "multiplier": copilotMultiplier(row.line)}, "supported_endpoints": ends,
			"capabilities": map[string]any{"type": "chat", "supports": supports, "limits": map[string]any{
				"max_context_window_tokens": row.window, "max_prompt_tokens": row.window - row.output, "max_output_tokens": m.output}}})
	}
	return list
}

// copilotMultiplier is the number of premium requests that a prompt counts as. The simulator invented the numbers.
func copilotMultiplier(line string) float64 {
	return map[string]float64{"fable": 10, "opus": 3, "sonnet": 1, "haiku": 0.33}[line]
}
