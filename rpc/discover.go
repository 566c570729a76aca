package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/thinkd/thinkd/provider"
)

// openRPC is an OpenRPC document (spec.open-rpc.org, 1.3).
type openRPC struct {
	OpenRPC    string         `json:"openrpc"`
	Info       openRPCInfo    `json:"info"`
	Methods    []openRPCEntry `json:"methods"`
	Components struct {
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
	for _, m := range s.methods {
		entry := openRPCEntry{Name: m.name, Summary: m.doc, ParamStructure: "by-name",
			Params: []contentDescriptor{}, Result: contentDescriptor{Name: "result"}}
		params := reflectSchema(m.params, doc.Components.Schemas, true)
		for _, f := range fieldsOf(m.params) {
			property, ok := params.Properties.Get(f.name)
			if !ok {
				return nil, fmt.Errorf("%s: the schema has no member %s", m.name, f.name)
			}
			entry.Params = append(entry.Params, contentDescriptor{f.name, f.required, property})
		}
		entry.Result.Schema = reflectSchema(m.result, doc.Components.Schemas, false)
		doc.Methods = append(doc.Methods, entry)
	}
	text, err := json.Marshal(doc)
	// The reflector writes references for a document of its own.
	return bytes.ReplaceAll(text, []byte(`"#/$defs/`), []byte(`"#/components/schemas/`)), err
}

// reflectSchema is the schema of a type; what it refers to is added to the definitions.
func reflectSchema(t reflect.Type, definitions jsonschema.Definitions, expanded bool) *jsonschema.Schema {
	r := jsonschema.Reflector{
		Anonymous:                 true,
		AllowAdditionalProperties: true, // unknown members are ignored
		ExpandedStruct:            expanded,
		Mapper:                    mapType,
		Namer:                     nameType,
	}
	schema := r.ReflectFromType(t)
	for name, definition := range schema.Definitions {
		definitions[name] = definition
	}
	schema.Definitions, schema.Version = nil, ""
	return schema
}

// nameType names a type's schema: with its package if that is not this one, and in the characters that OpenRPC takes
// in a key of components, which Go's names of generic types are not.
func nameType(t reflect.Type) string {
	name, argument, generic := strings.Cut(t.Name(), "[")
	if generic {
		name += "." + strings.TrimSuffix(argument[strings.LastIndexByte(argument, '.')+1:], "]")
	}
	if t.PkgPath() != reflect.TypeFor[Server]().PkgPath() {
		name = path.Base(t.PkgPath()) + "." + name
	}
	return name
}

var (
	errorType  = reflect.TypeFor[Error]()
	blockType  = reflect.TypeFor[provider.Block]()
	blocksType = reflect.TypeFor[provider.Blocks]()
)

// mapType knows the types whose JSON their Go type does not show.
func mapType(t reflect.Type) *jsonschema.Schema {
	block := &jsonschema.Schema{Ref: "#/$defs/Block"}
	switch t {
	case errorType:
		return &jsonschema.Schema{Ref: "#/$defs/Error"}
	case blockType:
		return block
	case blocksType:
		return &jsonschema.Schema{Type: "array", Items: block}
	}
	return nil
}

// blockSchema is the union of the blocks that a client may see and send, by hand: encoding/json has no unions, so no
// type shows it.
func blockSchema() *jsonschema.Schema {
	text, flag, number := kind("string"), kind("boolean"), kind("integer")
	content := &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Ref: "#/$defs/Block"}}
	thinking := &jsonschema.Schema{Type: "string", Enum: []any{provider.ThinkingFull, provider.ThinkingSummary,
		provider.ThinkingRedacted, provider.ThinkingOmitted}}
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
		variant(provider.KindText, required("text", text)),
		variant(provider.KindThinking, required("text", text), required("kind", thinking), required("signed", flag),
			optional("tokens", number), optional("estimated", flag), optional("duration_ms", number)),
		variant(provider.KindToolCall, required("call_id", text), required("name", text), optional("arguments", kind("object"))),
		variant(provider.KindToolResult, required("call_id", text), required("content", content), optional("is_error", flag)),
		variant(provider.KindMedia, required("mime_type", text), required("data", &jsonschema.Schema{Type: "string", ContentEncoding: "base64"})),
	}}
}

// errorSchema is what Error's MarshalJSON writes.
func errorSchema() *jsonschema.Schema {
	data := object(required("kind", kind("string")))
	data.Description = "what helps, depending on kind"
	return object(required("code", kind("integer")), required("message", kind("string")), optional("data", data))
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

func variant(kind provider.BlockKind, properties ...property) *jsonschema.Schema {
	number := &jsonschema.Schema{Type: "integer", Description: "its number in the message, in what the daemon sends"}
	return object(append(properties, required("type", &jsonschema.Schema{Const: kind}), optional("block", number))...)
}
