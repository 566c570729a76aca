package main

import (
	"strings"

	"github.com/tidwall/gjson"
)

// A kind is a form of schema that the daemon uses.
type kind int

const (
	anything kind = iota
	named         // has a name among the components
	words         // one of some strings, or of a string type and some strings
	scalar        // string, boolean, integer, number
	list
	table  // an object with any names, whose values have one type
	object // an object with members
	union  // of named objects, which differ in their member "type"
)

// A shape is what the typed libraries need of a schema.
type shape struct {
	kind     kind
	nullable bool
	name     string         // of a named schema, or the word of a scalar
	of       []gjson.Result // the words, the elements of a union, or the one schema of the values of a list or table
	members  []field        // of an object
}

type field struct {
	name     string
	required bool
	schema   gjson.Result
}

// shapeOf reads a schema.
func shapeOf(s gjson.Result) shape {
	switch ref := s.Get(`\$ref`).String(); {
	case s.IsBool(), ref != "" && !strings.HasPrefix(ref, component):
		return shape{kind: anything}
	case ref != "":
		return shape{kind: named, name: strings.TrimPrefix(ref, component)}
	case s.Get("enum").Exists():
		return shape{kind: words, of: s.Get("enum").Array()}
	case s.Get("const").Exists():
		return shape{kind: words, of: []gjson.Result{s.Get("const")}}
	}
	for _, word := range []string{"oneOf", "anyOf"} {
		if all := s.Get(word); all.Exists() {
			return either(all.Array())
		}
	}
	switch word := s.Get("type").String(); word {
	case "array":
		return shape{kind: list, of: []gjson.Result{s.Get("items")}}
	case "object":
		if fields := fieldsOf(s); len(fields) > 0 {
			return shape{kind: object, members: fields}
		}
		return shape{kind: table, of: []gjson.Result{s.Get("additionalProperties")}}
	default:
		return shape{kind: scalar, name: word}
	}
}

const component = "#/components/schemas/"

// either is the shape of a choice: a schema or null, one of several named objects, or several forms, which are anything.
func either(all []gjson.Result) shape {
	var rest []gjson.Result
	refs := 0
	for _, s := range all {
		if s.Get("type").String() == "null" {
			continue
		}
		if s.Get(`\$ref`).Exists() {
			refs++
		}
		rest = append(rest, s)
	}
	if len(rest) == 1 {
		one := shapeOf(rest[0])
		one.nullable = true
		return one
	}
	if refs == len(rest) {
		return shape{kind: union, of: rest}
	}
	for _, s := range rest { // such as a level, or the word none
		if !s.Get(`\$ref`).Exists() && s.Get("const").Type != gjson.String {
			return shape{kind: anything}
		}
	}
	return shape{kind: scalar, name: "string"}
}

// fieldsOf are the members of an object.
func fieldsOf(s gjson.Result) (list []field) {
	required := make(map[string]bool)
	for _, name := range s.Get("required").Array() {
		required[name.String()] = true
	}
	s.Get("properties").ForEach(func(name, schema gjson.Result) bool {
		list = append(list, field{name.String(), required[name.String()], schema})
		return true
	})
	return list
}

// paramsOf are the params of a method.
func paramsOf(m gjson.Result) (list []field) {
	for _, p := range m.Get("params").Array() {
		list = append(list, field{p.Get("name").String(), p.Get("required").Bool(), p.Get("schema")})
	}
	return list
}

// camel is a name of the protocol as the name of a type: session/set_key is SessionSetKey.
func camel(name string) string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '_' || r == '.' || r == '-' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
