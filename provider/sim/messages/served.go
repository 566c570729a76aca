package messages

import (
	"encoding/json"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// What the vendor's search finds here.
const pageURL, pageTitle = "https://example.com/simulator", "The simulator"

// sealOf is the encrypted content of a search result, which must come back as it was.
func sealOf(call, url, title string) string {
	return strict.DigestOf("search\x00" + call + "\x00" + url + "\x00" + title)
}

// found is the result of the vendor's own call that an answer was paused at, if it was. The next answer begins with it.
func (c *call) found() []sim.Part {
	last := c.turns[len(c.turns)-1]
	end := last.blocks[len(last.blocks)-1]
	id, _ := end.m["id"].(string)
	if last.role != "assistant" || end.kind != "server_tool_use" || end.m["name"] != "web_search" {
		return nil
	}
	raw, err := json.Marshal(map[string]any{"type": "web_search_tool_result", "tool_use_id": id, "content": []any{map[string]any{
		"type": "web_search_result", "url": pageURL, "title": pageTitle, "encrypted_content": sealOf(id, pageURL, pageTitle), "page_age": nil}}})
	if err != nil {
		panic(err) // texts alone
	}
	return []sim.Part{{Kind: sim.Raw, Raw: raw}}
}

// isResult reports whether a block is the result of a tool that the vendor ran.
func (b block) isResult() bool {
	return strings.HasSuffix(b.kind, "_tool_result") && !strings.HasPrefix(b.kind, "mcp_")
}

// checkServed checks the calls of the vendor's own tools in a turn of the assistant, and their results: a result has its call before it
// [report: claude-code 95406], and is as the vendor gave it. A call has its result. Only the last answer may have calls without one: it
// goes on with them. [docs: handling-stop-reasons; that an earlier one is refused is not verified]
func (t turn) checkServed(ends bool) error {
	open := map[string]string{} // the paths of calls without a result, by id
	called := map[string]bool{}
	for _, b := range t.blocks {
		if b.kind == "server_tool_use" {
			id, _ := b.m["id"].(string)
			open[id], called[id] = b.path, true
		}
		if !b.isResult() {
			continue
		}
		id, _ := b.m["tool_use_id"].(string)
		if !called[id] {
			return invalid("%s: unexpected `tool_use_id` found in `%s` blocks: %s. Each `%s` block must have a corresponding `server_tool_use` block before it.", b.path, b.kind, id, b.kind)
		}
		delete(open, id)
		pages, _ := b.m["content"].([]any)
		for _, p := range pages {
			page, _ := p.(map[string]any)
			url, _ := page["url"].(string)
			title, _ := page["title"].(string)
			if page["type"] == "web_search_result" && page["encrypted_content"] != sealOf(id, url, title) {
				return invalid("%s: Invalid `encrypted_content` in `web_search_result` block", b.path)
			}
		}
	}
	for id, path := range open {
		if !ends {
			return invalid("%s: `server_tool_use` block with id %s was found without a corresponding result block", path, id)
		}
	}
	return nil
}
