package rpc

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

type blocksParams struct {
	Content provider.Blocks `json:"content"`
	Model   provider.Model  `json:"model,omitzero"`
}

func TestDiscover(t *testing.T) {
	blocks := define(method{name: "blocks", doc: "Takes blocks."}, func(_ context.Context, _ *client, p blocksParams) (blocksParams, error) { return p, nil })
	methods := append(append(coreMethods(), testMethods()...), blocks)
	s := newServer(Config{Version: "1.2.3", Log: slog.New(slog.NewTextHandler(io.Discard, nil))}, methods)
	got, err := converse(t, s, strings.NewReader(request(1, "rpc.discover", "{}")))
	if err != nil {
		t.Fatal(err)
	}
	doc := gjson.Get(got, "result")

	var names, described []string
	for _, m := range methods {
		names = append(names, m.name)
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
		`methods.#(name=="blocks").params.#(name=="content").schema`: `{"items":{"$ref":"#/components/schemas/Block"},"type":"array"}`,
		`components.schemas.Block.oneOf.#.properties.type.const`:     `["text","thinking","tool_call","tool_result","media"]`,
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

// The native table is described whole.
func TestDiscoverNative(t *testing.T) {
	text, err := NewServer(Config{Log: slog.New(slog.DiscardHandler)}).discover()
	if err != nil {
		t.Fatal(err)
	}
	doc := gjson.ParseBytes(text)
	if got, want := int(doc.Get("methods.#").Int()), len(allMethods()); got != want {
		t.Errorf("%d methods are described, want %d", got, want)
	}
	checkReferences(t, doc)
	for _, m := range doc.Get("methods").Array() {
		if m.Get("summary").String() == "" {
			t.Errorf("%s has no doc", m.Get("name"))
		}
	}
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
	text, err := json.Marshal(blockSchema())
	if err != nil {
		t.Fatal(err)
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
		variant := gjson.GetBytes(text, `oneOf.#(properties.type.const=="`+string(provider.KindOf(b))+`")`)
		for name := range members(encoded) {
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
	const limits = `"limits":{"max_message_bytes":8388608,"max_depth":128,"max_method_bytes":128,"max_id_bytes":1024,"max_batch":64,"max_in_flight":256}`
	const result = `{"jsonrpc":"2.0","id":1,"result":{"protocol_version":1,"server":{"name":"thinkd","version":"1.2.3"},"capabilities":{"tools":false,"confirm":false},` + limits + `}}`
	for params, want := range map[string]string{
		`{"protocol_version":1}`: result,
		`{"protocol_version":7,"client":{"name":"an editor","version":"2"},"capabilities":{"tools":true},"more":1}`: result,
		`{}`:                        result,
		`{"protocol_version":null}`: result,
		`{"protocol_version":"1"}`:  `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"protocol_version: must be a whole number, not string","data":{"field":"protocol_version","kind":"invalid_params"}}}`,
		`{"client":{"name":1}}`:     `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"client.name: must be a string, not number","data":{"field":"client.name","kind":"invalid_params"}}}`,
	} {
		got, err := converse(t, testServer(t, Config{}), strings.NewReader(request(1, "initialize", params)))
		if err != nil || got != want+"\n" {
			t.Errorf("%s: %v\ngot  %swant %s", params, err, got, want)
		}
	}

	twice := request(1, "initialize", "{}") + "\n" + request(2, "initialize", "{}") + "\n" + pingWith("3") + "\n"
	got, err := converse(t, testServer(t, Config{}), strings.NewReader(twice))
	want := result + "\n" +
		`{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"Invalid Request","data":{"detail":"initialize was called before on this connection","kind":"invalid_request"}}}` + "\n" +
		`{"jsonrpc":"2.0","id":3,"result":{}}` + "\n"
	if err != nil || got != want {
		t.Errorf("%v\ngot  %swant %s", err, got, want)
	}
}
