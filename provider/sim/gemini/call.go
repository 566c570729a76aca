package gemini

import (
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// call is a request to generate: read, checked, and reduced to what the answer needs.
type call struct {
	model  *model
	sealer sim.Sealer

	maxTokens int
	include   bool   // thoughts are shown
	level     string // in force; empty: a budget is
	budget    int    // -1: the model chooses
	stops     []string
	tools     map[string]map[string]any // name to schema
	force     string                    // a tool that must be called; "*": any
	contents  []content
	resume    int // deltas that an earlier request has given

	tokens  int // input
	context strict.Digest
	ask     sim.Ask
}

// content is what one side says.
type content struct {
	path  string
	role  string
	parts []map[string]any
}

func (c *content) all(member string) []map[string]any {
	var found []map[string]any
	for _, p := range c.parts {
		if m, ok := p[member].(map[string]any); ok {
			found = append(found, m)
		}
	}
	return found
}

// plain reports whether a content is a user's own word, which begins a turn. [docs: thought-signatures]
func (c *content) plain() bool { return c.role == "user" && len(c.all("functionResponse")) == 0 }
