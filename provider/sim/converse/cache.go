package converse

import (
	"github.com/thinkd/thinkd/provider/sim"
)

// count counts a checked request in the prompt cache. [docs: prompt-caching]
func (c *call) count(ex *sim.Exchange) {
	if !c.model.caches {
		return
	}
	count := ex.CountAtMarks
	if c.model.control == claude { // "simplified cache management" is for Claude alone
		count = ex.CountMarked
	}
	c.cached = count(c.prompt, c.model.cacheable()).Within(c.tokens)
}

// cacheable returns the length of the shortest prefix that is cached, in tokens. [docs: prompt-caching; model cards of Nova]
func (m *model) cacheable() int {
	switch m.id {
	case "anthropic.claude-opus-4-6-v1", "anthropic.claude-haiku-4-5-20251001-v1:0":
		return 4096
	case "anthropic.claude-opus-4-8", "anthropic.claude-3-7-sonnet-20250219-v1:0":
		return 1024
	}
	return 1000
}

// prefixes returns the prefixes of a checked request's prompt, block by block: tools, system prompt, the members for the model's own
// thinking, then the messages. A cachePoint marks the block before it, and is no part of the prompt. Claude's thinking stands before
// its messages, so a change of it leaves tools and system prompt in the cache. [docs: prompt-caching of Anthropic] The same is
// assumed of Nova.
func (c *call) prefixes(v any) sim.Prefixes {
	body, _ := v.(map[string]any)
	p := sim.NewPrefixes("converse", c.account, c.model.id)
	config, _ := body["toolConfig"].(map[string]any)
	addBlocks(&p, "tool", config["tools"])
	addBlocks(&p, "system", body["system"])
	if fields := body["additionalModelRequestFields"]; fields != nil {
		p.Add("fields", fields, false)
	}
	list, _ := body["messages"].([]any)
	for _, e := range list {
		m, _ := e.(map[string]any)
		role, _ := m["role"].(string)
		addBlocks(&p, role, m["content"])
	}
	return p
}

func addBlocks(p *sim.Prefixes, means string, v any) {
	list, _ := v.([]any)
	for i, e := range list {
		if marks(e) {
			continue
		}
		p.Add(means, e, i+1 < len(list) && marks(list[i+1]))
	}
}

func marks(block any) bool {
	b, _ := block.(map[string]any)
	return b["cachePoint"] != nil
}
