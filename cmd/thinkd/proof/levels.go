package proof

type Reasoning struct {
	Source    string `json:"source"`
	Requested string `json:"requested_effort"`
	Effective string `json:"effective_effort"`
	Fallback  string `json:"fallback"`
	Reason    string `json:"reason"`
	Wire      any    `json:"wire"`
}

type LevelAnswer struct {
	Level     string    `json:"thinking_level"`
	Preferred string    `json:"preferred_thinking_level"`
	Reasoning Reasoning `json:"reasoning"`
}
