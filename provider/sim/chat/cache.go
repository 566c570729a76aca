package chat

import (
	"maps"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
)

// countCache counts a checked request in the prompt cache.
func (c *call) countCache(ex *sim.Exchange) {
	rules := c.host.cache
	if rules.least == 0 {
		return
	}
	count := ex.CountAutomatic
	if slices.ContainsFunc(rules.marked, func(part string) bool { return strings.Contains(c.model.id, part) }) {
		count = ex.CountMarked
	}
	c.cached = count(c.prompt, rules.least).Within(c.tokens)
}

// prefixes returns the parts of a checked request in the order of the host's prompt: tools, the form of the answer, then the
// messages, part by part. A text and a list with only this text are the same prompt, and cache marks are no part of it.
func (c *call) prefixes(v any) sim.Prefixes {
	body, _ := v.(map[string]any)
	words := []string{"chat", c.host.name, c.account, c.model.id}
	if effort, ok := body["reasoning_effort"].(string); ok && c.host.cache.effort {
		words = append(words, effort)
	}
	p := sim.NewPrefixes(words...)
	for _, member := range []string{"tools", "response_format"} {
		if body[member] != nil {
			p.Add(member, body[member], false)
		}
	}
	list, _ := body["messages"].([]any)
	for _, e := range list {
		message, _ := e.(map[string]any)
		addMessage(&p, message)
	}
	return p
}

// addMessage adds the parts of a message. Its last part stands for the rest of the message, and so for its end.
func addMessage(p *sim.Prefixes, message map[string]any) {
	rest, marked := unmarked(message)
	parts, _ := rest["content"].([]any)
	if text, ok := rest["content"].(string); ok {
		parts = []any{map[string]any{"type": "text", "text": text}}
	}
	delete(rest, "content")
	role, _ := rest["role"].(string)
	for i, part := range parts {
		object, _ := part.(map[string]any)
		own, mark := unmarked(object)
		if i < len(parts)-1 {
			p.Add(role, own, mark)
			continue
		}
		rest["content"], marked = own, marked || mark
	}
	p.Add(role, rest, marked)
}

// unmarked returns a copy without its cache mark, and whether it had one.
func unmarked(m map[string]any) (map[string]any, bool) {
	own := maps.Clone(m)
	if own == nil {
		own = map[string]any{}
	}
	_, marked := own["cache_control"]
	delete(own, "cache_control")
	return own, marked
}
