package responses

import (
	"fmt"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// readContext checks context_management. [docs: conversation-state]
func (c *call) readContext(f *strict.Object) error {
	if f.Members["context_management"] == nil {
		return nil
	}
	for i, v := range f.List("context_management") {
		path := fmt.Sprintf("context_management[%d]", i)
		e := strict.NewObject(path, v)
		e.Word("type", true, "compaction")
		if c.trigger, _ = e.Integer("compact_threshold", true); e.Err == nil && c.trigger < 1 {
			return unfit(path+".compact_threshold", "integer_below_min_value", "Invalid '%s.compact_threshold': integer below minimum value.", path)
		}
		if err := e.Done(); err != nil {
			return err
		}
	}
	return f.Err
}

// resume checks a returned item of compaction. The model gets it instead of all items before it.
func (c *call) resume(s sim.Sealer, item item, base int) error {
	v, _, ok := s.Open(strings.TrimPrefix(item.text("encrypted_content"), sealedPrefix))
	broken := func(reason string) error {
		return unfit("input", "invalid_encrypted_content", "The encrypted content for item %s could not be verified. Reason: %s", item.id, reason)
	}
	switch {
	case !ok || v.Kind != "compaction":
		return broken("Encrypted content could not be decrypted or parsed.")
	case v.Account != c.door.name+" "+c.account:
		return broken("Encrypted content organization_id did not match the target organization.")
	case v.Message != item.id:
		return broken("Encrypted content item_id did not match the target item id.")
	}
	c.tokens, c.news = base+v.Tokens, false
	return nil
}

// compaction returns the item that replaces all items before it from now on.
func (c *call) compaction(s sim.Sealer, seed strict.Digest) sim.Part {
	id := fmt.Sprintf("cmp_%s00p", seed)
	signature, _ := s.Sign(sim.Seal{Kind: "compaction", Model: c.model.id, Account: c.door.name + " " + c.account, Message: id, Tokens: compactedTokens})
	return sim.Part{Kind: sim.Raw, Raw: strict.AppendCanonical(nil, map[string]any{"id": id, "type": "compaction", "encrypted_content": sealedPrefix + signature})}
}

// compactedTokens is the number of input tokens of a compaction.
const compactedTokens = 50
