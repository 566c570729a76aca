package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/thinkd/thinkd/provider/sim/strict"
)

// Check returns why the value does not fit the schema, in a sentence that begins with the place in the value. It returns nil if
// the value fits.
func Check(schema map[string]any, value any) error {
	return checker{schema}.value("the value", at(schema, schema), value, 0)
}

type checker struct{ root node }

func (c checker) value(where string, n node, v any, depth int) error {
	if depth > 4*depthMost {
		return fmt.Errorf("%s is nested too deeply", where)
	}
	if list := n.types(); list != nil && !slices.ContainsFunc(list, func(t string) bool { return has(t, v) }) {
		return fmt.Errorf("%s must be of type %s", where, strings.Join(list, " or "))
	}
	if list, ok := n["enum"].([]any); ok && !slices.ContainsFunc(list, func(e any) bool { return spell(e) == spell(v) }) {
		return fmt.Errorf("%s must be one of %s", where, spell(list))
	}
	if one, ok := n["const"]; ok && spell(one) != spell(v) {
		return fmt.Errorf("%s must be %s", where, spell(one))
	}
	if err := c.alternatives(where, n, v, depth); err != nil {
		return err
	}
	switch v := v.(type) {
	case map[string]any:
		return c.object(where, n, v, depth)
	case []any:
		return c.array(where, n, v, depth)
	case json.Number:
		return limits(where, n, v)
	case string:
		return lengths(where, n, v)
	}
	return nil
}

// has reports whether a value has a type of JSON Schema.
func has(t string, v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return t == "object"
	case []any:
		return t == "array"
	case string:
		return t == "string"
	case bool:
		return t == "boolean"
	case json.Number:
		f, err := v.Float64()
		return t == "number" || t == "integer" && err == nil && f == math.Trunc(f)
	}
	return t == "null"
}

func spell(v any) string { return string(strict.AppendCanonical(nil, v)) }

// alternatives checks anyOf, oneOf and allOf. A value that fits several schemas of oneOf passes.
func (c checker) alternatives(where string, n node, v any, depth int) error {
	all, _ := n["allOf"].([]any)
	for _, e := range all {
		if err := c.value(where, at(c.root, e), v, depth+1); err != nil {
			return err
		}
	}
	var first error
	for _, e := range n.choices() {
		err := c.value(where, at(c.root, e), v, depth+1)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func (c checker) object(where string, n node, v map[string]any, depth int) error {
	properties, _ := n["properties"].(map[string]any)
	list, _ := n["required"].([]any)
	for _, e := range list {
		name, _ := e.(string)
		if _, ok := v[name]; !ok {
			return fmt.Errorf("%s lacks %q", where, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		schema, known := properties[name]
		if !known {
			schema = n["additionalProperties"]
		}
		if schema == false {
			return fmt.Errorf("%s has no member %q", where, name)
		}
		if err := c.value(fmt.Sprintf("%q", name), at(c.root, schema), v[name], depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (c checker) array(where string, n node, v []any, depth int) error {
	if least, ok := n.number("minItems"); ok && len(v) < int(least) {
		return fmt.Errorf("%s needs at least %v items", where, least)
	}
	if most, ok := n.number("maxItems"); ok && len(v) > int(most) {
		return fmt.Errorf("%s takes at most %v items", where, most)
	}
	for i, e := range v {
		if err := c.value(fmt.Sprintf("item %d of %s", i+1, where), at(c.root, n["items"]), e, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func limits(where string, n node, v json.Number) error {
	f, err := v.Float64()
	if least, ok := n.number("minimum"); ok && (err != nil || f < least) {
		return fmt.Errorf("%s must be at least %v", where, least)
	}
	if most, ok := n.number("maximum"); ok && (err != nil || f > most) {
		return fmt.Errorf("%s must be at most %v", where, most)
	}
	return nil
}

func lengths(where string, n node, v string) error {
	length := utf8.RuneCountInString(v)
	if least, ok := n.number("minLength"); ok && length < int(least) {
		return fmt.Errorf("%s needs at least %v characters", where, least)
	}
	if most, ok := n.number("maxLength"); ok && length > int(most) {
		return fmt.Errorf("%s takes at most %v characters", where, most)
	}
	return nil
}
