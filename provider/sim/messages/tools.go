package messages

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/portable"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// readTools checks tools and tool_choice and adds the tools to the context. Thinking is bound to their order and to their
// exact text, except for tools with deferred loading. [docs: preserved-thinking, tool use]
func (c *call) readTools(f *strict.Object) error {
	c.tools = map[string]map[string]any{}
	list := f.List("tools")
	for i, v := range list {
		if err := c.readTool(fmt.Sprintf("tools.%d", i), v); err != nil {
			return err
		}
	}
	if f.Err != nil {
		return f.Err
	}
	choice := f.Take("tool_choice")
	if choice == nil {
		return nil
	}
	t := strict.NewObject("tool_choice", choice)
	kind := t.Word("type", true, "auto", "any", "tool", "none")
	if kind != "none" {
		t.Flag("disable_parallel_tool_use")
	}
	switch kind {
	case "tool":
		c.force = t.Text("name", true)
	case "any":
		c.force = "*"
	}
	if err := t.Done(); err != nil {
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

func (c *call) readTool(path string, v any) error {
	f := strict.NewObject(path, v)
	kind := f.Text("type", false)
	name := f.Text("name", true)
	if f.Err != nil {
		return f.Err
	}
	if !portable.ToolName().MatchString(name) {
		return invalid("%s.name: String should match pattern '%s'", path, portable.ToolName())
	}
	if c.tools[name] != nil {
		return invalid("tools: Tool names must be unique.")
	}
	schema := map[string]any{}
	if kind == "" || kind == "custom" {
		f.Path = path + ".custom"
		var ok bool
		if schema, ok = f.Need("input_schema").(map[string]any); f.Err == nil && (!ok || schema["type"] != "object") {
			f.Fail("input_schema.type", "Input should be 'object'")
		}
		if f.Err == nil {
			f.Err = anthropicSchema(f.Path, schema)
		}
		f.Text("description", false)
		for _, known := range []string{"strict", "defer_loading", "eager_input_streaming", "input_examples", "allowed_callers"} {
			f.Take(known)
		}
		if v := f.Take("cache_control"); v != nil && f.Err == nil {
			f.Err = cacheControl(f.At("cache_control"), v)
			c.marked = append(c.marked, block{path: path, m: f.Members})
		}
		if err := f.Done(); err != nil {
			return err
		}
	} else if !serverTool().MatchString(kind) {
		return invalid("%s: Input tag '%s' found using 'type' does not match any of the expected tags", path, kind)
	} else if err := c.readHosted(f, path, kind, name); err != nil {
		return err
	}
	c.tools[name] = schema
	if f.Members["defer_loading"] != true {
		tool := strict.AppendCanonical(nil, strict.Without(f.Members, "cache_control"))
		c.context = c.context.With([]byte("tool"), tool)
		c.tokens += sim.Tokens(string(tool))
	}
	return nil
}

// cacheControl checks a cache_control member.
func cacheControl(path string, v any) error {
	f := strict.NewObject(path, v)
	f.Word("type", true, "ephemeral")
	f.Word("ttl", false, "5m", "1h")
	return f.Done()
}

// anthropicSchema checks a tool's schema by Anthropic's rules. [reports: claude-code 5319, 18386]
func anthropicSchema(path string, schema map[string]any) error {
	for _, name := range []string{"oneOf", "allOf", "anyOf"} {
		if schema[name] != nil {
			return invalid("%s.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level", path)
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		if !propertyKey(key) {
			return invalid("%s.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'", path)
		}
	}
	return nil
}

func propertyKey(key string) bool {
	return len(key) >= 1 && len(key) <= 64 && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == ""
}
