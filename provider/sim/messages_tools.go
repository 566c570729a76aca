package sim

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

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
		return messagesInvalid("tool_choice.%s may only be specified while providing tools.", kind)
	case c.force == "":
		return nil
	case kind == "tool" && c.tools[c.force] == nil:
		return messagesInvalid("tool_choice.name: Tool '%s' not found in provided tools", c.force)
	case c.model.noForce:
		return messagesInvalid(`tool_choice: type "tool" and "any" are not supported for this model.`)
	case c.thinking.kind == "enabled":
		return messagesInvalid("Thinking may not be enabled when tool_choice forces tool use.")
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
		return messagesInvalid("%s.name: String should match pattern '%s'", path, toolName())
	}
	if c.tools[name] != nil {
		return messagesInvalid("tools: Tool names must be unique.")
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
		return messagesInvalid("%s: Input tag '%s' found using 'type' does not match any of the expected tags", path, kind)
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

// anthropicSchema judges a tool's schema by what Anthropic takes. [reports: claude-code 5319, 18386]
func anthropicSchema(path string, schema map[string]any) error {
	for _, name := range []string{"oneOf", "allOf", "anyOf"} {
		if schema[name] != nil {
			return messagesInvalid("%s.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level", path)
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		if !propertyKey(key) {
			return messagesInvalid("%s.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'", path)
		}
	}
	return nil
}

func propertyKey(key string) bool {
	return len(key) >= 1 && len(key) <= 64 && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == ""
}
