package proof

// SimulatedModel is one that the simulator has, by wire API.
var SimulatedModel = map[string]string{"messages": "claude-opus-4-6", "responses": "gpt-6.1-sol", "chat": "generic",
	"gemini": "gemini-3.8-flash", "ollama": "gpt-oss:20b"}
