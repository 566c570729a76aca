package sim

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/thinkd/thinkd/provider/sim/strict"
)

// Force makes the answer call the tool that tool_choice demands, with an input that fits its schema. tools has the schemas by
// name. The name "*" stands for the alphabetically first tool. An empty name forces nothing.
func (q *Ask) Force(name string, tools map[string]map[string]any) {
	if name == "" || len(tools) == 0 {
		return
	}
	if name == "*" {
		name = slices.Min(slices.Collect(maps.Keys(tools)))
	}
	input := strict.AppendCanonical(nil, newWriter(q.Seed, q.Prompt).example(tools[name], 0))
	q.call = &Part{Kind: Call, Name: name, Input: input}
}

// exampleDepth limits the depth of an example, because a schema may contain itself.
const exampleDepth = 8

// example returns a value that fits the schema.
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
