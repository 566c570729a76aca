package rpc

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/tool"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/session"
)

// schemaSet describes the Go types that params are decoded into and results are encoded from. A struct with a name and a
// type of fixed words get a schema of their own among the components, and a reference to it wherever they are used.
// Nothing refers to itself: tools that replace each reference by what it refers to must come to an end.
type schemaSet struct {
	components map[string]*jsonschema.Schema
	types      map[string]reflect.Type // by the component's name
}

func newSchemaSet() *schemaSet {
	s := &schemaSet{map[string]*jsonschema.Schema{"Error": errorSchema()}, map[string]reflect.Type{}}
	s.addBlocks()
	s.of(reflect.TypeFor[provider.Level]()) // the error refers to it
	s.of(reflect.TypeFor[newTool]())        // newTools refers to it
	return s
}

// described is a type whose JSON its Go type does not show.
type described interface{ JSONSchema() *jsonschema.Schema }

// of is the schema of a type where it is used.
func (s *schemaSet) of(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[conn.Error]():
		return ref("Error")
	case reflect.TypeFor[provider.Block](), reflect.TypeFor[wireBlock]():
		return ref("Block")
	case reflect.TypeFor[provider.Blocks]():
		return listOf(ref("Block"))
	case reflect.TypeFor[json.RawMessage]():
		return &jsonschema.Schema{}
	case reflect.TypeFor[provider.Money]():
		return kind("number")
	}
	if t.Kind() == reflect.Pointer {
		return s.of(t.Elem())
	}
	switch v := reflect.Zero(t).Interface().(type) {
	case described:
		return v.JSONSchema()
	case provider.Worded:
		return s.component(t, func() *jsonschema.Schema { return enumOf(v) })
	}
	switch t.Kind() {
	case reflect.Bool:
		return kind("boolean")
	case reflect.String:
		return kind("string")
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return kind("integer")
	case reflect.Float64:
		return kind("number")
	case reflect.Slice, reflect.Array:
		return listOf(s.of(t.Elem()))
	case reflect.Map:
		return &jsonschema.Schema{Type: "object", AdditionalProperties: s.of(t.Elem())}
	case reflect.Struct:
		if t.Name() == "" {
			return s.object(t)
		}
		return s.component(t, func() *jsonschema.Schema { return s.object(t) })
	}
	panic(fmt.Sprintf("the protocol has no schema for %v", t)) // of our own making, found by each test of the document
}

// object is the schema of a struct, with the members of embedded ones. Those that are not described are ignored.
func (s *schemaSet) object(t reflect.Type) *jsonschema.Schema {
	var members []property
	for _, f := range fieldsOf(t) {
		of := t.FieldByIndex(f.index).Type
		schema := s.of(of)
		if f.required && of.Kind() == reflect.Pointer { // it is always there, and may be null
			schema = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{schema, kind("null")}}
		}
		members = append(members, property{f.name, f.required, schema})
	}
	return object(members...)
}

// component makes a type's schema at its first use.
func (s *schemaSet) component(t reflect.Type, describe func() *jsonschema.Schema) *jsonschema.Schema {
	name := nameType(t)
	switch known, ok := s.types[name]; {
	case !ok:
		s.types[name] = t // before it is described: a type that has itself inside is found by TestNoRecursion, not here
		s.components[name] = describe()
	case known != t:
		panic(fmt.Sprintf("both %v and %v are called %s: give one of them another name", known, t, name))
	}
	return ref(name)
}

// names are those of protocol.md, where a type's own is another one.
var names = map[reflect.Type]string{
	reflect.TypeFor[feed.Model]():              "ModelInForce",
	reflect.TypeFor[wireCatalogModel]():        "Model",
	reflect.TypeFor[wireThinking]():            "ModelThinking",
	reflect.TypeFor[wireDefaults]():            "ReasoningDefaults",
	reflect.TypeFor[registry.Stated]():         "AgentReasoning",
	reflect.TypeFor[wireAuth]():                "AuthState",
	reflect.TypeFor[provider.Decision]():       "Reasoning",
	reflect.TypeFor[provider.Policy]():         "Fallback",
	reflect.TypeFor[provider.Source]():         "LevelSource",
	reflect.TypeFor[provider.Reason]():         "LevelReason",
	reflect.TypeFor[provider.Kind]():           "FailureKind",
	reflect.TypeFor[provider.RowSource]():      "ModelSource",
	reflect.TypeFor[provider.ControlKind]():    "ThinkingControl",
	reflect.TypeFor[provider.LifecycleState](): "ModelLifecycle",
	reflect.TypeFor[session.Status]():          "SessionStatus",
	reflect.TypeFor[session.Action]():          "ConfirmAction",
	reflect.TypeFor[feed.By]():                 "ResolvedBy",
	reflect.TypeFor[tool.Kind]():               "ToolHost",
	reflect.TypeFor[tool.Effect]():             "ToolEffect",
	reflect.TypeFor[tool.Rule]():               "ToolRule",
	reflect.TypeFor[tool.Mode]():               "ToolMode",
	reflect.TypeFor[tool.Policy]():             "ToolPolicy",
	reflect.TypeFor[tool.Scope]():              "GrantScope",
}

