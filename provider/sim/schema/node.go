package schema

import (
	"encoding/json"
	"slices"
	"strings"
)

// depthMost limits the depth of values, because a schema may contain itself.
const depthMost = 8

// node is a schema, or a part of one.
type node map[string]any

// at returns what v refers to, if it is a reference into root. A reference that leads nowhere, and a circle, give an empty node.
func at(root node, v any) node {
	n, _ := v.(map[string]any)
	for range depthMost {
		ref, ok := n["$ref"].(string)
		if !ok {
			return n
		}
		path, _ := strings.CutPrefix(ref, "#")
		var target any = map[string]any(root)
		for step := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
			if step != "" {
				members, _ := target.(map[string]any)
				target = members[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
			}
		}
		n, _ = target.(map[string]any)
	}
	return nil
}

// types returns the types that a node allows, in lower case. Nil: all.
func (n node) types() (list []string) {
	switch v := n["type"].(type) {
	case string:
		list = append(list, strings.ToLower(v))
	case []any:
		for _, e := range v {
			if s, ok := e.(string); ok {
				list = append(list, strings.ToLower(s))
			}
		}
	}
	if nullable, _ := n["nullable"].(bool); nullable && list != nil { // OpenAPI's form of a list with null
		list = append(list, "null")
	}
	return list
}

// kind returns the type of the values that Example makes.
func (n node) kind() string {
	for _, t := range n.types() {
		if t != "null" {
			return t
		}
	}
	switch {
	case len(n.types()) > 0:
		return "null"
	case n["properties"] != nil:
		return "object"
	case n["items"] != nil:
		return "array"
	}
	return "string"
}

func (n node) required(name string) bool {
	list, _ := n["required"].([]any)
	return slices.Contains(list, any(name))
}

// number returns a limit of the node.
func (n node) number(name string) (float64, bool) {
	v, ok := n[name].(json.Number)
	if !ok {
		return 0, false
	}
	f, err := v.Float64()
	return f, err == nil
}

// choices returns the alternatives of a node; nil: it has none.
func (n node) choices() []any {
	for _, name := range []string{"anyOf", "oneOf"} {
		if list, _ := n[name].([]any); len(list) > 0 {
			return list
		}
	}
	return nil
}
