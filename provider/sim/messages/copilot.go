package messages

import (
	"net/http"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
)

// Copilot serves Claude's models by this API as well, under ids and limits of its own. It passes on one beta, wants to
// know the editor and of images, and takes its own token. [pydantic/pydantic-ai #8232, BerriAI/litellm #28053;
// microsoft/vscode-copilot-chat: messagesApi.ts]

// copilotClaude is a model there.
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

// copilotMessages are the paths of that door: the second one lies beside Copilot's other APIs here. At the first one
// the editor's headers tell it from Anthropic's.
func copilotMessages(r *http.Request) bool {
	if r.URL.Path == "/copilot/v1/messages" {
		return true
	}
	return r.URL.Path == "/v1/messages" && r.Header.Get("x-api-key") == "" && (r.Header.Get("Editor-Version") != "" || r.Header.Get("Copilot-Integration-Id") != "")
}

// serveCopilot answers there.
func serveCopilot(ex *sim.Exchange, d *sim.Dialect) {
	ex.Header().Set("x-request-id", ex.ID)
	key, _ := strings.CutPrefix(ex.Request.Header.Get("Authorization"), "Bearer ")
	var err error
	switch {
	case ex.Request.Method != http.MethodPost:
		err = &sim.Error{Status: http.StatusMethodNotAllowed, Kind: "invalid_request_error", Text: "Method Not Allowed"}
	case key == "" || ex.WrongKey(key):
		err = &sim.Error{Status: http.StatusUnauthorized, Kind: "authentication_error", Text: "unauthorized: token expired"}
	case ex.Request.Header.Get("x-api-key") != "":
		err = invalid("bad request: x-api-key is not taken here")
	case ex.Request.Header.Get("Editor-Version") == "":
		err = invalid("bad request: missing Editor-Version header for IDE auth")
	case !slices.Contains([]string{"user", "agent"}, ex.Request.Header.Get("X-Initiator")):
		err = invalid("bad request: X-Initiator is user or agent")
	}
	if err != nil {
		ex.Refuse(d, err)
		return
	}
	serveCreate(ex, d, sim.Account(key))
}

// copilotBetas refuses what the gateway does not pass on.
func (b betas) copilot() error {
	for name := range b {
		if name != betaInterleaved {
			return invalid("unsupported beta header(s): %s", name)
		}
	}
	return nil
}

// copilotModel finds a model there; nil: there is none of that id.
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

// pictured reports whether a message has an image, be it in the result of a tool.
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

// copilotListing is the part of Copilot's GET /models about them.
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
			ends = []string{"/v1/messages"} // newer ones are there alone
		}
		list = append(list, map[string]any{"id": m.id, "object": "model", "name": row.name, "vendor": "Anthropic", "model_picker_enabled": true,
			"billing": map[string]any{"is_premium": true, "multiplier": copilotMultiplier(row.line)}, "supported_endpoints": ends,
			"capabilities": map[string]any{"type": "chat", "supports": supports, "limits": map[string]any{
				"max_context_window_tokens": row.window, "max_prompt_tokens": row.window - row.output, "max_output_tokens": m.output}}})
	}
	return list
}

// copilotMultiplier is how many premium requests a prompt counts as. The numbers are this server's own.
func copilotMultiplier(line string) float64 {
	return map[string]float64{"fable": 10, "opus": 3, "sonnet": 1, "haiku": 0.33}[line]
}
