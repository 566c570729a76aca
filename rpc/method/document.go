package method

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/session"
)

// openRPC is an OpenRPC document (spec.open-rpc.org, 1.3).
type openRPC struct {
	OpenRPC string         `json:"openrpc"`
	Info    openRPCInfo    `json:"info"`
	Methods []openRPCEntry `json:"methods"`
	// OpenRPC has no place for what a server says unasked; its extensions begin with x-.
	Notifications []Notification `json:"x-notifications"`
	Components    struct {
		Schemas map[string]*jsonschema.Schema `json:"schemas"`
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
	Errors         []openRPCError      `json:"errors"`
	Examples       []openRPCExample    `json:"examples,omitempty"`
	Right          string              `json:"x-right"`            // that a client needs
	Guests         session.Access      `json:"x-guests,omitempty"` // what a guest of a shared session needs; absent: it is the owner's
}

// openRPCError is an error by its code and its stable word; the message of an answer says more.
type openRPCError struct {
	Code    conn.Code `json:"code"`
	Message string    `json:"message"`
}

type openRPCExample struct {
	Name   string         `json:"name"`
	Params []exampleValue `json:"params"`
	Result exampleValue   `json:"result"`
}

type exampleValue struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

// Notification describes what is sent unasked: its params are one object.
type Notification struct {
	Name   string             `json:"name"`
	Params *jsonschema.Schema `json:"params"`
}

type contentDescriptor struct {
	Name     string             `json:"name"`
	Required bool               `json:"required,omitempty"`
	Schema   *jsonschema.Schema `json:"schema"`
}

// Example is a request and its answer, as JSON.
type Example struct{ Params, Result string }

// OpenRPC is the OpenRPC document of these methods, with their examples by name. Schemas are made from the types that params
// are decoded into and results encoded from; what they refer to is added to the set.
func OpenRPC[C any](title, version string, methods []Method[C], examples map[string][]Example, unasked []Notification, schemas *Schemas) ([]byte, error) {
	doc := openRPC{OpenRPC: "1.3.2", Info: openRPCInfo{Title: title, Version: version}, Notifications: unasked}
	for _, m := range methods {
		entry := openRPCEntry{Name: m.Name, Summary: m.Doc, ParamStructure: "by-name", Params: []contentDescriptor{},
			Result: contentDescriptor{Name: "result", Schema: withIgnored(schemas.Whole(m.Result))}, Right: m.Right.String(), Guests: m.Guests}
		for _, code := range m.Codes() {
			entry.Errors = append(entry.Errors, openRPCError{code, code.Kind()})
		}
		for i, e := range examples[m.Name] {
			entry.Examples = append(entry.Examples, e.describe(fmt.Sprintf("%s %d", m.Name, i+1)))
		}
		for _, f := range FieldsOf(m.Params) {
			entry.Params = append(entry.Params, contentDescriptor{f.Name, f.Required, schemas.Of(m.Params.FieldByIndex(f.Index).Type)})
		}
		doc.Methods = append(doc.Methods, entry)
	}
	doc.Components.Schemas = schemas.Components
	return json.Marshal(doc)
}

// withIgnored adds the members that every result may have.
func withIgnored(result *jsonschema.Schema) *jsonschema.Schema {
	if result.Properties == nil {
		return result
	}
	more := *result
	more.Properties = maps.Clone(result.Properties)
	more.Properties["ignored"] = ListOf(Kind("string"))
	more.Properties["did_you_mean"] = &jsonschema.Schema{Type: "object", AdditionalProperties: Kind("string")}
	more.PropertyOrder = append(slices.Clone(result.PropertyOrder), "ignored", "did_you_mean")
	return &more
}

// describe is an example in OpenRPC's form.
func (e Example) describe(name string) openRPCExample {
	out := openRPCExample{Name: name, Params: []exampleValue{}, Result: exampleValue{"result", json.RawMessage(e.Result)}}
	for member, value := range conn.Members([]byte(e.Params)) {
		out.Params = append(out.Params, exampleValue{member, value})
	}
	return out
}
