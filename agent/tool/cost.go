package tool

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
)

// The library has no limits of its own. A schema that refers to itself twice takes twice the time for each level of the
// input, one that refers to itself for nothing never ends, and each fault is told with what was wrong and written out anew
// for each level around it. Both can come from a model that meant no harm.

var (
	errTooComplex = errors.New("too deep or too large to be held against the schema")
	errNumber     = errors.New("has a number that is too large")
)

// Bounds of a check.
const (
	maxWork  = 2_000_000 // of visits and of what is visited: about a second
	maxDepth = 200       // of a schema, and of visits inside one another
)

// visits counts down what a check would do, and ends when there is nothing left.
type visits struct {
	schema      any
	left, depth int
}

// affordable reports whether a value can be held against a schema in a bounded time.
func (c *compiled) affordable(value any) bool {
	v := visits{schema: c.document, left: maxWork}
	v.visit(c.document, value)
	return v.left > 0
}

// Words of a schema behind which schemas stand, by what is held against them: the value itself, its items, its members.
var (
	forItself  = []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else"}
	forItems   = []string{"items", "prefixItems", "additionalItems", "contains", "unevaluatedItems"}
	forMembers = []string{"additionalProperties", "unevaluatedProperties"}
)

// visit goes where the library goes, and to what it would leave out as well.
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

// weigh counts a value and what is in it: a fault is told with it.
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

// find is what a reference leads to. One by another way than a place in the document may lead to the whole of it.
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
