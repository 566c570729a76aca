package messages

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider/sim/portable"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// readSystem checks the system prompt.
func (c *call) readSystem(v any) error {
	switch v := v.(type) {
	case nil:
	case string:
		if v != "" {
			c.system = []block{{"system", "text", map[string]any{"type": "text", "text": v}}}
		}
	case []any:
		for i, e := range v {
			b, err := readBlock(fmt.Sprintf("system.%d", i), "system", e)
			if err != nil {
				return err
			}
			c.system = append(c.system, b)
		}
	default:
		return invalid("system: Input should be a valid string or a valid list")
	}
	return nil
}

// readMessages checks each message alone. checkTurns checks them together.
func (c *call) readMessages(v any) error {
	list, ok := v.([]any)
	if !ok {
		return invalid("messages: Input should be a valid list")
	}
	if len(list) == 0 {
		return invalid("messages: at least one message is required")
	}
	current, pending := c.effort, c.effort
	begun := false
	for i, e := range list {
		path := fmt.Sprintf("messages.%d", i)
		f := strict.NewObject(path, e)
		role := f.Word("role", true, "user", "assistant", "system")
		content := f.Need("content")
		var blocks []block
		if f.Err == nil {
			blocks, f.Err = readContent(path, role, content)
		}
		if role == "system" && c.betas[betaTurnEffort] && f.Members["output_config"] != nil {
			effort, err := c.readTurnEffort(path, f.Take("output_config"), pending)
			if err != nil {
				return err
			}
			pending = effort
		} else if len(blocks) == 0 && f.Err == nil && (role != "assistant" || i < len(list)-1) {
			return invalid("%s: all messages must have non-empty content except for the optional final assistant message", path)
		}
		if err := f.Done(); err != nil {
			return err
		}
		begun = begun || role == "user"
		if !begun && role == "assistant" {
			return invalid("%s: first message must use the \"user\" role", path)
		}
		if len(blocks) > 0 {
			c.append(role, blocks)
		}
		// The vendor joins adjacent messages of a role. The prompt to answer is still the last message only, because an
		// earlier one may have had no answer.
		if text, ok := (turn{role: role, blocks: blocks}).prompt(); ok {
			current, c.ask.Prompt = pending, text
		}
	}
	c.effort = current
	return nil
}

func (c *call) append(role string, blocks []block) {
	if n := len(c.turns); n > 0 && c.turns[n-1].role == role {
		c.turns[n-1].blocks = append(c.turns[n-1].blocks, blocks...)
		return
	}
	c.turns = append(c.turns, turn{role, blocks})
}

// readTurnEffort checks a change of effort in mid-conversation. It applies from the next turn of the user. Only some models
// take it, and only while they think. [docs: effort, mid-conversation output config]
func (c *call) readTurnEffort(path string, v any, current string) (string, error) {
	f := strict.NewObject(path+".output_config", v)
	effort := f.Word("effort", true, effortsAll...)
	if err := f.Done(); err != nil {
		return "", err
	}
	switch {
	case !c.model.turnwise:
		return "", invalid("%s: output_config.effort requires a model that supports per-turn effort", path)
	case c.model.off(c.thinking.kind) && effort != current:
		return "", invalid("%s: output_config.effort '%s' differs from the '%s' in effect before it", path, effort, current)
	}
	return effort, c.checkEffort(path+".output_config", effort)
}

// readContent returns a message's blocks. A string is one block of text.
func readContent(path, role string, v any) ([]block, error) {
	switch v := v.(type) {
	case string:
		if v == "" {
			return nil, nil
		}
		b, err := readBlock(path+".content", role, map[string]any{"type": "text", "text": v})
		return []block{b}, err
	case []any:
		var blocks []block
		for i, e := range v {
			b, err := readBlock(fmt.Sprintf("%s.content.%d", path, i), role, e)
			if err != nil {
				return nil, err
			}
			blocks = append(blocks, b)
		}
		return blocks, nil
	}
	return nil, invalid("%s.content: Input should be a valid string or a valid list", path)
}

// blockRoles has the roles whose messages may contain a block. The content of blocks of the vendor's own tools is not
// checked.
var blockRoles = map[string]string{
	"text": "user assistant system", "image": "user", "document": "user", "search_result": "user", "tool_result": "user",
	"container_upload": "user",
	"thinking":         "assistant", "redacted_thinking": "assistant", "tool_use": "assistant", "server_tool_use": "assistant",
	"web_search_tool_result": "assistant", "web_fetch_tool_result": "assistant", "code_execution_tool_result": "assistant",
	"bash_code_execution_tool_result": "assistant", "text_editor_code_execution_tool_result": "assistant",
	"mcp_tool_use": "assistant", "mcp_tool_result": "assistant", "mcp_tool_listing": "assistant", "compaction": "assistant",
	"advisor_tool_result": "assistant", "tool_search_tool_result": "assistant", "fallback": "assistant",
}

