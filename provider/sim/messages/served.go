package messages

import (
	"encoding/json"
	"fmt"
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
	return []sim.Part{{Kind: sim.Raw, Raw: sim.JSON(searchResult(id))}}
}

// hostedUse are the names that scripts have for the vendor's tools, by the beginning of their types.
var hostedUse = map[string]string{"web_search_": "web_search", "web_fetch_": "web_fetch", "code_execution_": "code_execution"}

// readHosted checks a tool that the vendor runs. Tools that it only defines, such as its editor, are not checked. [docs: web-search-tool,
// web-fetch-tool, code-execution-tool]
func (c *call) readHosted(f *strict.Object, path, kind, name string) error {
	for prefix, want := range hostedUse {
		if !strings.HasPrefix(kind, prefix+"20") {
			continue
		}
		if name != want {
			return invalid("%s.%s.name: Input should be '%s'", path, kind, want)
		}
		if want != "code_execution" {
			n, given := f.Integer("max_uses", false)
			allowed, blocked := f.List("allowed_domains"), f.List("blocked_domains")
			switch {
			case given && n < 1:
				return invalid("%s.%s.max_uses: Input should be greater than 0", path, kind)
			case len(allowed) > 0 && len(blocked) > 0:
				return invalid("%s.%s: only one of `allowed_domains` and `blocked_domains` may be set", path, kind)
			}
		}
		for _, known := range []string{"user_location", "allowed_callers", "cache_control", "defer_loading", "strict", "citations", "max_content_tokens", "url_sources"} {
			f.Take(known)
		}
		c.ask.Served = append(c.ask.Served, want)
		return f.Done()
	}
	return nil
}

// withResults puts the result behind each call of the vendor's tools, except a last one, at which an answer is paused.
func withResults(id string, parts []sim.Part) (all []sim.Part) {
	for i, p := range parts {
		if p.Kind == sim.ServerCall && p.ID == "" {
			p.ID = fmt.Sprintf("srvtoolu_%s%d", id, i)
		}
		var result map[string]any
		switch {
		case p.Kind != sim.ServerCall:
		case p.Name == "code_execution":
			p.Name, p.Input = "bash_code_execution", json.RawMessage(`{"command":"echo 42"}`)
			result = map[string]any{"type": "bash_code_execution_tool_result", "tool_use_id": p.ID, "content": map[string]any{
				"type": "bash_code_execution_result", "stdout": "42\n", "stderr": "", "return_code": 0, "content": []any{}}}
		default:
			result = searchResult(p.ID)
		}
		if all = append(all, p); result != nil {
			all = append(all, sim.Part{Kind: sim.Raw, Raw: sim.JSON(result)})
		}
	}
	return all
}

func searchResult(id string) map[string]any {
	return map[string]any{"type": "web_search_tool_result", "tool_use_id": id, "content": []any{map[string]any{
		"type": "web_search_result", "url": pageURL, "title": pageTitle, "encrypted_content": sealOf(id, pageURL, pageTitle), "page_age": nil}}}
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
