package responses

import (
	"fmt"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/sim/portable"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// idPrefixes are the beginnings of the ids of items. Copilot's ids have none.
var idPrefixes = map[string]string{"reasoning": "rs", "message": "msg", "function_call": "fc", "custom_tool_call": "ctc",
	"web_search_call": "ws", "code_interpreter_call": "ci", "compaction": "cmp"}

// readInput checks each item alone.
func (c *call) readInput(v any) error {
	switch v := v.(type) {
	case string:
		c.items = []item{{path: "input", kind: "message", m: map[string]any{"role": "user", "content": v}}}
		return nil
	case []any:
		for i, e := range v {
			item, err := c.readItem(fmt.Sprintf("input[%d]", i), e)
			if err != nil {
				return err
			}
			c.items = append(c.items, item)
		}
	default:
		return unfit("input", "invalid_type", "Invalid type for 'input': expected one of an array of objects or string.")
	}
	if len(c.items) == 0 {
		return unfit("input", "invalid_value", "Invalid 'input': empty array. Expected an array with minimum length 1.")
	}
	for i, item := range c.items {
		if item.kind == "configuration_update" && (i == len(c.items)-1 || c.items[i+1].role() != "user") {
			return unfit(item.path, "invalid_value", "A 'configuration_update' item must be directly followed by a user message.")
		}
	}
	return nil
}

// readUpdate checks a change of effort inside the conversation. It applies from the next message of the user. [docs: latest-model,
// reasoning]
func (c *call) readUpdate(f *strict.Object, path string) error {
	if c.trigger > 0 {
		return unfit(path+".type", "unsupported_value", "The 'configuration_update' item type is not supported with automatic compaction.")
	}
	if !c.model.adapts {
		return unfit(path+".type", "unsupported_value", "The 'configuration_update' item type is not supported with '%s'.", c.name)
	}
	r := strict.NewObject(path+".reasoning", f.Need("reasoning"))
	effort := r.Text("effort", true)
	if err := r.Done(); err != nil {
		return err
	}
	if !c.model.takes(effort) {
		return c.noEffort(path+".reasoning.effort", effort)
	}
	c.effort = effort
	return nil
}

func (c *call) readItem(path string, v any) (item, error) {
	f := strict.NewObject(path, v)
	kind := f.Text("type", false)
	if kind == "" {
		kind = "message"
	}
	item := item{path: path, kind: kind, id: f.Text("id", false), m: f.Members}
	if f.Err != nil {
		return item, f.Err
	}
	prefix := idPrefixes[kind]
	if item.id != "" && prefix != "" && !c.door.copilot && !strings.HasPrefix(item.id, prefix) {
		return item, unfit(path+".id", "invalid_value", "Invalid '%s.id': '%s'. Expected an ID that begins with '%s'.", path, item.id, prefix)
	}
	f.Word("status", false, "in_progress", "completed", "incomplete")
	switch kind {
	case "message":
		return item, c.readMessage(f, path)
	case "reasoning":
		f.Need("summary")
		for i, e := range f.List("summary") {
			p := strict.NewObject(fmt.Sprintf("%s.summary[%d]", path, i), e)
			p.Word("type", true, "summary_text")
			p.Text("text", true)
			if err := p.Done(); err != nil {
				return item, err
			}
		}
		f.List("content")
		f.Text("encrypted_content", false)
	case "function_call":
		f.Text("name", true)
		f.Text("arguments", true)
		f.Take("namespace")
		f.Text("call_id", true)
	case "custom_tool_call":
		f.Text("name", true)
		f.Text("input", true)
		f.Text("call_id", true)
	case "function_call_output", "custom_tool_call_output":
		f.Text("call_id", true)
		if list, ok := f.Need("output").([]any); ok {
			if err := c.readParts(path+".output", "user", list); err != nil {
				return item, err
			}
		} else if _, ok := f.Members["output"].(string); !ok {
			f.Fail("output", "expected a string or a list")
		}
	case "web_search_call", "code_interpreter_call":
		if err := c.readServed(f, path, item); err != nil {
			return item, err
		}
	case "compaction":
		f.Text("encrypted_content", true)
	case "configuration_update":
		if err := c.readUpdate(f, path); err != nil {
			return item, err
		}
	case "item_reference":
		return item, unresolved(item.id)
	default:
		return item, unfit(path+".type", "invalid_value", "Invalid value: '%s'. Supported values are: 'message', 'reasoning', 'function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output', 'web_search_call', 'code_interpreter_call', 'compaction', and 'item_reference'.", kind)
	}
	if err := f.Done(); err != nil {
		return item, err
	}
	if item.called() {
		if err := portable.HistoryName(path+".name", item.text("name")); err != nil {
			return item, unfit(path+".name", "invalid_value", "%s", err)
		}
	}
	if id := item.text("call_id"); (item.called() || item.answers()) && (id == "" || len(id) > 64) {
		return item, unfit(path+".call_id", "string_above_max_length", "Invalid '%s.call_id': string too long or empty. Expected a string with length 1 to 64, but got a string with length %d instead.", path, len(id))
	}
	return item, nil
}

func (c *call) readMessage(f *strict.Object, path string) error {
	role := f.Word("role", true, "user", "assistant", "system", "developer")
	f.Word("phase", false, "commentary", "final_answer")
	content := f.Need("content")
	if err := f.Done(); err != nil {
		return err
	}
	if c.door.plan && role == "system" {
		return unfit(path+".role", "unsupported_value", "System messages are not allowed")
	}
	switch content := content.(type) {
	case string:
		return nil
	case []any:
		return c.readParts(path+".content", role, content)
	}
	return unfit(path+".content", "invalid_type", "Invalid type for '%s.content': expected one of an array of objects or string.", path)
}

// readParts checks the parts of a message or a result: output parts in an answer, and input parts elsewhere.
func (c *call) readParts(path, role string, list []any) error {
	allowed := []string{"input_text", "input_image", "input_file"}
	if role == "assistant" {
		allowed = []string{"output_text", "refusal"}
	}
	for i, e := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		f := strict.NewObject(at, e)
		kind := f.Text("type", true)
		if f.Err != nil {
			return f.Err
		}
		if !slices.Contains(allowed, kind) {
			return unfit(at, "invalid_value", "Invalid value: '%s'. Supported values are: '%s'.", kind, strings.Join(allowed, "', '"))
		}
		switch kind {
		case "input_text":
			f.Text("text", true)
		case "output_text":
			f.Text("text", true)
			f.Take("annotations")
			f.Take("logprobs")
		case "refusal":
			f.Text("refusal", true)
		case "input_image":
			f.Word("detail", false, "low", "high", "auto", "original")
			url := f.Text("image_url", true)
			if f.Err == nil && !strings.HasPrefix(url, "data:image/") && !strings.HasPrefix(url, "https://") {
				return unfit(at+".image_url", "invalid_value", "Invalid '%s.image_url'. Expected a valid URL, but got a value with an invalid format.", at)
			}
			if kind, data, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,"); f.Err == nil && ok && !portable.ImageTaken(kind, data) {
				return unfit(at+".image_url", "invalid_image_format", "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].")
			}
			if c.model.open {
				return unfit(at, "invalid_value", "Invalid content type. image_url is only supported by certain models.")
			}
			if c.door.copilot && !c.vision {
				return unfit("", "", "missing required Copilot-Vision-Request header for vision requests")
			}
		case "input_file":
			f.Text("filename", false)
			f.Text("file_url", false)
			f.Text("file_data", false)
		}
		if err := f.Done(); err != nil {
			return err
		}
	}
	return nil
}

// said returns the text of a message.
func (i item) said() string {
	if s, ok := i.m["content"].(string); ok {
		return s
	}
	list, _ := i.m["content"].([]any)
	var texts []string
	for _, e := range list {
		if p, ok := e.(map[string]any); ok {
			if s, ok := p["text"].(string); ok {
				texts = append(texts, s)
			}
		}
	}
	return strings.Join(texts, "\n")
}
