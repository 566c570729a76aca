package messages

import (
	"maps"
	"slices"
	"strconv"

	"github.com/thinkd/thinkd/provider/sim"
)

// prefixes returns the prefixes of a checked request's prompt, part by part: tools, system prompt, the form of thinking with
// the effort of the request, then the messages. The display of thinking and the cache marks are not part of the prompt. A
// missing effort counts as the default. Thinking that the vendor removes from a prompt is left out. [docs: prompt-caching, effort]
func (c *call) prefixes(v any) sim.Prefixes {
	body, _ := v.(map[string]any)
	p := sim.NewPrefixes("messages", c.account, c.model.id)
	tools, _ := body["tools"].([]any)
	addBlocks(&p, "tool", tools)
	addContent(&p, "system", body["system"])
	effort := c.model.effort
	if top, ok := body["output_config"].(map[string]any); ok {
		if word, ok := top["effort"].(string); ok {
			effort = word
		}
	}
	p.Add("thinking", map[string]any{"type": c.thinking.kind, "budget": strconv.Itoa(c.thinking.budget), "effort": effort}, false)
	if choice, ok := body["tool_choice"]; ok { // tools and system stay in the cache, messages do not
		p.Add("tool_choice", choice, false)
	}
	list, _ := body["messages"].([]any)
	forgets := 0 // the model sees the messages before this one without their thinking
	if !c.model.keepsAll {
		forgets = lastPrompt(list)
	}
	for i, e := range list {
		m, _ := e.(map[string]any)
		if change, ok := m["output_config"]; ok {
			p.Add("effort", change, false)
		}
		role, _ := m["role"].(string)
		content := m["content"]
		if blocks, ok := content.([]any); ok && i < forgets {
			content = slices.DeleteFunc(slices.Clone(blocks), func(b any) bool {
				kind := kindOf(b)
				return kind == "thinking" || kind == "redacted_thinking"
			})
		}
		addContent(&p, role, content)
	}
	return p
}

// lastPrompt returns the index of the last message with a prompt of the user.
func lastPrompt(list []any) int {
	for i, e := range slices.Backward(list) {
		m, _ := e.(map[string]any)
		blocks, many := m["content"].([]any)
		if m["role"] == "user" && (!many || slices.ContainsFunc(blocks, func(b any) bool { return kindOf(b) != "tool_result" })) {
			return i
		}
	}
	return 0
}

func kindOf(block any) string {
	m, _ := block.(map[string]any)
	kind, _ := m["type"].(string)
	return kind
}

func addContent(p *sim.Prefixes, means string, v any) {
	switch v := v.(type) {
	case string:
		p.Add(means, map[string]any{"type": "text", "text": v}, false)
	case []any:
		addBlocks(p, means, v)
	}
}

func addBlocks(p *sim.Prefixes, means string, list []any) {
	for _, e := range list {
		m, _ := e.(map[string]any)
		marked := m["cache_control"] != nil
		if marked {
			m = maps.Clone(m)
			delete(m, "cache_control")
		}
		p.Add(means, m, marked)
	}
}

// cacheable returns the length of the shortest prefix that is cached, in tokens. [docs: prompt-caching]
func (m *model) cacheable() int {
	switch m.id {
	case "claude-opus-4-8", "claude-sonnet-5", "claude-sonnet-4-6", "claude-sonnet-4-5-20250929":
		return 1024
	case "claude-opus-4-7":
		return 2048
	case "claude-opus-4-6", "claude-opus-4-5-20251101", "claude-haiku-4-5-20251001":
		return 4096
	}
	return 512
}
