package messages

import (
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

func (c *call) drop(path, reason string) {
	c.dropped = append(c.dropped, transformation{"thinking_dropped", path, reason})
}

// replay walks through the conversation in order. It checks every block of thinking, drops the blocks that this model cannot
// read, and counts the tokens of the rest. c.context is the digest of everything before the current block that is not
// thinking, and c.chain has the thinking before it. A block fits if its seal names the same two. [docs: preserved-thinking, thinking-tool-workflows]
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
	dropping := false // a block did not fit, and the request says drop_block: all later blocks are dropped too
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

// see adds a block that is not thinking to the context. The number of its message does not count, only the order of blocks:
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

// openBlock reads a block's seal. It refuses a missing, damaged or foreign one.
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

// thinkingEdited reports whether the client got a block's text and sent back a different one. The text of a block that was
// sent without text is ignored.
func (b block) thinkingEdited(l link) bool {
	text, _ := b.m["thinking"].(string)
	return l.Shown && strict.DigestOf(text) != l.Text
}

// latestMessage checks the order of the thinking in one assistant turn: adjacent blocks stay adjacent and in order, and no
// two blocks of a message change places. A run without its last blocks passes, because an interrupted answer looks the
// same.
type latestMessage struct {
	previous *link          // the block directly before; nil after anything that is not thinking
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

// unreadable returns the reason why this call's model does not see a block.
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

// fits reports whether a block is in the place where it was written: what precedes it is unchanged apart from thinking, and
// the thinking before it is a tail of what its writer saw. So all thinking may be missing, or a leading run, or a trailing
// run. A block after a gap does not fit, and neither does a block that was put back.
func (c *call) fits(l link) bool {
	if l.Context == "" {
		return true
	}
	before := c.chain.seen(reader{l.writer.id, l.Account, l.User})
	return l.Context == c.context.String() && before.n <= l.Depth && (before.n == 0 || before.last == l.Before)
}

// finish checks the length of the input and fills c.ask.
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
	// If a new prompt follows the results in the same message, the tool loop has ended.
	inLoop := c.turns[len(c.turns)-1].has("tool_result") && start != len(c.turns)-1
	if c.thinks(inLoop) {
		c.ask.ThinkingWords, c.ask.ThinkingBlocks = c.amount(inLoop)
	}
	c.ask.NotesInThinking = c.model.narrates
	c.ask.Tools = c.tools
	c.ask.Force(c.force)
	return nil
}

// amount returns how much thinking the answer has for the effort or the budget of the request.
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
