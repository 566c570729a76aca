package arguments

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
)

// The JSON-schema library has no limits. A schema that refers to itself twice doubles the time for each level of the input. A
// schema that refers to itself without reading a member never ends. And the text of a fault has the wrong value, copied once for
// each level around it. Models send such schemas and inputs by accident.
//
// Therefore a check first walks through the schema and the input as the library would, and only counts. A check that costs more
// than maxWork does not take place.

var (
	errTooComplex = errors.New("too deep or too large to be held against the schema")
	errNumber     = errors.New("has a number that is too large")
)

// Bounds of a check.
const (
	maxWork  = 2_000_000 // of visits and of what is visited: about a second
	maxDepth = 200       // of a schema, and of visits inside one another
)

// visits counts down the work of a check. It ends at 0.
type visits struct {
	schema      any
	left, depth int
}

// affordable reports whether the check of a value against a schema takes a bounded time. Both are decoded JSON.
func affordable(schema, value any) bool {
	v := visits{schema: schema, left: maxWork}
	v.visit(schema, value)
	return v.left > 0
}

// Keywords with a schema, or a list of schemas, as their value: for the value itself, for its items, for its members.
var (
	forItself  = []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else"}
	forItems   = []string{"items", "prefixItems", "additionalItems", "contains", "unevaluatedItems"}
	forMembers = []string{"additionalProperties", "unevaluatedProperties"}
)

// visit goes where the library goes, and also where the library would stop early.
func (v *visits) visit(schema, value any) {
	s, ok := schema.(map[string]any)
	if !ok || v.left <= 0 {
		return
	}
	if v.depth == maxDepth {
		v.left = 0
		return
	}
	v.depth++
	defer func() { v.depth-- }()
	v.left -= 1 + v.depth*v.depth/16
	v.weigh(value)
	for _, word := range []string{"$ref", "$dynamicRef"} {
		if to, ok := s[word].(string); ok {
			v.visit(v.find(to), value)
		}
	}
	for _, word := range forItself {
		v.all(s[word], value)
	}
	v.named(s["dependentSchemas"], value)
	v.named(s["dependencies"], value)
	switch value := value.(type) {
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		for name, member := range value {
			v.visit(s["propertyNames"], name)
			v.visit(properties[name], member)
			v.named(s["patternProperties"], member)
			for _, word := range forMembers {
				v.visit(s[word], member)
			}
		}
	case []any:
		for _, item := range value {
			for _, word := range forItems {
				v.all(s[word], item)
			}
		}
	}
}

// all visits a schema, or a list of them.
func (v *visits) all(schemas, value any) {
	if list, ok := schemas.([]any); ok {
		for _, schema := range list {
			v.visit(schema, value)
		}
		return
	}
	v.visit(schemas, value)
}

// named visits schemas that have names.
func (v *visits) named(schemas, value any) {
	byName, _ := schemas.(map[string]any)
	for _, schema := range byName {
		v.visit(schema, value)
	}
}

// weigh counts a value and its members, because the text of a fault quotes them.
func (v *visits) weigh(value any) {
	v.left--
	switch value := value.(type) {
	case string:
		v.left -= len(value) / 64
	case []any:
		for _, item := range value {
			if v.left > 0 {
				v.weigh(item)
			}
		}
	case map[string]any:
		for name, member := range value {
			if v.left > 0 {
				v.weigh(name)
				v.weigh(member)
			}
		}
	}
}

// find returns the target of a reference. A reference that is not a path in the document counts as the whole document.
func (v *visits) find(reference string) any {
	path, ok := strings.CutPrefix(reference, "#")
	if !ok || path != "" && path[0] != '/' {
		return v.schema
	}
	at := v.schema
	for _, part := range strings.Split(path, "/")[1:] {
		if plain, err := url.PathUnescape(part); err == nil {
			part = plain
		}
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		switch inner := at.(type) {
		case map[string]any:
			at = inner[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(inner) {
				return nil
			}
			at = inner[i]
		default:
			return nil
		}
	}
	return at
}
