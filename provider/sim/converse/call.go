package converse

import (
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// call is a checked request for an answer. It has only what the answer needs.
type call struct {
	account   string
	model     *model
	sealer    sim.Sealer
	maxTokens int
	thinks    bool
	stops     []string
	tools     map[string]map[string]any
	force     string
	messages  []message
	marks     int // cache points
	tokens    int
	prompt    sim.Prefixes
	cached    sim.CacheCount
	ask       sim.Ask
}

// message is one entry of messages.
type message struct {
	path, role string
	blocks     []map[string]any
}

func (m message) all(member string) (found []map[string]any) {
	for _, b := range m.blocks {
		if inner, ok := b[member].(map[string]any); ok {
			found = append(found, inner)
		}
	}
	return found
}

func digest(text string) string { return strict.DigestOf(text) }
