package sim

import (
	"fmt"
	"strings"
)

// readContext checks context_management. [docs: conversation-state]
func (c *responsesCall) readContext(f *fields) error {
	if f.m["context_management"] == nil {
		return nil
	}
	for i, v := range f.list("context_management") {
		path := fmt.Sprintf("context_management[%d]", i)
		e := objectAt(path, v)
		e.word("type", true, "compaction")
		if c.trigger, _ = e.integer("compact_threshold", true); e.err == nil && c.trigger < 1 {
			return unfit(path+".compact_threshold", "integer_below_min_value", "Invalid '%s.compact_threshold': integer below minimum value.", path)
		}
		if err := e.done(); err != nil {
			return err
		}
	}
	return f.err
}

// resume judges an item of compaction that came back. The model sees it in place of all that stands before it.
func (c *responsesCall) resume(s sealer, item responsesItem, base int) error {
	v, _, ok := s.open(strings.TrimPrefix(item.text("encrypted_content"), sealedPrefix))
	broken := func(reason string) error {
		return unfit("input", "invalid_encrypted_content", "The encrypted content for item %s could not be verified. Reason: %s", item.id, reason)
	}
	switch {
	case !ok || v.Kind != "compaction":
		return broken("Encrypted content could not be decrypted or parsed.")
	case v.Account != c.face.name+" "+c.account:
		return broken("Encrypted content organization_id did not match the target organization.")
	case v.Message != item.id:
		return broken("Encrypted content item_id did not match the target item id.")
	}
	c.tokens, c.news = base+v.Tokens, false
	return nil
}

// compaction is the item that stands for all before it from now on.
func (c *responsesCall) compaction(s sealer, seed digest) Part {
	id := fmt.Sprintf("cmp_%s00p", seed)
	signature, _ := s.close(seal{Kind: "compaction", Model: c.model.id, Account: c.face.name + " " + c.account, Message: id, Tokens: compactedTokens})
	return Part{Kind: Raw, Raw: canonical(nil, map[string]any{"id": id, "type": "compaction", "encrypted_content": sealedPrefix + signature})}
}

// compactedTokens is what a compaction costs as input.
const compactedTokens = 50