func nameType(t reflect.Type) string {
	if name, ok := names[t]; ok {
		return name
	}
	name := strings.TrimPrefix(t.Name(), "wire")
	return strings.ToUpper(name[:1]) + name[1:]
}

// addBlocks describes the blocks that a client may see and send, by hand: encoding/json has no unions, so no type shows
// them. Inside a tool's result are text and media only.
func (s *schemaSet) addBlocks() {
	text, flag, number := kind("string"), kind("boolean"), kind("integer")
	for _, b := range []struct {
		name    string
		word    provider.BlockKind
		members []property
	}{
		{"TextBlock", provider.KindText, []property{required("text", text),
			optional("sources", listOf(s.of(reflect.TypeFor[provider.Citation]())))}},
		{"ThinkingBlock", provider.KindThinking, []property{required("text", text),
			required("kind", s.of(reflect.TypeFor[provider.ThinkingKind]())), required("signed", flag),
			optional("tokens", number), optional("estimated", flag), optional("duration_ms", number)}},
		{"ToolCallBlock", provider.KindToolCall, []property{required("call_id", text), required("name", text),
			optional("arguments", kind("object")), optional("invalid_arguments", text)}},
		{"ToolResultBlock", provider.KindToolResult, []property{required("call_id", text),
			required("content", listOf(oneOf("TextBlock", "MediaBlock"))), optional("is_error", flag)}},
		{"MediaBlock", provider.KindMedia, []property{required("mime_type", text),
			optional("data", &jsonschema.Schema{Type: "string", ContentEncoding: "base64"})}},
	} {
		s.components[b.name] = object(append(b.members, required("type", constant(string(b.word))),
			optional("block", about("integer", "its number in the message, in what the daemon sends")),
			optional("open", about("boolean", "it is being written")),
			optional("truncated", about("boolean", "there is more of it than is shown")))...)
	}
	s.components["Block"] = oneOf("TextBlock", "ThinkingBlock", "ToolCallBlock", "ToolResultBlock", "MediaBlock")
}

// errorSchema is what Error's MarshalJSON writes.
func errorSchema() *jsonschema.Schema {
	text, number := kind("string"), kind("integer")
	data := object(required("kind", text), optional("field", text), optional("candidates", listOf(text)),
		optional("thinking_levels", listOf(ref("Level"))),
		optional("limit", &jsonschema.Schema{AnyOf: []*jsonschema.Schema{number, text}, Description: "a number of bytes, or the name of a setting"}),
		optional("detail", text), optional("retry_after_ms", number), optional("status", number),
		optional("request_id", text), optional("ref", text))
	data.Description = "kind is the stable word; the others are there where they help"
	return object(required("code", number), required("message", text), optional("data", data))
}

func kind(word string) *jsonschema.Schema { return &jsonschema.Schema{Type: word} }

func about(word, text string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: word, Description: text}
}

func ref(name string) *jsonschema.Schema {
	return &jsonschema.Schema{Ref: "#/components/schemas/" + name}
}

func listOf(of *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Items: of}
}

func constant(word string) *jsonschema.Schema {
	var value any = word
	return &jsonschema.Schema{Const: &value}
}

// enumOf is the schema of a type of fixed words.
func enumOf(of provider.Worded) *jsonschema.Schema {
	s := kind("string")
	for _, word := range of.Words() {
		s.Enum = append(s.Enum, word)
	}
	return s
}

func oneOf(names ...string) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	for _, name := range names {
		s.OneOf = append(s.OneOf, ref(name))
	}
	return s
}

// property is a member of an object's schema.
type property struct {
	name     string
	required bool
	schema   *jsonschema.Schema
}

func required(name string, s *jsonschema.Schema) property { return property{name, true, s} }
func optional(name string, s *jsonschema.Schema) property { return property{name, false, s} }

// object keeps the order of its members.
func object(members ...property) *jsonschema.Schema {
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
