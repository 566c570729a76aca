package messages

import (
	"strings"

	"github.com/thinkd/thinkd/provider/sim/strict"
)

// block is one block of a message, with its path in the request.
type block struct {
	path string // messages.3.content.0
	kind string
	m    map[string]any
}

func (b block) thinking() bool { return b.kind == "thinking" || b.kind == "redacted_thinking" }

// turn is a run of messages of one role: the API joins consecutive messages of a role. [docs: Messages API]
type turn struct {
	role   string
	blocks []block
}

func (t turn) has(kind string) bool {
	for _, b := range t.blocks {
		if b.kind == kind {
			return true
		}
	}
	return false
}

// prompt returns the text of a turn of the user without tool results. ok is false if the turn has nothing else.
func (t turn) prompt() (text string, ok bool) {
	var parts []string
	for _, b := range t.blocks {
		if b.kind == "tool_result" {
			continue
		}
		ok = true
		if s, isText := b.m["text"].(string); isText {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n"), ok && t.role == "user"
}

// saysNothing reports whether a block is text that consists of spaces. The vendor's models write such blocks, but the API
// refuses them in a request, so they cannot be part of the binding.
func saysNothing(m map[string]any) bool {
	text, ok := m["text"].(string)
	return ok && m["type"] == "text" && strings.TrimSpace(text) == ""
}

// canonicalBlock returns the part of a block that thinking is bound to, as canonical JSON: without cache marks, and with a
// string as the block of text that it stands for.
func canonicalBlock(m map[string]any) []byte {
	m = strict.Without(m, "cache_control")
	if caller, ok := m["caller"].(map[string]any); ok && len(caller) == 1 && caller["type"] == "direct" {
		delete(m, "caller") // the default
	}
	if m["type"] == "tool_result" {
		switch content := m["content"].(type) {
		case string:
			m["content"] = []any{map[string]any{"type": "text", "text": content}}
		case []any:
			bare := make([]any, len(content))
			for i, e := range content {
				if inner, ok := e.(map[string]any); ok {
					e = strict.Without(inner, "cache_control")
				}
				bare[i] = e
			}
			m["content"] = bare
		}
	}
	return strict.AppendCanonical(nil, m)
}
