package sim

import (
	"encoding/json"
	"maps"
	"slices"
)

// forcedCall makes the call that tool_choice asks for. With "any" it is the first tool by name.
func (c *messagesCall) forcedCall() error {
	name := c.force
	if name == "" {
		return nil
	}
	if name == "*" {
		name = slices.Min(slices.Collect(maps.Keys(c.tools)))
	}
	c.ask.call = &Part{Kind: Call, Name: name, Input: c.exampleInput(name)}
	return nil
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
