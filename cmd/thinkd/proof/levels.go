package proof

// Reasoning is the decision about a level, as methods return it.
type Reasoning struct {
	Source    string `json:"source"`
	Requested string `json:"requested_effort"`
	Effective string `json:"effective_effort"`
	Fallback  string `json:"fallback"`
	Reason    string `json:"reason"`
	Wire      any    `json:"wire"`
}

// LevelAnswer is what methods return that set or report a level.
type LevelAnswer struct {
	Level     string    `json:"thinking_level"`
	Preferred string    `json:"preferred_thinking_level"`
	Reasoning Reasoning `json:"reasoning"`
}

// SimulatedModel is a model of the simulator for each wire API.
var SimulatedModel = map[string]string{"messages": "claude-opus-4-6", "responses": "gpt-6.1-sol", "chat": "generic",
	"gemini": "gemini-3.8-flash", "ollama": "gpt-oss:20b", "converse": "us.amazon.nova-2-lite-v1:0", "cohere": "command-a-plus-05-2026"}
