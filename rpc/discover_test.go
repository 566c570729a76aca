package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/conntest"
	"github.com/thinkd/thinkd/rpc/failure"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
)

type blocksParams struct {
	Content provider.Blocks `json:"content"`
	Model   provider.Model  `json:"model,omitzero"`
}

func TestDiscover(t *testing.T) {
	blocks := method.Define("blocks", method.Use, "Takes blocks.", method.Now(func(_ context.Context, _ *client, p blocksParams) (blocksParams, error) { return p, nil }))
	methods := append(append(coreMethods(), testMethods()...), blocks)
	s := newServer(Config{Version: "1.2.3", Config: service.Config{Log: slog.New(slog.NewTextHandler(io.Discard, nil))}}, methods)
	got, err := converse(t, s, strings.NewReader(conntest.Request(1, "rpc.discover", "{}")))
	if err != nil {
		t.Fatal(err)
	}
	doc := gjson.Get(got, "result")

	var names, described []string
	for _, m := range methods {
		names = append(names, m.Name)
	}
	for _, m := range doc.Get("methods").Array() {
		described = append(described, m.Get("name").String())
		if m.Get("paramStructure").String() != "by-name" || !m.Get("params").IsArray() || !m.Get("result.schema").IsObject() {
			t.Errorf("%s is described by %s", m.Get("name"), m.Raw)
		}
	}
	if diff := cmp.Diff(names, described); diff != "" {
		t.Errorf("methods (-table +document)\n%s", diff)
	}
	for path, want := range map[string]string{
		"openrpc":                               `"1.3.2"`,
		"info.version":                          `"1.2.3"`,
		`methods.#(name=="echo").params.#.name`: `["text","times","list"]`,
		`methods.#(name=="echo").params.#(name=="text")`:             `{"name":"text","required":true,"schema":{"type":"string"}}`,
		`methods.#(name=="echo").params.#(name=="times")`:            `{"name":"times","schema":{"type":"integer"}}`,
		`methods.#(name=="blocks").params.#(name=="content").schema`: `{"type":"array","items":{"$ref":"#/components/schemas/Block"}}`,
		`components.schemas.Block.oneOf.#.$ref`:                      `["#/components/schemas/TextBlock","#/components/schemas/ThinkingBlock","#/components/schemas/ToolCallBlock","#/components/schemas/ToolResultBlock","#/components/schemas/ServerToolBlock","#/components/schemas/MediaBlock"]`,
		`methods.#(name=="echo").result.schema.required`:             `["text"]`,
	} {
		if got := doc.Get(path).Raw; got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}

	checkReferences(t, doc)
}

// checkReferences: each leads somewhere, and each schema has a name that OpenRPC takes.
func checkReferences(t *testing.T, doc gjson.Result) {
	t.Helper()
	schemas := map[string]bool{}
	doc.Get("components.schemas").ForEach(func(name, _ gjson.Result) bool {
		schemas[name.String()] = true
		if !regexp.MustCompile(`^[a-zA-Z0-9._-]+$`).MatchString(name.String()) {
			t.Errorf("%s is no name for a schema", name)
		}
		return true
	})
	refs := 0
	walk(doc, func(name string, v gjson.Result) {
		if name != "$ref" {
			return
		}
		refs++
		if place, ours := strings.CutPrefix(v.String(), "#/components/schemas/"); ours && !schemas[place] || strings.Contains(v.String(), "$defs") {
			t.Errorf("%s leads nowhere", v.String())
		}
	})
	if refs == 0 {
		t.Error("the document has no references")
	}
}

// No schema has itself inside: tools that put each schema in place of its references must come to an end.
func TestNoRecursion(t *testing.T) {
	components := newSchemas(t).components
	done := map[string]bool{}
	var follow func(name string, path []string)
	follow = func(name string, path []string) {
		if slices.Contains(path, name) {
			t.Errorf("%s has itself inside: %v", name, append(path, name))
			return
		}
		if done[name] {
			return
		}
		path = append(path, name)
		text, err := json.Marshal(components[name])
		if err != nil {
			t.Fatal(err)
		}
		walk(gjson.ParseBytes(text), func(member string, v gjson.Result) {
			if member == "$ref" {
				follow(strings.TrimPrefix(v.String(), "#/components/schemas/"), path)
			}
		})
		done[name] = true
	}
	for name := range components {
		follow(name, nil)
	}
}

