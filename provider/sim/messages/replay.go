package messages

import (
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// chain is the thinking blocks of a conversation, in order, each as its seal tells it. A writer sees only those that
// its model reads, and each writer's view is kept up to date with every block that is added.
type chain struct {
	blocks []link
	views  map[reader]*view
}

type link struct {
	id     string
	writer *model
	sim.Seal
}

// reader is whose view a view is.
type reader struct{ model, account, user string }

// view is how many blocks a reader sees, and the last of them.
type view struct {
	n    int
	last string
}

// visible reports whether a reader's model gets to see a block. [docs: preserved-thinking]
func (r reader) visible(l link) bool {
	m, _ := modelBy(r.model)
	return m != nil && m.reads(l.writer) && r.owns(l)
}

// owns is the rule of models whose blocks are bound to an account and an end user.
func (r reader) owns(l link) bool {
	return !l.writer.personal || l.Account == r.account && l.User == r.user
}

func (c *chain) add(l link) {
	c.blocks = append(c.blocks, l)
	for r, v := range c.views {
		if r.visible(l) {
			v.n++
			v.last = l.id
		}
	}
}

// seen is a reader's view of the blocks so far.
func (c *chain) seen(r reader) view {
	if v := c.views[r]; v != nil {
		return *v
	}
	v := &view{}
	for _, l := range c.blocks {
		if r.visible(l) {
			v.n++
			v.last = l.id
		}
	}
	if c.views == nil {
		c.views = map[reader]*view{}
	}
	c.views[r] = v
	return *v
}

// transformation is one entry of input_transformations.
type transformation struct {
	Type   string `json:"type"`
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

func (c *call) drop(path, reason string) {
	c.dropped = append(c.dropped, transformation{"thinking_dropped", path, reason})
}

// replay walks the conversation as the model will see it: it judges every block of thinking, takes out what this model
// may not read, and sums up what is left. [docs: preserved-thinking, thinking-tool-workflows]
func (c *call) replay(s sim.Sealer) error {
	for _, b := range c.system {
		c.see("system", b)
	}
	base := c.tokens
	latest := -1
	for i, t := range c.turns {
		if t.role == "assistant" {
			latest = i
		}
	}
	start := c.turnStart()
	dropping := false // a block did not fit, and drop_block is in force: later ones go too
	for i, t := range c.turns {
		var last latestMessage
		for _, b := range t.blocks {
			if b.kind == "compaction" {
				if err := c.resume(s, t.role, b, base); err != nil {
					return err
				}
				last.previous = nil
				continue
			}
			c.edits.news = true
			if !b.thinking() {
				c.see(t.role, b)
				last.previous = nil
				continue
			}
			l, err := openBlock(s, b)
			if err != nil {
				return err
			}
			modified := b.thinkingEdited(l) || !last.follows(l)
			if !c.reader().visible(l) {
				c.drop(b.path, c.unreadable(l))
				c.chain.add(l)
				continue
			}
			if modified && i == latest {
				return invalid("%s: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.", b.path)
			}
			if b.thinkingEdited(l) {
				return badSignature(b)
			}
			if !dropping && !c.fits(l) {
				if c.thinking.mismatch != "drop_block" {
					return invalid("%s: Invalid `signature` in `%s` block: the block is bound to a different conversation. What came before it has changed. Set `thinking.block_binding.prefix_mismatch_behavior` to `drop_block` to leave such blocks out.", b.path, b.kind)
				}
				dropping = true
			}
			if dropping {
				c.drop(b.path, "prefix_binding_mismatch")
				continue
			}
			c.chain.add(l)
			if c.model.keepsAll || i > start {
				c.tokens += l.Tokens
				c.edits.thought(i, l.Tokens)
			}
		}
	}
	return nil
}

// see adds what is not thinking to the context. The block's own place among messages does not count, only its order:
// the API joins messages of a role, and a message may lose its last block of thinking.
func (c *call) see(role string, b block) {
	if !saysNothing(b.m) {
		c.context = c.context.With([]byte(role), canonicalBlock(b.m))
	}
	if text, ok := b.m["text"].(string); ok && b.kind == "text" {
		c.tokens += sim.Tokens(text)
	} else {
		c.tokens += sim.Tokens(string(strict.AppendCanonical(nil, b.m)))
	}
}

// saysNothing reports whether a block is text of spaces alone. The vendor's models write such blocks and it takes none
// back, so they cannot count for the binding.
func saysNothing(m map[string]any) bool {
	text, ok := m["text"].(string)
	return ok && m["type"] == "text" && strings.TrimSpace(text) == ""
}

// canonicalBlock is what of a block counts for the binding: cache marks do not, wherever they stand, and a string
// counts as the block of text that it stands for.
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

// openBlock reads a block's seal; a missing, damaged or foreign one is refused.
func openBlock(s sim.Sealer, b block) (link, error) {
	name := "signature"
	if b.kind == "redacted_thinking" {
		name = "data"
	}
	signature, _ := b.m[name].(string)
	v, id, ok := s.Open(signature)
	writer, _ := modelBy(v.Model)
	if !ok || writer == nil || v.Kind != b.kind {
		return link{}, badSignature(b)
	}
	return link{id, writer, v}, nil
}

func badSignature(b block) error {
	if b.kind == "redacted_thinking" {
		return invalid("%s: Invalid `data` in `redacted_thinking` block", b.path)
	}
	return invalid("%s: Invalid `signature` in `thinking` block", b.path)
}

// thinkingEdited reports whether a block's text was shown and came back different. The text of a block that was not
// shown is not looked at.
func (b block) thinkingEdited(l link) bool {
	text, _ := b.m["thinking"].(string)
	return l.Shown && strict.DigestOf(text) != l.Text
}

// latestMessage follows the thinking of one assistant turn: blocks without anything between them stay together and in
// order, and no block changes place with another of its message. That the end of a run is missing cannot be seen: a
// broken answer has none.
type latestMessage struct {
	previous *link          // the block directly before, nil after anything else
	ordinals map[string]int // the last one seen of each message
}

func (m *latestMessage) follows(l link) bool {
	ok := true
	if l.Run > 0 {
		ok = m.previous != nil && m.previous.Message == l.Message && m.previous.Run == l.Run-1
	}
	if last, seen := m.ordinals[l.Message]; seen && l.Ordinal <= last {
		ok = false
	}
	if m.ordinals == nil {
		m.ordinals = map[string]int{}
	}
	m.ordinals[l.Message] = l.Ordinal
	m.previous = &l
	return ok
}

func (c *call) reader() reader { return reader{c.model.id, c.account, c.user} }

// unreadable says why this call's model does not get to see a block.
func (c *call) unreadable(l link) string {
	switch {
	case !c.model.reads(l.writer):
		return "model_binding_mismatch"
	case l.Account != c.account:
		return "organization_binding_mismatch"
	default:
		return "end_user_binding_mismatch"
	}
}

// fits reports whether a block stands where it was written: everything before it that is not thinking is as it was,
// and the thinking before it, as its writer sees it, is a tail of what the writer saw. So all thinking may go, or a
// leading run, or a trailing run; a hole or a block put back does not fit.
func (c *call) fits(l link) bool {
	if l.Context == "" {
		return true
	}
	before := c.chain.seen(reader{l.writer.id, l.Account, l.User})
	return l.Context == c.context.String() && before.n <= l.Depth && (before.n == 0 || before.last == l.Before)
}

// finish draws the sum: how long the input is, and what there is to answer.
func (c *call) finish() error {
	c.manage()
	if !c.count && c.tokens > c.model.window {
		return invalid("prompt is too long: %d tokens > %d maximum", c.tokens, c.model.window)
	}
	c.ask.Seed = c.context.With([]byte(c.model.id), []byte(c.thinking.kind))
	start := c.turnStart()
	for _, t := range c.turns[start+1:] {
		if t.has("tool_use") {
			c.ask.Rounds++
		}
		for _, b := range t.blocks {
			if b.kind == "tool_result" {
				c.ask.Results = append(c.ask.Results, resultText(b.m["content"]))
			}
		}
	}
	// The results may stand in the user's own message, in front of a new prompt; then the loop is over.
	inLoop := c.turns[len(c.turns)-1].has("tool_result") && start != len(c.turns)-1
	if c.thinks(inLoop) {
		c.ask.ThinkingWords, c.ask.ThinkingBlocks = c.amount(inLoop)
	}
	c.ask.NotesInThinking = c.model.narrates
	c.ask.Force(c.force, c.tools)
	return nil
}

// amount is how much thinking an effort or a budget is worth here.
func (c *call) amount(inLoop bool) (words, blocks int) {
	if c.thinking.kind == "enabled" {
		words = min(c.thinking.budget/6, 700) // far below the budget: a word costs about three tokens
	} else {
		words = map[string]int{"low": 40, "medium": 120, "high": 240, "xhigh": 420, "max": 700}[c.effort]
	}
	if inLoop {
		return words / 3, 1
	}
	if words >= 400 {
		return words, 2
	}
	return words, 1
}

func resultText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	list, _ := v.([]any)
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			if s, ok := m["text"].(string); ok {
				return s
			}
		}
	}
	return "nothing to read"
}
