package rpc

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/wire"
)

// document is what rpc.discover answers with: the text of an openRPC.
type document struct{ json.RawMessage }

// JSONSchema does not refer to OpenRPC's own schema: that is on another host, and refers to itself.
func (document) JSONSchema() *jsonschema.Schema { return method.About("object", "an OpenRPC document") }

func discover(_ context.Context, c *client, _ method.Nothing) (document, error) {
	text, err := describe(c.server.methods, c.server.config.Version)
	return document{text}, err
}

// Document is what rpc.discover answers in a daemon of this build: an OpenRPC document. version is the program's.
func Document(version string) ([]byte, error) { return describe(nativeMethods(), version) }

// describe describes a table, with all that the daemon sends unasked.
func describe(methods []method.Method[*client], version string) ([]byte, error) {
	schemas := newSchemaSet()
	var unasked []method.Notification
	for _, e := range feed.Events() {
		params, err := updateSchema(schemas, e)
		if err != nil {
			return nil, err
		}
		unasked = append(unasked, method.Notification{Name: e.Method(), Params: params})
	}
	unasked = append(unasked, method.Notification{Name: "stale", Params: staleSchema()}, method.Notification{Name: "auth_update", Params: schemas.Whole(reflect.TypeFor[authUpdate]())},
		method.Notification{Name: "ask_delta", Params: schemas.Whole(reflect.TypeFor[askDelta]())})
	return method.OpenRPC("thinkd", version, methods, examples(), unasked, schemas)
}

// updateSchema is what all notifications of a session have, and the event's own members.
func updateSchema(s *method.Schemas, e feed.Event) (*jsonschema.Schema, error) {
	shown, err := wire.Event(e, 0)
	if err != nil {
		return nil, err
	}
	text, number := method.Kind("string"), method.Kind("integer")
	common := method.Object(method.Required("session_id", text), method.Optional("first_seq", number), method.Required("seq", number), method.Required("ts", number),
		method.Optional("turn_id", text))
	own := s.Object(reflect.TypeOf(shown))
	for _, name := range own.PropertyOrder {
		common.Properties[name] = own.Properties[name]
		common.PropertyOrder = append(common.PropertyOrder, name)
	}
	common.Required = append(common.Required, own.Required...)
	return common, nil
}

// staleSchema describes what [door.Stale] writes.
func staleSchema() *jsonschema.Schema {
	return method.Object(method.Required("session_id", method.Kind("string")), method.Required("after_seq", method.Kind("integer")))
}