// The native table is described whole.
func TestDiscoverNative(t *testing.T) {
	text, err := Document("")
	if err != nil {
		t.Fatal(err)
	}
	doc := gjson.ParseBytes(text)
	if got, want := int(doc.Get("methods.#").Int()), len(nativeMethods()); got != want {
		t.Errorf("%d methods are described, want %d", got, want)
	}
	checkReferences(t, doc)
	told := doc.Get("x-notifications.#.name").String()
	names := []string{"stale", "auth_update", "ask_delta", "list_update"}
	for _, e := range feed.Events() {
		names = append(names, e.Method())
	}
	for _, name := range names {
		if !doc.Get(`x-notifications.#(name=="` + name + `").params.properties`).IsObject() {
			t.Errorf("%s is not among the notifications %s", name, told)
		}
	}
	for _, m := range doc.Get("methods").Array() {
		if m.Get("summary").String() == "" {
			t.Errorf("%s has no doc", m.Get("name"))
		}
	}
}

// What the document says of params is what decoding takes: each member, whether it must be there, and its type.
func TestDiscoverParams(t *testing.T) {
	judge := newSchemas(t)
	values := []string{`"01KAK2V7M0Q2X4T6V8Y0A2C4E6"`, `["01KAK2V7M0Q2X4T6V8Y0A2C4E6"]`, `[{"type":"text","text":"x"}]`,
		`{"name":"x"}`, `{"tools":true}`, `{"effort":"low"}`, `{"effects":{}}`, `{"cache":"1h"}`, `[{"name":"x"}]`, `[{"model_id":"sim/claude"}]`, `"read"`, `"low"`, `"downgrade"`, `"summarized"`, `"queue"`, `"stop"`, `"opaque"`, `"user"`, `["turn_end"]`, `["thought"]`, `"json"`, `"allow"`, `"day"`, `"2026-11-23"`, `7`, `true`, `1.5`, `[7]`, `[[]]`, `"x"`}
	for _, m := range nativeMethods() {
		described := judge.params[m.Name].(map[string]any)
		properties, required := described["properties"].(map[string]any), described["required"].([]any)
		fields := method.FieldsOf(m.Params)
		decode := func(params string) error {
			err := method.DecodeParams(json.RawMessage(params), reflect.New(m.Params).Elem(), fields)
			if e := failure.Known(err); e != nil { // as a client gets it
				return e
			}
			return err
		}
		if len(fields) != len(properties) {
			t.Errorf("%s: %d members are described, %d are taken", m.Name, len(properties), len(fields))
		}
		good := map[string]string{}
		for name, schema := range properties {
			for _, value := range values {
				why := judge.judge(schema, value)
				if strings.Contains(why, "there is no member") {
					continue // the judge is stricter: unknown members are ignored
				}
				fits := why == ""
				err := decode(`{"` + name + `":` + value + `}`)
				wrong, _ := errors.AsType[*conn.Error](err)
				taken := wrong == nil
				if field, ok := fieldOf(wrong); ok {
					taken = !strings.HasPrefix(field, name)
				}
				if fits != taken {
					t.Errorf("%s: %s: %s is described as right: %v; decoding says: %v", m.Name, name, value, fits, err)
				}
				if fits {
					good[name] = value
				}
			}
			if good[name] == "" {
				t.Errorf("%s: %s: no value of this test fits %v", m.Name, name, schema)
			}
		}
		whole := func(without string) string {
			var list []string
			for name, value := range good {
				if name != without {
					list = append(list, `"`+name+`":`+value)
				}
			}
			return "{" + strings.Join(list, ",") + "}"
		}
		for name := range good {
			err := decode(whole(name))
			if must := slices.Contains(required, any(name)); must != (err != nil) {
				t.Errorf("%s without %s: required: %v; decoding says: %v", m.Name, name, must, err)
			}
		}
	}
}

// fieldOf is the member that an error names; that of a level names none.
func fieldOf(e *conn.Error) (string, bool) {
	if e == nil {
		return "", false
	}
	field, ok := e.Data["field"].(string)
	return field, ok
}

