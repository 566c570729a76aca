package schema

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Example returns a value that fits the schema: the members that it requires, and for each of them the first value that it
// lists, its first example, its default, or a value of its type. word returns the words for strings.
func Example(schema map[string]any, word func() string) any {
	return maker{schema, word}.value(at(schema, schema), 0)
}

type maker struct {
	root node
	word func() string
}

func (m maker) value(n node, depth int) any {
	if choice, ok := n["enum"].([]any); ok && len(choice) > 0 {
		return choice[0]
	}
	if v, ok := n["const"]; ok {
		return v
	}
	if list, _ := n["examples"].([]any); len(list) > 0 {
		return list[0]
	}
	if v, ok := n["default"]; ok {
		return v
	}
	if list := n.choices(); list != nil && n["properties"] == nil && depth < depthMost {
		return m.value(at(m.root, list[0]), depth+1)
	}
	switch n.kind() {
	case "object":
		return m.object(n, depth)
	case "array":
		return m.array(n, depth)
	case "integer", "number":
		return amount(n)
	case "boolean":
		return true
	case "null":
		return nil
	}
	return m.text(n)
}

func (m maker) object(n node, depth int) any {
	object := map[string]any{}
	properties, _ := n["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if depth < depthMost && n.required(name) {
			object[name] = m.value(at(m.root, properties[name]), depth+1)
		}
	}
	return object
}

func (m maker) array(n node, depth int) any {
	if n["items"] == nil || depth >= depthMost {
		return []any{}
	}
	least, _ := n.number("minItems")
	list := []any{}
	for range min(max(1, int(least)), 100) {
		list = append(list, m.value(at(m.root, n["items"]), depth+1))
	}
	return list
}

// amount returns 1, or the number next to it that the node allows.
func amount(n node) json.Number {
	x := 1.0
	if least, ok := n.number("minimum"); ok {
		x = math.Max(x, math.Ceil(least))
	}
	if below, ok := n.number("exclusiveMinimum"); ok && below >= x {
		x = math.Floor(below) + 1
	}
	if most, ok := n.number("maximum"); ok {
		x = math.Min(x, most)
	}
	return json.Number(strconv.FormatFloat(x, 'f', -1, 64))
}

// formatted returns a string of a format that is more than a word; empty: the format is not known.
func formatted(format string) string {
	switch format {
	case "uri", "url":
		return "https://example.com/"
	case "email":
		return "somebody@example.com"
	case "date":
		return "2026-01-31"
	case "date-time":
		return "2026-01-31T12:00:00Z"
	case "time":
		return "12:00:00Z"
	case "uuid":
		return "00000000-0000-4000-8000-000000000000"
	}
	return ""
}

func (m maker) text(n node) string {
	format, _ := n["format"].(string)
	if text := formatted(format); text != "" {
		return text
	}
	text := m.word()
	if least, ok := n.number("minLength"); ok && len(text) < int(least) {
		text += strings.Repeat("x", min(int(least)-len(text), 1000))
	}
	if most, ok := n.number("maxLength"); ok && most >= 0 && len(text) > int(most) {
		text = strings.ToValidUTF8(text[:int(most)], "")
	}
	return text
}
