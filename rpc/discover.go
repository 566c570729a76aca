package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/conn"
)

// openRPC is an OpenRPC document (spec.open-rpc.org, 1.3).
type openRPC struct {
	OpenRPC string         `json:"openrpc"`
	Info    openRPCInfo    `json:"info"`
	Methods []openRPCEntry `json:"methods"`
	// OpenRPC has no place for what a server says unasked; its extensions begin with x-.
	Notifications []openRPCNotification `json:"x-notifications"`
	Components    struct {
		Schemas jsonschema.Definitions `json:"schemas"`
	} `json:"components"`
}

type openRPCInfo struct {
	Title   string `json:"title"`
	Version string `json:"version"`
}

type openRPCEntry struct {
	Name           string              `json:"name"`
	Summary        string              `json:"summary"`
	ParamStructure string              `json:"paramStructure"`
	Params         []contentDescriptor `json:"params"`
	Result         contentDescriptor   `json:"result"`
}

// openRPCNotification describes a notification: its params are one object.
type openRPCNotification struct {
	Name   string             `json:"name"`
	Params *jsonschema.Schema `json:"params"`
}

type contentDescriptor struct {
	Name     string             `json:"name"`
	Required bool               `json:"required,omitempty"`
	Schema   *jsonschema.Schema `json:"schema"`
}

// document is what rpc.discover answers with: the text of an openRPC.
type document struct{ json.RawMessage }

// JSONSchema says no more than OpenRPC's own schema would, by pointing to it.
func (document) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Ref: "https://meta.open-rpc.org/"}
}

func discover(_ context.Context, c *client, _ nothing) (document, error) {
	text, err := c.server.discover()
	return document{text}, err
}

// discover describes the table. Schemas are made from the types that params are decoded into and results encoded from.
func (s *Server) discover() ([]byte, error) {
	doc := openRPC{OpenRPC: "1.3.2", Info: openRPCInfo{Title: "thinkd", Version: s.config.Version}}
	doc.Components.Schemas = jsonschema.Definitions{"Block": blockSchema(), "Error": errorSchema()}
	doc.Components.Schemas["NewTool"] = reflectSchema(reflect.TypeFor[newTool](), doc.Components.Schemas)
	for _, m := range s.methods {
		entry := openRPCEntry{Name: m.name, Summary: m.doc, ParamStructure: "by-name",
			Params: []contentDescriptor{}, Result: contentDescriptor{Name: "result"}}
		params := reflectSchema(m.params, doc.Components.Schemas)
		for _, f := range fieldsOf(m.params) {
			property, ok := params.Properties.Get(f.name)
			if !ok {
				return nil, fmt.Errorf("%s: the schema has no member %s", m.name, f.name)
			}
			entry.Params = append(entry.Params, contentDescriptor{f.name, f.required, property})
		}
		entry.Result.Schema = reflectSchema(m.result, doc.Components.Schemas)
		doc.Methods = append(doc.Methods, entry)
	}
	for _, e := range feed.Events() {
		params, err := notificationSchema(e, doc.Components.Schemas)
		if err != nil {
			return nil, err
		}
		doc.Notifications = append(doc.Notifications, openRPCNotification{e.Method(), params})
	}
	doc.Notifications = append(doc.Notifications, openRPCNotification{"stale", staleSchema()},
		openRPCNotification{"auth_update", reflectSchema(reflect.TypeFor[authUpdate](), doc.Components.Schemas)})
	text, err := json.Marshal(doc)
	// The reflector writes references for a document of its own.
	return bytes.ReplaceAll(text, []byte(`"#/$defs/`), []byte(`"#/components/schemas/`)), err
}

// notificationSchema is what all notifications of a session have, and the event's own members.
func notificationSchema(e feed.Event, definitions jsonschema.Definitions) (*jsonschema.Schema, error) {
	shown, err := shownEvent(e, 0)
	if err != nil {
		return nil, err
	}
	text, number := kind("string"), kind("integer")
	s := object(required("session_id", text), optional("first_seq", number), required("seq", number), required("ts", number),
		optional("turn_id", text))
	members := reflectSchema(reflect.TypeOf(shown), definitions)
	for p := members.Properties.Oldest(); p != nil; p = p.Next() {
		s.Properties.Set(p.Key, p.Value)
	}
	s.Required = append(s.Required, members.Required...)
	return s, nil
}

// staleSchema describes what encodeStale writes.
func staleSchema() *jsonschema.Schema {
	return object(required("session_id", kind("string")), required("after_seq", kind("integer")))
}

// reflectSchema is the schema of a type, in full; what it refers to is added to the definitions.
func reflectSchema(t reflect.Type, definitions jsonschema.Definitions) *jsonschema.Schema {
	named := make(map[string]reflect.Type)
	r := jsonschema.Reflector{
		Anonymous:                 true,
		AllowAdditionalProperties: true, // unknown members are ignored
		ExpandedStruct:            true,
		Mapper:                    mapType,
		Namer: func(t reflect.Type) string {
			name := nameType(t)
			named[name] = t
			return name
		},
	}
	schema := r.ReflectFromType(t)
	allowNull(t, schema)
	for name, definition := range schema.Definitions {
		allowNull(named[name], definition)
		definitions[name] = definition
	}
	schema.Definitions, schema.Version = nil, ""
	return schema
}

