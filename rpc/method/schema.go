package method

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/thinkd/thinkd/provider"
)

// Schemas describes the Go types that params are decoded into and results are encoded from. A struct with a name and a
// type of fixed words get a schema of their own among the components, and a reference to it wherever they are used.
// Nothing refers to itself: tools that replace each reference by what it refers to must come to an end.
type Schemas struct {
	Components map[string]*jsonschema.Schema
	types      map[string]reflect.Type // by the component's name
	names      map[reflect.Type]string
	fixed      map[reflect.Type]*jsonschema.Schema
}

// NewSchemas begins an empty set. names are the names of components where that of the Go type will not do, fixed the
// schemas of types that do not show them.
func NewSchemas(names map[reflect.Type]string, fixed map[reflect.Type]*jsonschema.Schema) *Schemas {
	return &Schemas{make(map[string]*jsonschema.Schema), make(map[string]reflect.Type), names, fixed}
}

// Add makes a component by hand.
func (s *Schemas) Add(name string, schema *jsonschema.Schema) { s.Components[name] = schema }

// Described is a type whose JSON its Go type does not show.
type Described interface{ JSONSchema() *jsonschema.Schema }

// Of is the schema of a type where it is used.
func (s *Schemas) Of(t reflect.Type) *jsonschema.Schema {
	if schema, ok := s.fixed[t]; ok {
		return schema
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		return &jsonschema.Schema{}
	}
	if t.Kind() == reflect.Pointer {
		return s.Of(t.Elem())
	}
	switch v := reflect.Zero(t).Interface().(type) {
	case Described:
		return v.JSONSchema()
	case provider.Worded:
		return s.component(t, func() *jsonschema.Schema { return enumOf(v) })
	}
	switch t.Kind() {
	case reflect.Bool:
		return Kind("boolean")
	case reflect.String:
		return Kind("string")
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint64:
		return Kind("integer")
	case reflect.Float64:
		return Kind("number")
	case reflect.Slice, reflect.Array:
		return ListOf(s.Of(t.Elem()))
	case reflect.Map:
		return &jsonschema.Schema{Type: "object", AdditionalProperties: s.Of(t.Elem())}
	case reflect.Struct:
		if t.Name() == "" {
			return s.Object(t)
		}
		return s.component(t, func() *jsonschema.Schema { return s.Object(t) })
	}
	panic(fmt.Sprintf("the protocol has no schema for %v", t)) // of our own making, found by each test of the document
}

// Object is the schema of a struct, with the members of embedded ones. Those that are not described are ignored.
func (s *Schemas) Object(t reflect.Type) *jsonschema.Schema {
	var members []Property
	for _, f := range FieldsOf(t) {
		of := t.FieldByIndex(f.Index).Type
		schema := s.Of(of)
		if f.Required && of.Kind() == reflect.Pointer { // it is always there, and may be null
			schema = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{schema, Kind("null")}}
		}
		members = append(members, Property{f.Name, f.Required, schema})
	}
	return Object(members...)
}

// Whole is the schema of a struct in full, and not a reference.
func (s *Schemas) Whole(t reflect.Type) *jsonschema.Schema {
	if v, ok := reflect.Zero(t).Interface().(Described); ok {
		return v.JSONSchema()
	}
	return s.Object(t)
}

// component makes a type's schema at its first use.
func (s *Schemas) component(t reflect.Type, describe func() *jsonschema.Schema) *jsonschema.Schema {
	name := s.nameOf(t)
	switch known, ok := s.types[name]; {
	case !ok:
		s.types[name] = t // before it is described: a type that has itself inside is found by TestNoRecursion, not here
		s.Components[name] = describe()
	case known != t:
		panic(fmt.Sprintf("both %v and %v are called %s: give one of them another name", known, t, name))
	}
	return Ref(name)
}

func (s *Schemas) nameOf(t reflect.Type) string {
	if name, ok := s.names[t]; ok {
		return name
	}
	name := strings.TrimPrefix(t.Name(), "wire")
	return strings.ToUpper(name[:1]) + name[1:]
}

// Kind is the schema of a JSON type.
func Kind(word string) *jsonschema.Schema { return &jsonschema.Schema{Type: word} }

// About is Kind with a description.
func About(word, text string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: word, Description: text}
}

// Ref refers to a component.
func Ref(name string) *jsonschema.Schema {
	return &jsonschema.Schema{Ref: refPrefix + name}
}

const refPrefix = "#/components/schemas/"

// ListOf is the schema of an array.
func ListOf(of *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Items: of}
}

// Constant is the schema of one word.
func Constant(word string) *jsonschema.Schema {
	var value any = word
	return &jsonschema.Schema{Const: &value}
}

// enumOf is the schema of a type of fixed words.
func enumOf(of provider.Worded) *jsonschema.Schema {
	s := Kind("string")
	for _, word := range of.Words() {
		s.Enum = append(s.Enum, word)
	}
	return s
}

// OneOf is the schema of one of several components.
func OneOf(names ...string) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	for _, name := range names {
		s.OneOf = append(s.OneOf, Ref(name))
	}
	return s
}

// Property is a member of an object's schema.
type Property struct {
	name     string
	required bool
	schema   *jsonschema.Schema
}

// Required is a member that is always there.
func Required(name string, s *jsonschema.Schema) Property { return Property{name, true, s} }

// Optional is a member that may be absent.
func Optional(name string, s *jsonschema.Schema) Property { return Property{name, false, s} }

// Object keeps the order of its members.
func Object(members ...Property) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: make(map[string]*jsonschema.Schema, len(members))}
	for _, m := range members {
		s.Properties[m.name] = m.schema
		s.PropertyOrder = append(s.PropertyOrder, m.name)
		if m.required {
			s.Required = append(s.Required, m.name)
		}
	}
	return s
}
