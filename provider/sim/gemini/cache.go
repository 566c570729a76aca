package gemini

import (
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
)

// cacheable returns the length of the shortest prefix that the vendor caches without being asked, in tokens. [docs: caching]
func (m *model) cacheable() int {
	if strings.Contains(m.version(), "pro") {
		return 4096
	}
	return 1024
}

// prefixes returns the parts of a checked request in the order of the vendor's prompt. The configuration of thinking is no
// part of it.
func (c *call) prefixes(account string, v any) sim.Prefixes {
	body, _ := v.(map[string]any)
	p := sim.NewPrefixes("gemini", account, c.model.id)
	for _, member := range []string{"tools", "toolConfig", "systemInstruction"} {
		if body[member] != nil {
			p.Add(member, body[member], false)
		}
	}
	contents, _ := body["contents"].([]any)
	for _, e := range contents {
		content, _ := e.(map[string]any)
		role, _ := content["role"].(string)
		parts, _ := content["parts"].([]any)
		for _, part := range parts {
			p.Add(role, part, false)
		}
	}
	return p
}
