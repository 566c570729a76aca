package responses

import (
	"maps"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// replay checks the items of earlier answers: encrypted content, and items that need each other. [docs: reasoning,
// conversation-state]
func (c *call) replay(s sim.Sealer) error {
	ids, calls := map[string]bool{}, map[string]item{}
	answered := map[string]bool{}
	base := c.tokens
	for n, item := range c.items {
		if item.id != "" {
			if ids[item.id] {
				return unfit("input", "", "Duplicate item found with id %s. Remove duplicate items from your input and try again.", item.id)
			}
			ids[item.id] = true
		}
		var err error
		switch {
		case item.kind == "compaction":
			if err := c.resume(s, item, base); err != nil {
				return err
			}
			continue
		case item.kind == "reasoning":
			err = c.replayReasoning(s, n)
		case item.answers():
			err = answer(item, calls, answered)
		case item.output():
			err = c.led(item, ids)
		}
		if err == nil && item.output() {
			err = c.afterServed(n)
		}
		if err != nil {
			return err
		}
		c.news = true
		if item.called() {
			calls[item.text("call_id")] = item
		}
		if item.kind != "reasoning" {
			c.tokens += sim.Tokens(string(strict.AppendCanonical(nil, item.m)))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(calls)) {
		if !answered[id] {
			return unfit("input", "", "No tool output found for %s %s.", strings.ReplaceAll(calls[id].kind, "_", " "), id)
		}
	}
	return nil
}

// answer checks that a result belongs to an earlier call of the same kind.
func answer(item item, calls map[string]item, answered map[string]bool) error {
	id := item.text("call_id")
	call, ok := calls[id]
	if !ok || call.kind+"_output" != item.kind || answered[id] {
		return unfit("input", "", "No tool call found for %s with call_id %s.", strings.ReplaceAll(item.kind, "_", " "), id)
	}
	answered[id] = true
	return nil
}

// led checks a rule of models that get their earlier reasoning: the item that follows reasoning must not come without it. Items
// without an id are exempt.
func (c *call) led(item item, ids map[string]bool) error {
	found := ownID().FindStringSubmatch(item.id)
	if found == nil || found[3] == "" || !c.model.recalls {
		return nil
	}
	for id := range ids {
		if core, ok := strings.CutPrefix(id, "rs_"+found[1]+found[3]); ok && len(core) <= 4 {
			return nil
		}
	}
	return unfit("input", "", "Item '%s' of type '%s' was provided without its required 'reasoning' item: 'rs_%s%sp'.", item.id, item.kind, found[1], found[3])
}

// replayReasoning opens the encrypted content of an item, and checks that the item and its place have not changed.
func (c *call) replayReasoning(s sim.Sealer, n int) error {
	item := c.items[n]
	sealed, _ := item.m["encrypted_content"].(string)
	content, _ := item.m["content"].([]any)
	switch {
	case c.door.azure && item.id == "":
		return unfit(item.path+".id", "missing_required_parameter", "Missing required parameter: '%s.id'.", item.path)
	case sealed == "" && c.model.open && len(content) > 0:
		c.tokens += sim.Tokens(string(strict.AppendCanonical(nil, content)))
		return nil
	case sealed == "":
		return unresolved(item.id)
	}
	seal, _, ok := s.Open(strings.TrimPrefix(sealed, sealedPrefix))
	broken := func(reason string) error {
		return unfit("input", "invalid_encrypted_content", "The encrypted content for item %s could not be verified. Reason: %s", item.id, reason)
	}
	switch {
	case !ok || seal.Kind != "reasoning":
		return broken("Encrypted content could not be decrypted or parsed.")
	case seal.Account != c.door.name+" "+c.account:
		return broken("Encrypted content organization_id did not match the target organization.")
	case item.id != "" && seal.Message != item.id:
		return broken("Encrypted content item_id did not match the target item id.")
	case c.door.copilot && seal.Model != c.model.id:
		return broken("Encrypted content model did not match the target model.")
	case seal.Shown && seal.Text != strict.DigestOf(summaryOf(item)):
		return broken("The summary is not the one that the item had.")
	}
	if err := c.follower(n, seal); err != nil {
		return err
	}
	if c.model.adapts && seal.Model != c.model.id { // it is left out, and the answer reports that at its end [SDK: Response.InputTransformation]
		c.removed = append(c.removed, map[string]any{"type": "reasoning", "id": item.id, "action": "removed", "reason": "model_mismatch"})
		return nil
	}
	if c.context == "all_turns" || c.context != "current_turn" && c.model.recalls || !c.older(n) {
		c.tokens += seal.Tokens
	}
	return nil
}

func summaryOf(item item) string {
	var b strings.Builder
	list, _ := item.m["summary"].([]any)
	for _, e := range list {
		p, _ := e.(map[string]any)
		text, _ := p["text"].(string)
		b.WriteString(text + "\x00")
	}
	return b.String()
}

// follower checks that the item which followed the reasoning comes next. If the reasoning has no id, any item of an answer is
// accepted.
func (c *call) follower(n int, v sim.Seal) error {
	item := c.items[n]
	if n+1 < len(c.items) {
		next := c.items[n+1]
		if item.id == "" && next.output() || item.id != "" && v.Before != "" && next.id == v.Before {
			return nil
		}
	}
	name := item.id
	if name == "" {
		name = v.Message
	}
	return unfit("input", "", "Item '%s' of type 'reasoning' was provided without its required following item.", name)
}

// older reports whether an item is from a turn before the last one.
func (c *call) older(n int) bool {
	return slices.ContainsFunc(c.items[n:], func(i item) bool { return i.role() == "user" })
}

// finish checks the length of the input, and decides what to answer.
func (c *call) finish(instructions string) error {
	if c.tokens > c.model.window {
		return unfit("input", "context_length_exceeded", "Your input exceeds the context window of this model. Please adjust your input and try again.")
	}
	c.due = c.trigger > 0 && c.news && c.tokens >= c.trigger
	seed := strict.Digest{}.With([]byte(c.model.id), []byte(c.effort), []byte(instructions))
	start := 0
	for i, item := range c.items {
		if item.role() == "user" {
			start = i
		}
		if item.kind != "reasoning" {
			seed = seed.With(strict.AppendCanonical(nil, strict.Without(item.m, "id", "status")))
		}
	}
	c.ask.Seed = seed
	if c.items[start].role() == "user" {
		c.ask.Prompt = c.items[start].said()
	}
	for i := start + 1; i < len(c.items); i++ {
		item := c.items[i]
		if item.answers() {
			c.ask.Results = append(c.ask.Results, outputText(item.m["output"]))
			if c.items[i-1].called() {
				c.ask.Rounds++
			}
		}
	}
	if c.thinks() {
		c.ask.ThinkingWords, c.ask.ThinkingBlocks = c.amount(c.items[len(c.items)-1].answers())
	}
	c.ask.Tools = c.tools
	c.ask.Force(c.force)
	return nil
}

func (c *call) thinks() bool {
	return c.model.thinks || c.effort != "" && c.effort != "none"
}

// amount returns how much thinking the answer has for an effort.
func (c *call) amount(inLoop bool) (words, blocks int) {
	words = map[string]int{"": 120, "minimal": 15, "low": 40, "medium": 120, "high": 240, "xhigh": 420, "max": 700}[c.effort]
	switch {
	case inLoop:
		return words / 3, 1
	case words >= 240:
		return words, 2
	}
	return words, 1
}

// outputText returns the text in the result of a tool.
func outputText(v any) string {
	list, ok := v.([]any)
	if !ok {
		s, _ := v.(string)
		return s
	}
	if text := (item{m: map[string]any{"content": list}}).said(); text != "" {
		return text
	}
	return "nothing to read"
}