// allowNull describes members that are always there and may be null, which the reflector does not see.
func allowNull(t reflect.Type, schema *jsonschema.Schema) {
	if t.Kind() != reflect.Struct || schema.Properties == nil {
		return
	}
	for _, f := range fieldsOf(t) {
		if property, ok := schema.Properties.Get(f.name); ok && f.required && t.FieldByIndex(f.index).Type.Kind() == reflect.Pointer {
			schema.Properties.Set(f.name, &jsonschema.Schema{AnyOf: []*jsonschema.Schema{property, kind("null")}})
		}
	}
}

// names are those of protocol.md, where a type's own is another one.
var names = map[reflect.Type]string{
	reflect.TypeFor[feed.Model]():        "ModelInForce",
	reflect.TypeFor[wireCatalogModel]():  "Model",
	reflect.TypeFor[wireThinking]():      "ModelThinking",
	reflect.TypeFor[wireDefaults]():      "ReasoningDefaults",
	reflect.TypeFor[registry.Stated]():   "AgentReasoning",
	reflect.TypeFor[wireAuth]():          "AuthState",
	reflect.TypeFor[provider.Decision](): "Reasoning",
}

// nameType names a type's schema; a type without a name has its schema where it is used.
func nameType(t reflect.Type) string {
	if name, ok := names[t]; ok {
		return name
	}
	name := strings.TrimPrefix(t.Name(), "wire")
	if name == "" {
		return ""
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// describer is a type that says what its JSON is.
type describer interface{ JSONSchema() *jsonschema.Schema }

// mapType knows the types whose JSON their Go type does not show. What it gives stands where the type is used.
func mapType(t reflect.Type) *jsonschema.Schema {
	block := &jsonschema.Schema{Ref: "#/$defs/Block"}
	switch t {
	case reflect.TypeFor[conn.Error]():
		return &jsonschema.Schema{Ref: "#/$defs/Error"}
	case reflect.TypeFor[provider.Block](), reflect.TypeFor[wireBlock]():
		return block
	case reflect.TypeFor[provider.Blocks]():
		return &jsonschema.Schema{Type: "array", Items: block}
	case reflect.TypeFor[provider.Level]():
		return &jsonschema.Schema{Type: "string", Enum: anyOf(provider.AllLevels())}
	case reflect.TypeFor[json.RawMessage]():
		return jsonschema.TrueSchema
	case reflect.TypeFor[provider.Money]():
		return kind("number")
	}
	if d, ok := reflect.Zero(t).Interface().(describer); ok && t.Kind() != reflect.Pointer {
		return d.JSONSchema()
	}
	return nil
}

func anyOf[T any](list []T) []any {
	values := make([]any, len(list))
	for i, v := range list {
		values[i] = v
	}
	return values
}

// blockSchema is the union of the blocks that a client may see and send, by hand: encoding/json has no unions, so no
// type shows it.
func blockSchema() *jsonschema.Schema {
	text, flag, number := kind("string"), kind("boolean"), kind("integer")
	content := &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Ref: "#/$defs/Block"}}
	thinking := &jsonschema.Schema{Type: "string", Enum: []any{provider.ThinkingFull, provider.ThinkingSummary,
		provider.ThinkingRedacted, provider.ThinkingOmitted}}
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
		variant(provider.KindText, required("text", text), optional("sources", &jsonschema.Schema{Type: "array", Items: object(required("url", text),
			optional("title", text), optional("start", number), optional("end", number), optional("quote", text))})),
		variant(provider.KindThinking, required("text", text), required("kind", thinking), required("signed", flag),
			optional("tokens", number), optional("estimated", flag), optional("duration_ms", number)),
		variant(provider.KindToolCall, required("call_id", text), required("name", text), optional("arguments", kind("object")),
			optional("invalid_arguments", text)),
		variant(provider.KindToolResult, required("call_id", text), required("content", content), optional("is_error", flag)),
		variant(provider.KindMedia, required("mime_type", text), optional("data", &jsonschema.Schema{Type: "string", ContentEncoding: "base64"})),
	}}
}

// errorSchema is what Error's MarshalJSON writes.
func errorSchema() *jsonschema.Schema {
	text, number := kind("string"), kind("integer")
	list := &jsonschema.Schema{Type: "array", Items: text}
	data := object(required("kind", text), optional("field", text), optional("candidates", list), optional("thinking_levels", list),
		optional("limit", number), optional("detail", text), optional("retry_after_ms", number), optional("status", number),
		optional("request_id", text), optional("ref", text))
	data.Description = "kind is the stable word; the others are there where they help"
	return object(required("code", number), required("message", text), optional("data", data))
}

func kind(word string) *jsonschema.Schema { return &jsonschema.Schema{Type: word} }

// property is a member of a hand-written schema.
type property struct {
	name     string
	required bool
	schema   *jsonschema.Schema
}

func required(name string, s *jsonschema.Schema) property { return property{name, true, s} }
func optional(name string, s *jsonschema.Schema) property { return property{name, false, s} }

func object(properties ...property) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties()}
	for _, p := range properties {
		s.Properties.Set(p.name, p.schema)
		if p.required {
			s.Required = append(s.Required, p.name)
		}
	}
	return s
}

func variant(word provider.BlockKind, properties ...property) *jsonschema.Schema {
	described := func(name, word, text string) property {
		return optional(name, &jsonschema.Schema{Type: word, Description: text})
	}
	return object(append(properties, required("type", &jsonschema.Schema{Const: word}),
		described("block", "integer", "its number in the message, in what the daemon sends"),
		described("open", "boolean", "it is being written"),
		described("truncated", "boolean", "there is more of it than is shown"))...)
}
