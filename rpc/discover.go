package rpc

import (
	"context"
	_ "embed"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/quota"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// document is what rpc.discover answers with: the text of an openRPC.
type document struct{ json.RawMessage }

// JSONSchema does not refer to OpenRPC's own schema: that is on another host, and refers to itself.
func (document) JSONSchema() *jsonschema.Schema { return method.About("object", "an OpenRPC document") }

func discover(_ context.Context, c *client, _ method.Nothing) (document, error) {
	text, err := describe(c.server.methods, c.server.config.Version)
	return document{text}, err
}

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
		method.Notification{Name: "list_update", Params: schemas.Whole(reflect.TypeFor[listUpdate]())},
		method.Notification{Name: "ask_delta", Params: schemas.Whole(reflect.TypeFor[askDelta]())})
	return method.OpenRPC("thinkd", version, methods, examples(), unasked, schemas)
}

// exampleText has a paragraph for each method: its name, and pairs of lines with params (→) and a result (←).
//
//go:embed examples.txt
var exampleText string

// examples are those of all methods, by name.
func examples() map[string][]method.Example {
	all := make(map[string][]method.Example)
	for paragraph := range strings.SplitSeq(strings.TrimSpace(exampleText), "\n\n") {
		lines := strings.Split(paragraph, "\n")
		for pair := range slices.Chunk(lines[1:], 2) {
			all[lines[0]] = append(all[lines[0]], method.Example{Params: strings.TrimPrefix(pair[0], "→ "), Result: strings.TrimPrefix(pair[1], "← ")})
		}
	}
	return all
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

// newSchemaSet begins the schemas of the native protocol: with the types that no Go type shows.
func newSchemaSet() *method.Schemas {
	s := method.NewSchemas(names, map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[conn.Error]():      method.Ref("Error"),
		reflect.TypeFor[provider.Block]():  method.Ref("Block"),
		reflect.TypeFor[wire.Block]():      method.Ref("Block"),
		reflect.TypeFor[provider.Blocks](): method.ListOf(method.Ref("Block")),
		reflect.TypeFor[provider.Money]():  method.Kind("number"),
		reflect.TypeFor[askedOptions]():    method.Ref("Options"),
	})
	s.Add("Error", errorSchema())
	addBlocks(s)
	s.Of(reflect.TypeFor[provider.Options]()) // askedOptions refers to it
	s.Of(reflect.TypeFor[provider.Level]())   // the error refers to it
	s.Of(reflect.TypeFor[newTool]())          // newTools refers to it
	return s
}

// names are those of protocol.md, where a type's own is another one.
var names = map[reflect.Type]string{
	reflect.TypeFor[feed.Model]():              "ModelInForce",
	reflect.TypeFor[wire.CatalogModel]():       "Model",
	reflect.TypeFor[wireDefaults]():            "ReasoningDefaults",
	reflect.TypeFor[registry.OverrideText]():   "AgentReasoning",
	reflect.TypeFor[wireAuth]():                "AuthState",
	reflect.TypeFor[quota.Limit]():             "RateLimit",
	reflect.TypeFor[provider.Decision]():       "Reasoning",
	reflect.TypeFor[options]():                 "SessionOptions",
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
	reflect.TypeFor[askKind]():                 "AskKind",
}

// addBlocks describes the blocks that a client may see and send, by hand: encoding/json has no unions, so no type shows
// them. Inside a tool's result are text and media only.
func addBlocks(s *method.Schemas) {
	text, flag, number := method.Kind("string"), method.Kind("boolean"), method.Kind("integer")
	for _, b := range []struct {
		name    string
		word    provider.BlockKind
		members []method.Property
	}{
		{"TextBlock", provider.KindText, []method.Property{method.Required("text", text),
			method.Optional("json", method.About("object", "the text as a value, if it is the JSON that was asked for")),
			method.Optional("sources", method.ListOf(s.Of(reflect.TypeFor[provider.Citation]())))}},
		{"ThinkingBlock", provider.KindThinking, []method.Property{method.Required("text", text),
			method.Required("kind", s.Of(reflect.TypeFor[provider.ThinkingKind]())), method.Required("signed", flag),
			method.Optional("tokens", number), method.Optional("estimated", flag), method.Optional("duration_ms", number)}},
		{"ToolCallBlock", provider.KindToolCall, []method.Property{method.Required("call_id", text), method.Required("name", text),
			method.Optional("arguments", method.Kind("object")), method.Optional("invalid_arguments", text)}},
		{"ToolResultBlock", provider.KindToolResult, []method.Property{method.Required("call_id", text),
			method.Required("content", method.ListOf(method.OneOf("TextBlock", "MediaBlock"))), method.Optional("is_error", flag)}},
		{"ServerToolBlock", provider.KindServerTool, []method.Property{method.Required("call_id", text), method.Required("name", text),
			method.Optional("arguments", method.Kind("object")), method.Optional("text", method.About("string", "what came of the call; absent: the block has no result")),
			method.Optional("sources", method.ListOf(s.Of(reflect.TypeFor[provider.Citation]()))), method.Optional("is_error", flag)}},
		{"MediaBlock", provider.KindMedia, []method.Property{method.Required("mime_type", text), method.Optional("name", text),
			method.Optional("data", &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}),
			method.Optional("width", method.About("integer", "pixels of an image, in what the daemon sends")),
			method.Optional("height", method.About("integer", "pixels of an image, in what the daemon sends")),
			method.Optional("duration_ms", method.About("integer", "of a sound, in what the daemon sends"))}},
	} {
		s.Add(b.name, method.Object(append(b.members, method.Required("type", method.Constant(string(b.word))),
			method.Optional("block", method.About("integer", "its number in the message, in what the daemon sends")),
			method.Optional("open", method.About("boolean", "it is being written")),
			method.Optional("truncated", method.About("boolean", "there is more of it than is shown")))...))
	}
	s.Add("Block", method.OneOf("TextBlock", "ThinkingBlock", "ToolCallBlock", "ToolResultBlock", "ServerToolBlock", "MediaBlock"))
}

// errorSchema is what Error's MarshalJSON writes.
func errorSchema() *jsonschema.Schema {
	text, number := method.Kind("string"), method.Kind("integer")
	data := method.Object(method.Required("kind", text), method.Optional("field", text), method.Optional("candidates", method.ListOf(text)),
		method.Optional("model", text), method.Optional("valid", method.ListOf(text)),
		method.Optional("ignored", method.ListOf(text)), method.Optional("did_you_mean", &jsonschema.Schema{Type: "object", AdditionalProperties: text}),
		method.Optional("thinking_levels", method.ListOf(method.Ref("Level"))),
		method.Optional("limit", &jsonschema.Schema{AnyOf: []*jsonschema.Schema{number, text}, Description: "a number of bytes, or the name of a setting"}),
		method.Optional("detail", text), method.Optional("retry_after_ms", number), method.Optional("status", number),
		method.Optional("request_id", text), method.Optional("right", text), method.Optional("ref", text),
		method.Optional("model_id", text), method.Optional("media", text), method.Optional("reason", text), method.Optional("block", number),
		method.Optional("takes", method.ListOf(text)))
	data.Description = "kind is the stable word; the others are there where they help"
	return method.Object(method.Required("code", number), method.Required("message", text), method.Optional("data", data))
}
