package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
)

var toolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`) })

// readTools checks tools and tool_choice and puts the tools into the context: their order and every word of them are
// part of what thinking is bound to, but for those whose loading is deferred. [docs: preserved-thinking, tool use]
func (c *messagesCall) readTools(f *fields) error {
	c.tools = map[string]map[string]any{}
	list := f.list("tools")
	for i, v := range list {
		if err := c.readTool(fmt.Sprintf("tools.%d", i), v); err != nil {
			return err
		}
	}
	if f.err != nil {
		return f.err
	}
	choice := f.take("tool_choice")
	if choice == nil {
		return nil
	}
	t := objectAt("tool_choice", choice)
	kind := t.word("type", true, "auto", "any", "tool", "none")
	if kind != "none" {
		t.flag("disable_parallel_tool_use")
	}
	switch kind {
	case "tool":
		c.force = t.text("name", true)
	case "any":
		c.force = "*"
	}
	if err := t.done(); err != nil {
		return err
	}
	switch {
	case len(list) == 0 && kind != "none":
		return invalid("tool_choice.%s may only be specified while providing tools.", kind)
	case c.force == "":
		return nil
	case kind == "tool" && c.tools[c.force] == nil:
		return invalid("tool_choice.name: Tool '%s' not found in provided tools", c.force)
	case c.model.noForce:
		return invalid(`tool_choice: type "tool" and "any" are not supported for this model.`)
	case c.thinking.kind == "enabled":
		return invalid("Thinking may not be enabled when tool_choice forces tool use.")
	}
	return nil
}

// serverTool matches the types of tools that the vendor runs or defines: they end in a date.
var serverTool = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z_]+_20\d{6}$`) })

func (c *messagesCall) readTool(path string, v any) error {
	f := objectAt(path, v)
	kind := f.text("type", false)
	name := f.text("name", true)
	if f.err != nil {
		return f.err
	}
	if !toolName().MatchString(name) {
		return invalid("%s.name: String should match pattern '%s'", path, toolName())
	}
	if c.tools[name] != nil {
		return invalid("tools: Tool names must be unique.")
	}
	schema := map[string]any{}
	if kind == "" || kind == "custom" {
		f.path = path + ".custom"
		var ok bool
		if schema, ok = f.need("input_schema").(map[string]any); f.err == nil && (!ok || schema["type"] != "object") {
			f.fail("input_schema.type", "Input should be 'object'")
		}
		if f.err == nil {
			f.err = anthropicSchema(f.path, schema)
		}
		f.text("description", false)
		for _, known := range []string{"strict", "defer_loading", "eager_input_streaming", "input_examples", "allowed_callers"} {
			f.take(known)
		}
		if v := f.take("cache_control"); v != nil && f.err == nil {
			f.err = cacheControl(f.at("cache_control"), v)
			c.marked = append(c.marked, messagesBlock{path: path, m: f.m})
		}
		if err := f.done(); err != nil {
			return err
		}
	} else if !serverTool().MatchString(kind) {
		return invalid("%s: Input tag '%s' found using 'type' does not match any of the expected tags", path, kind)
	}
	c.tools[name] = schema
	if f.m["defer_loading"] != true {
		tool := canonical(nil, without(f.m, "cache_control"))
		c.context = c.context.with([]byte("tool"), tool)
		c.tokens += tokens(string(tool))
	}
	return nil
}

// cacheControl checks a cache_control member. The cache itself is not imitated: all counts of cached tokens are zero.
func cacheControl(path string, v any) error {
	f := objectAt(path, v)
	f.word("type", true, "ephemeral")
	f.word("ttl", false, "5m", "1h")
	return f.done()
}

// without is m but for some members.
func without(m map[string]any, names ...string) map[string]any {
	rest := make(map[string]any, len(m))
	for k, v := range m {
		if !slices.Contains(names, k) {
			rest[k] = v
		}
	}
	return rest
}

// forcedCall makes the call that tool_choice asks for. With "any" it is the first tool by name.
func (c *messagesCall) forcedCall() {
	name := c.force
	if name == "" {
		return
	}
	if name == "*" {
		name = slices.Min(slices.Collect(maps.Keys(c.tools)))
	}
	c.ask.call = &Part{Kind: Call, Name: name, Input: c.exampleInput(name)}
}

// exampleInput fills a tool's schema with words of the prompt.
func (c *messagesCall) exampleInput(name string) json.RawMessage {
	w := newWriter(c.ask.seed, c.ask.prompt)
	return canonical(nil, w.example(c.tools[name], 0))
}

// exampleDepth ends schemas that would go on for ever.
const exampleDepth = 8

func (w *writer) example(schema map[string]any, depth int) any {
	if choice, ok := schema["enum"].([]any); ok && len(choice) > 0 {
		return choice[0]
	}
	if v, ok := schema["const"]; ok {
		return v
	}
	switch schema["type"] {
	case "object":
		object := map[string]any{}
		properties, _ := schema["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			inner, _ := properties[name].(map[string]any)
			if depth < exampleDepth && required(schema, name) {
				object[name] = w.example(inner, depth+1)
			}
		}
		return object
	case "array":
		inner, _ := schema["items"].(map[string]any)
		if inner == nil || depth >= exampleDepth {
			return []any{}
		}
		return []any{w.example(inner, depth+1)}
	case "integer", "number":
		return json.Number("1")
	case "boolean":
		return true
	case "null":
		return nil
	default:
		return w.topic()
	}
}

func required(schema map[string]any, name string) bool {
	list, _ := schema["required"].([]any)
	return slices.Contains(list, any(name))
}
