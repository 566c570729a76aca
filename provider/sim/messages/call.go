package messages

import (
	"slices"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// call is a request to create a message or to count its tokens: read, checked, and reduced to what the answer
// needs.
type call struct {
	betas   betas
	count   bool // tokens only
	account string
	user    string // the end user, if the request names one
	copilot bool   // received on Copilot's path
	bedrock bool   // received by one of Amazon's hosts

	model     *model
	name      string // of the model, as the answer gives it
	stream    bool
	maxTokens int
	thinking  thinking
	effort    string // in effect for this call; empty: the model has none
	stops     []string
	tools     map[string]map[string]any // name to input schema
	marked    []block                   // tools with a cache mark
	force     string                    // a tool that must be called; "*": any
	system    []block
	turns     []turn

	tokens  int // input
	prompt  sim.Prefixes
	cached  sim.CacheCount
	context strict.Digest
	chain   chain // the thinking that this call sees
	dropped []transformation
	edits   edits
	ask     sim.Ask
}

// thinking is the `thinking` parameter.
type thinking struct {
	kind     string // empty: left out
	budget   int
	display  string
	mismatch string // of block_binding: error, drop_block; empty: left out
}

// thinks reports whether the model thinks before it continues, inside of a tool loop or outside of one. In manual mode it
// thinks at the start of a turn, and between tools only with the interleaving beta. between_tools is the reverse. [docs: extended-thinking, whats-new-sonnet-5-5]
func (c *call) thinks(inLoop bool) bool {
	switch c.thinking.kind {
	case "disabled":
		return false
	case "between_tools":
		return inLoop
	case "enabled":
		return !inLoop || c.betas[betaInterleaved]
	case "adaptive":
		return true
	}
	return !c.model.silent
}

// checkEffort refuses an effort that the model does not take. [docs: effort]
func (c *call) checkEffort(path, effort string) error {
	switch {
	case c.model.effort == "":
		return invalid("%s: This model does not support the effort parameter.", path)
	case !slices.Contains(c.model.efforts, effort):
		return invalid("%s.effort: '%s' is not supported for this model; Input should be %s", path, effort, strict.OneOf(c.model.efforts))
	case c.model.calmOff && c.model.off(c.thinking.kind) && (effort == "xhigh" || effort == "max"):
		return invalid("output_config.effort '%s' is not supported when thinking is disabled on this model", effort)
	}
	return nil
}
