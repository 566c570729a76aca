package messages

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// resultSuffix ends the kinds of blocks with results of the vendor's tools: web_search_tool_result, bash_code_execution_tool_result.
const resultSuffix = "_tool_result"

// serverTool reports whether a block is a call of a tool that the vendor runs, or the result of one. Tools of MCP servers that the
// vendor calls have blocks of their own.
func (p *part) serverTool() bool {
	return p.kind == "server_tool_use" || strings.HasSuffix(p.kind, resultSuffix) && !strings.HasPrefix(p.kind, "mcp_")
}

// serverTool reads what people are shown of such a block. All of it is in its state (docs: web-search-tool, web-fetch-tool,
// code-execution-tool).
func serverTool(state provider.State) provider.ServerTool {
	block := gjson.ParseBytes(state.Data)
	if kind := block.Get("type").Str; kind != "server_tool_use" {
		b := provider.ServerTool{ID: block.Get("tool_use_id").Str, Name: strings.TrimSuffix(kind, resultSuffix), Done: true, State: state}
		b.Text, b.Failed, b.Sources = outcome(block.Get("content"))
		b.Text = provider.ServerText(b.Text)
		return b
	}
	b := provider.ServerTool{ID: block.Get("id").Str, Name: block.Get("name").Str, State: state}
	if input := block.Get("input"); input.IsObject() {
		b.Input = json.RawMessage(input.Raw)
	}
	return b
}

// outcome returns the result of a call as text, and the pages.
func outcome(content gjson.Result) (text string, failed bool, pages []provider.Citation) {
	if content.IsArray() {
		for _, page := range content.Array() {
			pages = exchange.Page(pages, page.Get("url").Str, page.Get("title").Str)
		}
		return exchange.Pages(len(pages)), false, pages
	}
	kind := content.Get("type").Str
	switch {
	case strings.HasSuffix(kind, "_error"):
		return cmp.Or(content.Get("error_message").Str, content.Get("error_code").Str, kind), true, nil
	case kind == "web_fetch_result":
		title := content.Get("content.title").Str
		return title, false, exchange.Page(nil, content.Get("url").Str, title)
	case content.Get("return_code").Exists():
		text = content.Get("stdout").Str + content.Get("stderr").Str
		if code := content.Get("return_code").Int(); code != 0 {
			return fmt.Sprintf("%s\nexit code %d", text, code), true, nil
		}
		return text, false, nil
	case content.Get("content").Type == gjson.String: // of a file that was viewed
		return content.Get("content").Str, false, nil
	}
	return "", false, nil
}
