package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/thinkd/thinkd/agent/feed"
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
	Right          string              `json:"x-right"` // that a client needs
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

// JSONSchema does not refer to OpenRPC's own schema: that is on another host, and refers to itself.
func (document) JSONSchema() *jsonschema.Schema { return about("object", "an OpenRPC document") }

func discover(_ context.Context, c *client, _ nothing) (document, error) {
	text, err := describe(c.server.methods, c.server.config.Version)
	return document{text}, err
}

// Document is what rpc.discover answers in a daemon of this build: an OpenRPC document. version is the program's.
func Document(version string) ([]byte, error) { return describe(nativeMethods(), version) }

// describe describes a table. Schemas are made from the types that params are decoded into and results encoded from.
func describe(methods []method, version string) ([]byte, error) {
	schemas, shown := newSchemaSet(), examples()
	doc := openRPC{OpenRPC: "1.3.2", Info: openRPCInfo{Title: "thinkd", Version: version}}
	for _, m := range methods {
		entry := openRPCEntry{Name: m.name, Summary: m.doc, ParamStructure: "by-name", Params: []contentDescriptor{},
			Result: contentDescriptor{Name: "result", Schema: schemas.whole(m.result)}, Right: m.right.word}
		for _, code := range m.codes() {
			entry.Errors = append(entry.Errors, openRPCError{code, code.Kind()})
		}
		for i, e := range shown[m.name] {
			entry.Examples = append(entry.Examples, e.describe(fmt.Sprintf("%s %d", m.name, i+1)))
		}
		for _, f := range fieldsOf(m.params) {
			entry.Params = append(entry.Params, contentDescriptor{f.name, f.required, schemas.of(m.params.FieldByIndex(f.index).Type)})
		}
		doc.Methods = append(doc.Methods, entry)
	}
	for _, e := range feed.Events() {
		params, err := schemas.notification(e)
		if err != nil {
			return nil, err
		}
		doc.Notifications = append(doc.Notifications, openRPCNotification{e.Method(), params})
	}
	doc.Notifications = append(doc.Notifications, openRPCNotification{"stale", staleSchema()},
		openRPCNotification{"auth_update", schemas.whole(reflect.TypeFor[authUpdate]())})
	doc.Components.Schemas = schemas.components
	return json.Marshal(doc)
}

// describe is an example in OpenRPC's form.
func (e example) describe(name string) openRPCExample {
	out := openRPCExample{Name: name, Params: []exampleValue{}, Result: exampleValue{"result", json.RawMessage(e.result)}}
	for member, value := range conn.Members([]byte(e.params)) {
		out.Params = append(out.Params, exampleValue{member, value})
	}
	return out
}

// whole is the schema of a struct in full, and not a reference.
func (s *schemaSet) whole(t reflect.Type) *jsonschema.Schema {
	if v, ok := reflect.Zero(t).Interface().(described); ok {
		return v.JSONSchema()
	}
	return s.object(t)
}

// notification is what all notifications of a session have, and the event's own members.
func (s *schemaSet) notification(e feed.Event) (*jsonschema.Schema, error) {
	shown, err := shownEvent(e, 0)
	if err != nil {
		return nil, err
	}
	text, number := kind("string"), kind("integer")
	common := object(required("session_id", text), optional("first_seq", number), required("seq", number), required("ts", number),
		optional("turn_id", text))
	own := s.object(reflect.TypeOf(shown))
	for _, name := range own.PropertyOrder {
		common.Properties[name] = own.Properties[name]
		common.PropertyOrder = append(common.PropertyOrder, name)
	}
	common.Required = append(common.Required, own.Required...)
	return common, nil
}

// staleSchema describes what encodeStale writes.
func staleSchema() *jsonschema.Schema {
	return object(required("session_id", kind("string")), required("after_seq", kind("integer")))
}
