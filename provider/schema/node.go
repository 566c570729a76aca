package schema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// annotations say nothing of what a value may be, or nothing that the agent's own check does not demand: nobody misses
// them.
var annotations = []string{"$schema", "$id", "$comment", "$anchor", "$defs", "definitions", "title", "default", "examples", "example",
	"deprecated", "readOnly", "writeOnly", "ref", "nullable", "additionalProperties"}

// refused are keywords that OpenAI does not take. What they demand, the agent's own check demands.
var refused = []string{"not", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties",
	"unevaluatedItems", "patternProperties", "propertyNames", "contains", "minContains", "maxContains", "prefixItems", "$defs", "definitions",
	"$schema", "$id", "$anchor", "$comment", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary", "ref"}

var types = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// numbers are keywords whose values are numbers.
var numbers = []string{"minItems", "maxItems", "minimum", "maximum"}

// node reduces a schema below the top level. nullable says that it took null as well, which is said nowhere any more.
func (r *reducer) node(o *object, depth int) (out *object, nullable bool) {
	if r.nodes++; depth > maxDepth || r.nodes > maxNodes {
		r.lose("what is nested too deeply")
		return r.anything(), false
	}
	unfolding := len(r.open)
	defer func() { r.open = r.open[:unfolding] }()
	o = r.union(r.refer(o.copy()))
	if o.has("oneOf") {
		if !o.has("anyOf") {
			o.set("anyOf", o.values["oneOf"])
		} else {
			r.lose("oneOf")
		}
		o.drop("oneOf")
	}
	r.keywords(o)
	r.constant(o)
	nullable = r.types(o)
	o, null := r.alternatives(o, depth)
	nullable = nullable || null
	if o.has("anyOf") {
		if r.rules.typed {
			return r.alone(o), nullable
		}
		return o, nullable
	}
	r.infer(o)
	r.choices(o)
	r.format(o)
	r.properties(o, depth)
	r.items(o, depth)
	return o, nullable
}

// anything returns the schema of a value that can be anything.
func (r *reducer) anything() *object {
	o := newObject()
	o.set("type", quote("object"))
	return o
}

// keywords leaves out what the API does not know.
func (r *reducer) keywords(o *object) {
	for _, name := range slices.Clone(o.names) {
		known := !slices.Contains(refused, name)
		if r.rules.keywords != nil {
			known = slices.Contains(r.rules.keywords, name) || name == "const"
		}
		if raw, scalar := o.values[name].(json.RawMessage); slices.Contains(numbers, name) && (!scalar || gjson.ParseBytes(raw).Type != gjson.Number) {
			known = false
		}
		if known {
			continue
		}
		o.drop(name)
		if !slices.Contains(annotations, name) {
			r.lose(name)
		}
	}
}

// constant makes a choice of one of a constant.
func (r *reducer) constant(o *object) {
	if r.rules.keywords == nil || !o.has("const") {
		return
	}
	v := o.values["const"]
	o.drop("const")
	if !o.has("enum") {
		o.set("enum", []any{v})
	}
}

// types makes one type of a list where there has to be one.
func (r *reducer) types(o *object) (nullable bool) {
	list, ok := o.values["type"].([]any)
	if !ok {
		if o.has("type") && !slices.Contains(types, o.text("type")) {
			r.lose("type " + o.text("type"))
			o.drop("type")
		}
		return false
	}
	names := slices.DeleteFunc(o.list("type"), func(t string) bool { return !slices.Contains(types, t) })
	if len(names) == len(list) && !r.rules.typed && len(names) > 0 {
		return false
	}
	if i := slices.Index(names, "null"); i >= 0 && r.rules.typed {
		names, nullable = slices.Delete(names, i, i+1), true
	}
	switch {
	case len(names) == 0:
		o.drop("type")
	case len(names) == 1:
		o.set("type", quote(names[0]))
	default:
		o.drop("type")
		if !o.has("anyOf") {
			var each []any
			for _, name := range names {
				one := newObject()
				one.set("type", quote(name))
				if name == "array" && o.has("items") {
					one.set("items", o.values["items"])
				}
				if name == "object" && o.has("properties") {
					one.set("properties", o.values["properties"])
				}
				each = append(each, one)
			}
			o.set("anyOf", each)
		}
	}
	return nullable
}

// alternatives reduces those of a union. One that is left alone takes the union's place.
func (r *reducer) alternatives(o *object, depth int) (_ *object, nullable bool) {
	if !o.has("anyOf") {
		return o, false
	}
	list, _ := o.values["anyOf"].([]any)
	var each []any
	for _, e := range list {
		alternative, ok := e.(*object)
		if !ok {
			continue
		}
		if alternative.text("type") == "null" && r.rules.typed {
			nullable = true
			continue
		}
		one, null := r.node(alternative, depth+1)
		nullable = nullable || null
		each = append(each, one)
	}
	switch {
	case len(each) == 0:
		o.drop("anyOf")
		return o, nullable
	case len(each) == 1 && r.rules.typed:
		o.drop("anyOf")
		one := each[0].(*object).copy()
		for _, name := range o.names {
			if name == "description" || !one.has(name) {
				one.set(name, o.values[name])
			}
		}
		return one, nullable
	}
	o.set("anyOf", each)
	return o, nullable
}

// alone returns a union without other keywords: these move to the alternatives that do not have them.
func (r *reducer) alone(o *object) *object {
	out := newObject()
	list, _ := o.values["anyOf"].([]any)
	if o.has("description") {
		for i, e := range list {
			one := e.(*object).copy()
			if !one.has("description") && !one.has("anyOf") {
				one.set("description", o.values["description"])
			}
			list[i] = one
		}
	}
	out.set("anyOf", list)
	return out
}

// infer says the type of a schema that says none.
func (r *reducer) infer(o *object) {
	if o.has("type") {
		return
	}
	kind := "string"
	choices, _ := o.values["enum"].([]any)
	switch {
	case o.has("properties"):
		kind = "object"
	case o.has("items"):
		kind = "array"
	case o.has("minimum"), o.has("maximum"):
		kind = "number"
	case len(choices) > 0:
		kind = typeOf(choices)
	case o.has("format"):
	case r.rules.named:
		o.set("type", words("string", "number", "boolean", "object", "array"))
		return
	case !r.rules.typed:
		return
	}
	o.set("type", quote(kind))
}

// typeOf is the type that all values have, else string.
func typeOf(values []any) string {
	kinds := map[string]bool{}
	for _, v := range values {
		raw, scalar := v.(json.RawMessage)
		switch p := gjson.ParseBytes(raw); {
		case !scalar:
			kinds["object"] = true
		case p.Type == gjson.String:
			kinds["string"] = true
		case p.IsBool():
			kinds["boolean"] = true
		case p.Type == gjson.Number && !strings.ContainsAny(string(raw), ".eE"):
			kinds["integer"] = true
		case p.Type == gjson.Number:
			kinds["number"] = true
		}
	}
	if len(kinds) == 1 {
		for kind := range kinds {
			return kind
		}
	}
	return "string"
}

// choices keeps words of choice where the API takes them, and says the others in the description.
func (r *reducer) choices(o *object) {
	if !o.has("enum") {
		return
	}
	list, ok := o.values["enum"].([]any)
	if !ok || len(list) == 0 {
		o.drop("enum")
		r.lose("enum")
		return
	}
	if !r.rules.typed {
		return
	}
	names := slices.DeleteFunc(o.list("enum"), func(w string) bool { return w == "" })
	switch {
	case o.text("type") == "string" && len(names) == len(list):
	case o.text("type") == "string" && len(names) > 0:
		o.set("enum", words(names...))
		r.lose("enum")
	default:
		o.drop("enum")
		r.lose("enum")
		said := strings.TrimSpace(o.text("description") + " One of: " + strings.Trim(string(encode(list)), "[]"))
		o.set("description", quote(said))
	}
}

// format keeps the formats that the API knows.
func (r *reducer) format(o *object) {
	if !o.has("format") {
		return
	}
	name := o.text("format")
	if (o.text("type") == "string" || !r.rules.typed) && slices.Contains(r.rules.formats, name) {
		return
	}
	o.drop("format")
	r.lose("format " + name)
}

// properties reduces those of an object. What may be null is not required any more: it can be left out.
func (r *reducer) properties(o *object, depth int) {
	if !o.has("properties") {
		if o.text("type") == "object" && depth == 0 && !r.rules.typed {
			o.set("properties", newObject())
		}
		r.members(o, depth)
		return
	}
	all, ok := o.values["properties"].(*object)
	if !ok { // some servers write an empty list
		all = newObject()
	}
	out := newObject()
	var nullable []string
	for _, name := range all.names {
		inner, ok := all.values[name].(*object)
		if !ok { // true: anything
			inner = newObject()
		}
		one, null := r.node(inner, depth+1)
		if null {
			nullable = append(nullable, name)
		}
		out.set(name, one)
	}
	o.set("properties", out)
	r.members(o, depth)
	if o.has("required") {
		r.require(o, func(name string) bool {
			return !slices.Contains(nullable, name) && (out.has(name) || !r.rules.typed)
		})
	}
}

// members reduces the schema of members without a name.
func (r *reducer) members(o *object, depth int) {
	if inner, ok := o.values["additionalProperties"].(*object); ok {
		one, _ := r.node(inner, depth+1)
		o.set("additionalProperties", one)
	}
}

// items reduces those of a list, which has to say what it is of.
func (r *reducer) items(o *object, depth int) {
	list := o.text("type") == "array" || slices.Contains(o.list("type"), "array")
	if !o.has("items") {
		if list {
			o.set("items", r.element())
		}
		return
	}
	switch inner := o.values["items"].(type) {
	case *object:
		if len(inner.names) == 0 && !r.rules.typed {
			return
		}
		one, _ := r.node(inner, depth+1)
		o.set("items", one)
	case []any: // of a tuple
		r.lose("items")
		o.set("items", r.element())
		for _, e := range inner {
			if first, ok := e.(*object); ok {
				one, _ := r.node(first, depth+1)
				o.set("items", one)
				return
			}
		}
	default: // true: anything
		o.set("items", r.element())
	}
}

// element returns the schema of a list's element that can be anything.
func (r *reducer) element() *object {
	o := newObject()
	if r.rules.typed {
		o.set("type", quote("string"))
	}
	return o
}