func walk(v gjson.Result, visit func(string, gjson.Result)) {
	v.ForEach(func(name, member gjson.Result) bool {
		visit(name.String(), member)
		if member.IsObject() || member.IsArray() {
			walk(member, visit)
		}
		return true
	})
}

// Every kind of block that a client may see has a variant, and each variant says what the block's JSON is.
func TestBlockSchema(t *testing.T) {
	text, err := json.Marshal(newSchemaSet().Components)
	if err != nil {
		t.Fatal(err)
	}
	variants := map[string]gjson.Result{}
	for _, of := range gjson.GetBytes(text, "Block.oneOf").Array() {
		variant := gjson.GetBytes(text, strings.TrimPrefix(of.Get("$ref").String(), "#/components/schemas/"))
		variants[variant.Get("properties.type.const").String()] = variant
	}
	for _, b := range []provider.Block{
		provider.Text{Text: "x"},
		provider.Thinking{Text: "x", Kind: provider.ThinkingSummary, Tokens: 1},
		provider.ToolCall{ID: "1", Name: "n", Input: json.RawMessage(`{}`)},
		provider.ToolResult{CallID: "1"},
		provider.Media{Type: "image/png", Data: []byte{1}},
	} {
		encoded, err := provider.MarshalBlock(b)
		if err != nil {
			t.Fatal(err)
		}
		variant := variants[string(provider.KindOf(b))]
		for name := range conn.Members(encoded) {
			if !variant.Get("properties." + name).Exists() {
				t.Errorf("%s: the schema has no %s", provider.KindOf(b), name)
			}
		}
		for _, name := range variant.Get("required").Array() {
			if !gjson.GetBytes(encoded, name.String()).Exists() {
				t.Errorf("%s: the schema requires %s, which the block has not", provider.KindOf(b), name)
			}
		}
	}
}

func TestInitialize(t *testing.T) {
	const limits = `"limits":{"max_message_bytes":8388608,"max_depth":128,"max_method_bytes":128,"max_id_bytes":1024,"max_batch":64,"max_in_flight":256},"reconnect":{"min_ms":100,"max_ms":251}`
	const result = `{"jsonrpc":"2.0","id":1,"result":{"protocol_version":1,"server":{"name":"thinkd","version":"1.2.3"},"capabilities":{"tools":true,"confirm":true,"builtin_tools":false,"mcp_servers":false},` + limits + `}}`
	for params, want := range map[string]string{
		`{"protocol_version":1}`: result,
		`{"protocol_version":7,"client":{"name":"an editor","version":"2"},"capabilities":{"tools":true},"more":1}`: strings.TrimSuffix(result, "}}") + `,"ignored":["more"]}}`,
		`{"protocol_version":1,"strict":true}`:             result,
		`{"strict":true,"capabilities":{"confirms":true}}`: `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"capabilities.confirms: this method has no such member; did you mean capabilities.confirm?","data":{"candidates":["capabilities.confirm"],"did_you_mean":{"capabilities.confirms":"capabilities.confirm"},"field":"capabilities.confirms","ignored":["capabilities.confirms"],"kind":"invalid_params"}}}`,
		`{}`:                        result,
		`{"protocol_version":null}`: result,
		`{"protocol_version":"1"}`:  `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"protocol_version: must be a whole number, not string","data":{"field":"protocol_version","kind":"invalid_params"}}}`,
		`{"client":{"name":1}}`:     `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"client.name: must be a string, not number","data":{"field":"client.name","kind":"invalid_params"}}}`,
	} {
		got, err := converse(t, testServer(t, Config{}), strings.NewReader(conntest.Request(1, "initialize", params)))
		if err != nil || got != want+"\n" {
			t.Errorf("%s: %v\ngot  %swant %s", params, err, got, want)
		}
	}

	twice := conntest.Request(1, "initialize", "{}") + "\n" + conntest.Request(2, "initialize", "{}") + "\n" + conntest.Ping("3") + "\n"
	got, err := converse(t, testServer(t, Config{}), strings.NewReader(twice))
	want := result + "\n" +
		`{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"Invalid Request","data":{"detail":"initialize was called before on this connection","kind":"invalid_request"}}}` + "\n" +
		`{"jsonrpc":"2.0","id":3,"result":{}}` + "\n"
	if err != nil || got != want {
		t.Errorf("%v\ngot  %swant %s", err, got, want)
	}
}
