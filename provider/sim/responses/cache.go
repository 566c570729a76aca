package responses

import "github.com/thinkd/thinkd/provider/sim"

// leastCached is the length of the shortest prefix that is cached, in tokens. [docs: prompt-caching]
const leastCached = 1024

// prefixes returns the parts of a checked request in the order of the vendor's prompt. The cache's key has the account, the routing
// key, and everything that changes the prompt, such as the effort at the top. [docs: prompt-caching]
func (c *call) prefixes(v any) sim.Prefixes {
	body, _ := v.(map[string]any)
	routed, _ := body["prompt_cache_key"].(string)
	effort := c.model.effort
	if r, ok := body["reasoning"].(map[string]any); ok {
		if word, ok := r["effort"].(string); ok {
			effort = word
		}
	}
	p := sim.NewPrefixes("responses", c.account, routed, c.model.id, effort)
	for _, member := range []string{"parallel_tool_calls", "text", "tools", "instructions"} {
		if body[member] != nil {
			p.Add(member, body[member], false)
		}
	}
	switch input := body["input"].(type) {
	case string:
		p.Add("user", input, false)
	case []any:
		for _, item := range input {
			p.Add("item", item, false)
		}
	}
	return p
}
