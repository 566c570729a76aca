package sim

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// messagesBlock is one block of a message, where it stands and what it is.
type messagesBlock struct {
	path string // messages.3.content.0
	kind string
	m    map[string]any
}

func (b messagesBlock) thinking() bool { return b.kind == "thinking" || b.kind == "redacted_thinking" }

// messagesTurn is what one role says at a stretch: the API joins consecutive messages of a role. [docs: Messages API]
type messagesTurn struct {
	role   string
	blocks []messagesBlock
}

func (t messagesTurn) has(kind string) bool {
	for _, b := range t.blocks {
		if b.kind == kind {
			return true
		}
	}
	return false
}

// prompt is what the user says in a turn besides tool results.
func (t messagesTurn) prompt() (text string, ok bool) {
	var parts []string
	for _, b := range t.blocks {
		if b.kind == "tool_result" {
			continue
		}
		ok = true
		if s, isText := b.m["text"].(string); isText {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n"), ok && t.role == "user"
}

// readSystem checks the system prompt.
func (c *messagesCall) readSystem(v any) error {
	switch v := v.(type) {
	case nil:
	case string:
		if v != "" {
			c.system = []messagesBlock{{"system", "text", map[string]any{"type": "text", "text": v}}}
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
		return messagesInvalid("system: Input should be a valid string or a valid list")
	}
	return nil
}

// readMessages checks each message by itself.
func (c *messagesCall) readMessages(v any) error {
	list, ok := v.([]any)
	if !ok {
		return messagesInvalid("messages: Input should be a valid list")
	}
	if len(list) == 0 {
		return messagesInvalid("messages: at least one message is required")
	}
	inForce, pending := c.effort, c.effort
	begun := false
	for i, e := range list {
		path := fmt.Sprintf("messages.%d", i)
		f := objectAt(path, e)
		role := f.word("role", true, "user", "assistant", "system")
		content := f.need("content")
		var blocks []messagesBlock
		if f.err == nil {
			blocks, f.err = readContent(path, role, content)
		}
		if role == "system" && c.betas[betaTurnEffort] && f.m["output_config"] != nil {
			effort, err := c.readTurnEffort(path, f.take("output_config"), pending)
			if err != nil {
				return err
			}
			pending = effort
		} else if len(blocks) == 0 && f.err == nil && (role != "assistant" || i < len(list)-1) {
			return messagesInvalid("%s: all messages must have non-empty content except for the optional final assistant message", path)
		}
		if err := f.done(); err != nil {
			return err
		}
		begun = begun || role == "user"
		if !begun && role == "assistant" {
			return messagesInvalid("%s: first message must use the \"user\" role", path)
		}
		if len(blocks) > 0 {
			c.append(role, blocks)
		}
		// Messages in a row are one turn to the vendor; the prompt to answer is the last one alone, since the one before
		// may have had no answer.
		if text, ok := (messagesTurn{role: role, blocks: blocks}).prompt(); ok {
			inForce, c.ask.prompt = pending, text
		}
	}
	c.effort = inForce
	return nil
}

func (c *messagesCall) append(role string, blocks []messagesBlock) {
	if n := len(c.turns); n > 0 && c.turns[n-1].role == role {
		c.turns[n-1].blocks = append(c.turns[n-1].blocks, blocks...)
		return
	}
	c.turns = append(c.turns, messagesTurn{role, blocks})
}

// readTurnEffort checks a change of effort in mid-conversation: it holds from the next user turn on, only on some
// models and only while they think. [docs: effort, mid-conversation output config]
func (c *messagesCall) readTurnEffort(path string, v any, inForce string) (string, error) {
	f := objectAt(path+".output_config", v)
	effort := f.word("effort", true, effortsAll...)
	if err := f.done(); err != nil {
		return "", err
	}
	switch {
	case !c.model.turnwise:
		return "", messagesInvalid("%s: output_config.effort requires a model that supports per-turn effort", path)
	case c.model.off(c.thinking.kind) && effort != inForce:
		return "", messagesInvalid("%s: output_config.effort '%s' differs from the '%s' in effect before it", path, effort, inForce)
	}
	return effort, c.checkEffort(path+".output_config", effort)
}

// readContent is a message's blocks; a string is one block of text.
func readContent(path, role string, v any) ([]messagesBlock, error) {
	switch v := v.(type) {
	case string:
		if v == "" {
			return nil, nil
		}
		b, err := readBlock(path+".content", role, map[string]any{"type": "text", "text": v})
		return []messagesBlock{b}, err
	case []any:
		var blocks []messagesBlock
		for i, e := range v {
			b, err := readBlock(fmt.Sprintf("%s.content.%d", path, i), role, e)
			if err != nil {
				return nil, err
			}
			blocks = append(blocks, b)
		}
		return blocks, nil
	}
	return nil, messagesInvalid("%s.content: Input should be a valid string or a valid list", path)
}

// blockRoles says who may say what. Blocks of the vendor's own tools are looked at no further.
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

// readBlock checks a block by itself.
func readBlock(path, role string, v any) (messagesBlock, error) {
	f := objectAt(path, v)
	kind := f.text("type", true)
	b := messagesBlock{path, kind, f.m}
	if f.err != nil {
		return b, f.err
	}
	roles, known := blockRoles[kind]
	switch {
	case !known:
		return b, messagesInvalid("%s: Input tag '%s' found using 'type' does not match any of the expected tags", path, kind)
	case !strings.Contains(roles, role) && (kind == "thinking" || kind == "redacted_thinking"):
		return b, messagesInvalid("%s: `%s` blocks may only be in `assistant` messages", path, kind)
	case !strings.Contains(roles, role):
		return b, messagesInvalid("%s: `%s` blocks can only be in `%s` messages", path, kind, roles)
	}
	f.path = path + "." + kind
	switch kind {
	case "text":
		checkText(f)
		f.take("citations")
	case "thinking":
		f.text("thinking", true)
		f.take("signature") // judged by replay, missing or not
		return b, f.done()
	case "redacted_thinking":
		f.text("data", true)
		return b, f.done()
	case "tool_use":
		if id := f.text("id", true); f.err == nil && !toolID().MatchString(id) {
			f.fail("id", "String should match pattern '"+toolID().String()+"'")
		}
		if name := f.text("name", true); f.err == nil && !toolName().MatchString(name) {
			f.fail("name", "String should match pattern '"+toolName().String()+"'")
		}
		if _, ok := f.need("input").(map[string]any); !ok {
			f.fail("input", "Input should be an object")
		}
		f.take("caller")
	case "tool_result":
		f.text("tool_use_id", true)
		failed := f.flag("is_error")
		checkResult(f, f.take("content"))
		if failed && f.err == nil {
			checkFailure(f)
		}
	case "image", "document":
		source := objectAt(f.at("source"), f.need("source"))
		if source.text("type", true); f.err == nil {
			f.err = source.err
		}
		media, _ := source.m["media_type"].(string)
		data, _ := source.m["data"].(string)
		if f.err == nil && kind == "image" && source.m["type"] == "base64" && !imageTaken(media, data) {
			f.err = messagesInvalid("%s.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp', and what the data is", f.path)
		}
		for _, known := range []string{"title", "context", "citations"} {
			f.take(known)
		}
	default:
		return b, nil
	}
	if v := f.take("cache_control"); v != nil && f.err == nil {
		f.err = cacheControl(f.at("cache_control"), v)
	}
	return b, f.done()
}

func checkText(f *fields) {
	text := f.text("text", true)
	switch {
	case f.err != nil:
	case text == "":
		f.err = messagesInvalid("%s: text content blocks must be non-empty", f.path)
	case strings.TrimSpace(text) == "":
		f.err = messagesInvalid("%s: text content blocks must contain non-whitespace text", f.path)
	}
}

// checkFailure checks the result of a tool that failed. [report: claude-code]
func checkFailure(f *fields) {
	list, _ := f.m["content"].([]any)
	for _, e := range list {
		if b, _ := e.(map[string]any); b["type"] != "text" {
			f.err = messagesInvalid("%s: all content must be type `text` if `is_error` is true", f.path)
			return
		}
	}
	if text, _ := f.m["content"].(string); text == "" && len(list) == 0 {
		f.err = messagesInvalid("%s: content cannot be empty if `is_error` is true", f.path)
	}
}

// checkResult checks what a tool answered: nothing, a string, or blocks.
func checkResult(f *fields, v any) {
	list, ok := v.([]any)
	if _, text := v.(string); v != nil && !ok && !text {
		f.fail("content", "Input should be a valid string or a valid list")
	}
	for i, e := range list {
		if f.err != nil {
			return
		}
		path := fmt.Sprintf("%s.content.%d", f.path, i)
		if m, ok := e.(map[string]any); ok && m["type"] == "tool_result" {
			f.err = messagesInvalid("%s: Input tag 'tool_result' found using 'type' does not match any of the expected tags", path)
			return
		}
		_, f.err = readBlock(path, "user", e)
	}
}
