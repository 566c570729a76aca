package gemini

import (
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// call is a checked request for an answer. It has only what the answer needs.
type call struct {
	model  *model
	sealer sim.Sealer
	cloud  bool // on Google Cloud

	maxTokens int
	include   bool   // thoughts are shown
	level     string // the level in effect; empty: a budget applies
	budget    int    // -1: the model chooses
	stops     []string
	tools     map[string]map[string]any // name to schema
	exposes   bool                      // parts of the vendor's own tools are in answers
	force     string                    // a tool that must be called; "*": any
	contents  []content
	resume    int // deltas that an earlier request has returned

	tokens  int // input
	prompt  sim.Prefixes
	cached  int // tokens that were read from the cache
	context strict.Digest
	ask     sim.Ask
}

// content is one entry of contents.
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

// plain reports whether a content is a prompt of the user, which begins a turn. [docs: thought-signatures]
func (c *content) plain() bool { return c.role == "user" && len(c.all("functionResponse")) == 0 }
