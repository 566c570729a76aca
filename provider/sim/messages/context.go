package messages

import (
	"fmt"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// readContext checks context_management: each edit needs its beta. [docs: context-editing, compaction; SDK:
// BetaContextManagementConfig]
func (c *call) readContext(v any) error {
	e := &c.edits
	if v == nil {
		return nil
	}
	if !c.betas[betaEdits] && !c.betas[betaCompact] {
		return invalid("context_management: Extra inputs are not permitted")
	}
	e.asked = true
	f := strict.NewObject("context_management", v)
	for i, entry := range f.List("edits") {
		edit := strict.NewObject(fmt.Sprintf("context_management.edits.%d", i), entry)
		kind := edit.Text("type", true)
		if edit.Err != nil {
			return edit.Err
		}
		switch {
		case kind == "clear_tool_uses_20250919" && c.betas[betaEdits]:
			return invalid("%s: the simulator does not imitate this", edit.Path)
		case kind == "clear_thinking_20251015" && c.betas[betaEdits]:
			if i > 0 {
				return invalid("%s: `clear_thinking_20251015` must be the first entry of `edits`", edit.Path)
			}
			e.clears = true
			e.readKeep(edit)
		case kind == "compact_20260112" && c.betas[betaCompact]:
			e.pauses = edit.Flag("pause_after_compaction")
			e.readTrigger(edit)
		default:
			return invalid("%s: Input tag '%s' found using 'type' does not match any of the expected tags", edit.Path, kind)
		}
		if err := edit.Done(); err != nil {
			return err
		}
	}
	return f.Done()
}

// resume checks a block of compaction that a client sends back. The model sees it in place of everything before it. Thinking
// stays bound to everything before it, because edits by the vendor's server do not count. [docs: compaction, preserved-thinking]
func (c *call) resume(s sim.Sealer, role string, b block, base int) error {
	content, _ := b.m["content"].(string)
	sealed, _ := b.m["encrypted_content"].(string)
	signature, signed := b.m["signature"].(string)
	switch {
	case signed && !c.betas[betaCompactLater]:
		return invalid("%s.signature: Extra inputs are not permitted", b.path)
	case !signed && !c.betas[betaCompact]:
		return invalid("%s: Input tag 'compaction' found using 'type' does not match any of the expected tags", b.path)
	}
	v, _, ok := s.Open(sealed)
	again, _, whole := s.Open(signature)
	if !ok || v.Kind != "compaction" || v.Text != strict.DigestOf(content) || signed && (!whole || again.Text != strict.DigestOf(sealed)) || !signed && v.Shown {
		return invalid("%s: `compaction` blocks cannot be modified", b.path)
	}
	c.context = c.context.With([]byte(role), canonicalBlock(b.m))
	c.tokens = base + sim.Tokens(content)
	c.edits.spent, c.edits.news = nil, false
	return nil
}

// manage applies the edits after the whole conversation was read.
func (c *call) manage() {
	e := &c.edits
	if e.clears && e.keep >= 0 {
		turns, freed, kept := 0, 0, 0
		for i := len(c.turns) - 1; i >= 0; i-- {
			n, thinks := e.spent[i]
			if !thinks {
				continue
			}
			if kept++; kept > e.keep {
				turns, freed = turns+1, freed+n
			}
		}
		if turns > 0 {
			c.tokens -= freed
			e.applied = append(e.applied, map[string]any{"type": "clear_thinking_20251015", "cleared_thinking_turns": turns, "cleared_input_tokens": freed})
		}
	}
	e.due = !c.count && e.trigger > 0 && e.news && c.tokens >= e.trigger
}

// compaction returns the block that replaces everything before it in later requests. If the request names the later beta,
// the block has a signature of its summary. [SDK: BetaCompactionBlock]
func (c *call) compaction(s sim.Sealer) sim.Part {
	content, signed := fmt.Sprintf("A summary of %d turns.", len(c.turns)), c.betas[betaCompactLater]
	sealed, _ := s.Sign(sim.Seal{Kind: "compaction", Model: c.model.id, Account: c.account, Text: strict.DigestOf(content), Shown: signed})
	block := map[string]any{"type": "compaction", "content": content, "encrypted_content": sealed}
	if signed {
		block["signature"], _ = s.Sign(sim.Seal{Kind: "compaction", Model: c.model.id, Account: c.account, Text: strict.DigestOf(sealed)})
		block["tool_changes"] = []any{}
	}
	c.edits.summed = sim.Tokens(content)
	return sim.Part{Kind: sim.Raw, Text: content, Raw: strict.AppendCanonical(nil, block)}
}

// compacted reports whether a part is a block of compaction: only such a part has both a text and the vendor's JSON.
func compacted(p sim.Part) bool { return p.Kind == sim.Raw && p.Text != "" }