var toolID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]+$`) })

// readBlock checks one block.
func readBlock(path, role string, v any) (block, error) {
	f := strict.NewObject(path, v)
	kind := f.Text("type", true)
	b := block{path, kind, f.Members}
	if f.Err != nil {
		return b, f.Err
	}
	roles, known := blockRoles[kind]
	switch {
	case !known:
		return b, invalid("%s: Input tag '%s' found using 'type' does not match any of the expected tags", path, kind)
	case !strings.Contains(roles, role) && (kind == "thinking" || kind == "redacted_thinking"):
		return b, invalid("%s: `%s` blocks may only be in `assistant` messages", path, kind)
	case !strings.Contains(roles, role):
		return b, invalid("%s: `%s` blocks can only be in `%s` messages", path, kind, roles)
	}
	f.Path = path + "." + kind
	switch kind {
	case "text":
		checkText(f)
		f.Take("citations")
	case "thinking":
		f.Text("thinking", true)
		f.Take("signature") // replay checks it, and whether it is missing
		return b, f.Done()
	case "redacted_thinking":
		f.Text("data", true)
		return b, f.Done()
	case "tool_use":
		if id := f.Text("id", true); f.Err == nil && !toolID().MatchString(id) {
			f.Fail("id", "String should match pattern '"+toolID().String()+"'")
		}
		if name := f.Text("name", true); f.Err == nil && !portable.ToolName().MatchString(name) {
			f.Fail("name", "String should match pattern '"+portable.ToolName().String()+"'")
		}
		if _, ok := f.Need("input").(map[string]any); !ok {
			f.Fail("input", "Input should be an object")
		}
		f.Take("caller")
	case "tool_result":
		f.Text("tool_use_id", true)
		failed := f.Flag("is_error")
		checkResult(f, f.Take("content"))
		if failed && f.Err == nil {
			checkFailure(f)
		}
	case "image", "document":
		source := strict.NewObject(f.At("source"), f.Need("source"))
		if source.Text("type", true); f.Err == nil {
			f.Err = source.Err
		}
		media, _ := source.Members["media_type"].(string)
		data, _ := source.Members["data"].(string)
		if f.Err == nil && kind == "image" && source.Members["type"] == "base64" && !portable.ImageTaken(media, data) {
			f.Err = invalid("%s.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp', and what the data is", f.Path)
		}
		for _, known := range []string{"title", "context", "citations"} {
			f.Take(known)
		}
	default:
		return b, nil
	}
	if v := f.Take("cache_control"); v != nil && f.Err == nil {
		f.Err = cacheControl(f.At("cache_control"), v)
	}
	return b, f.Done()
}

func checkText(f *strict.Object) {
	text := f.Text("text", true)
	switch {
	case f.Err != nil:
	case text == "":
		f.Err = invalid("%s: text content blocks must be non-empty", f.Path)
	case strings.TrimSpace(text) == "":
		f.Err = invalid("%s: text content blocks must contain non-whitespace text", f.Path)
	}
}

// checkFailure checks the result of a tool that failed. [report: claude-code]
func checkFailure(f *strict.Object) {
	list, _ := f.Members["content"].([]any)
	for _, e := range list {
		if b, _ := e.(map[string]any); b["type"] != "text" {
			f.Err = invalid("%s: all content must be type `text` if `is_error` is true", f.Path)
			return
		}
	}
	if text, _ := f.Members["content"].(string); text == "" && len(list) == 0 {
		f.Err = invalid("%s: content cannot be empty if `is_error` is true", f.Path)
	}
}

// checkResult checks the content of a tool's result: nothing, a string, or blocks.
func checkResult(f *strict.Object, v any) {
	list, ok := v.([]any)
	if _, text := v.(string); v != nil && !ok && !text {
		f.Fail("content", "Input should be a valid string or a valid list")
	}
	for i, e := range list {
		if f.Err != nil {
			return
		}
		path := fmt.Sprintf("%s.content.%d", f.Path, i)
		if m, ok := e.(map[string]any); ok && m["type"] == "tool_result" {
			f.Err = invalid("%s: Input tag 'tool_result' found using 'type' does not match any of the expected tags", path)
			return
		}
		_, f.Err = readBlock(path, "user", e)
	}
}
