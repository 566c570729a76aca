package messages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/sim/portable"
)

// checkTurns checks the rules between messages: tool calls and their results, the end of each assistant turn, the end of the
// conversation, and the number of cache marks. [docs: tool use, thinking-troubleshooting, prompt-caching]
func (c *call) checkTurns() error {
	if len(c.turns) == 0 {
		return invalid("messages: at least one message is required")
	}
	ids := map[string]bool{}
	for i, t := range c.turns {
		var calls []string
		if i > 0 {
			var err error
			if calls, err = c.turns[i-1].calls(nil); err != nil {
				return err
			}
		}
		ends := i == len(c.turns)-1 || i == len(c.turns)-2 && !c.asks(i+1)
		if err := t.checkServed(ends); err != nil {
			return err
		}
		if err := t.answers(calls); err != nil {
			return err
		}
		if _, err := t.calls(ids); err != nil {
			return err
		}
		if t.role == "assistant" && t.blocks[len(t.blocks)-1].thinking() {
			return invalid("%s: The final block in an assistant message cannot be `thinking`.", t.blocks[len(t.blocks)-1].path)
		}
	}
	last := c.turns[len(c.turns)-1]
	if calls, _ := last.calls(nil); len(calls) > 0 {
		return unanswered(last.blocks[0].path, calls[0])
	}
	if err := c.checkPrefill(last); err != nil {
		return err
	}
	if err := c.checkOpening(); err != nil {
		return err
	}
	return c.checkMarks()
}

// asks reports whether a turn has anything of the user's but results of tools.
func (c *call) asks(i int) bool {
	_, ok := c.turns[i].prompt()
	return ok
}

// calls returns the ids of a turn's tool calls and adds them to seen. An id that is in seen already is an error.
func (t turn) calls(seen map[string]bool) ([]string, error) {
	var ids []string
	for _, b := range t.blocks {
		if b.kind != "tool_use" {
			continue
		}
		id, _ := b.m["id"].(string)
		if seen != nil {
			if seen[id] {
				return nil, invalid("%s: `tool_use` ids must be unique", b.path)
			}
			seen[id] = true
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func unanswered(path, id string) error {
	return invalid("%s: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", path, id)
}

// answers checks that a turn begins with one result for each of the calls, and has no other results.
func (t turn) answers(calls []string) error {
	open := map[string]bool{}
	for _, id := range calls {
		open[id] = true
	}
	answered := map[string]bool{}
	for _, b := range t.blocks {
		if b.kind != "tool_result" {
			break
		}
		id, _ := b.m["tool_use_id"].(string)
		if answered[id] {
			return invalid("%s: each `tool_use` must have a single result. Found multiple `tool_result` blocks with id: %s", b.path, id)
		}
		if open[id] {
			delete(open, id)
			answered[id] = true
		}
	}
	for _, id := range calls {
		if open[id] {
			return unanswered(t.blocks[0].path, id)
		}
	}
	for _, b := range t.blocks {
		if id, _ := b.m["tool_use_id"].(string); b.kind == "tool_result" && !answered[id] {
			return invalid("%s: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", b.path, id)
		}
	}
	return nil
}

// checkPrefill checks a conversation that ends with the assistant. It is no prefill if it ends with a call of the vendor's
// own tool or with a compaction: then it continues an answer after a pause. [docs: handling-stop-reasons]
func (c *call) checkPrefill(last turn) error {
	end := last.blocks[len(last.blocks)-1]
	if last.role != "assistant" || end.kind == "server_tool_use" || end.kind == "compaction" {
		return nil
	}
	switch said, _ := end.m["text"].(string); {
	case c.model.noPrefill:
		return invalid("This model does not support assistant message prefill. The conversation must end with a user message.")
	case c.thinks(false):
		return invalid("Assistant message prefill is not supported when thinking is enabled.")
	case said != strings.TrimRight(said, " \t\r\n"):
		return invalid("messages: final assistant content cannot end with trailing whitespace")
	}
	return nil
}

// checkOpening checks the rule of manual mode that a turn with unfinished tool calls begins with thinking. The turn begins
// after the user's last message without tool results. [docs: extended-thinking]
func (c *call) checkOpening() error {
	if c.thinking.kind != "enabled" || !c.turns[len(c.turns)-1].has("tool_result") {
		return nil
	}
	start := len(c.turns) - 1
	for start >= 0 && (c.turns[start].role != "user" || c.turns[start].has("tool_result")) {
		start--
	}
	for _, t := range c.turns[start+1:] {
		if t.role != "assistant" {
			continue
		}
		b := t.blocks[0]
		if b.kind == "compaction" && len(t.blocks) > 1 {
			b = t.blocks[1]
		}
		if !b.thinking() {
			return invalid("%s.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceding the lastmost set of `tool_use` and `tool_result` blocks).", b.path, b.kind)
		}
		return nil
	}
	return nil
}

// turnStart returns the index of the last turn with a prompt of the user; -1: there is none.
func (c *call) turnStart() int {
	for i := len(c.turns) - 1; i >= 0; i-- {
		if _, ok := c.turns[i].prompt(); ok {
			return i
		}
	}
	return -1
}

// checkMarks checks the number of cache marks, and that no mark with the longer time follows one with the shorter time. The
// order is the one in which the vendor reads a prompt.
func (c *call) checkMarks() error {
	all := slices.Clone(c.marked)
	all = append(all, c.system...)
	for _, t := range c.turns {
		for _, b := range t.blocks {
			all = append(all, b)
			results, _ := b.m["content"].([]any)
			for i, e := range results {
				if m, ok := e.(map[string]any); ok && b.kind == "tool_result" {
					all = append(all, block{path: fmt.Sprintf("%s.content.%d", b.path, i), m: m})
				}
			}
		}
	}
	n, short := 0, false
	for _, b := range all {
		mark, ok := b.m["cache_control"].(map[string]any)
		if !ok {
			continue
		}
		n++
		if short && mark["ttl"] == "1h" {
			return invalid("%s.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.", b.path)
		}
		short = short || mark["ttl"] != "1h"
	}
	if n > portable.MarksMost {
		return invalid("A maximum of %d blocks with cache_control may be provided. Found %d.", portable.MarksMost, n)
	}
	return nil
}
