package provider_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
)

var origin = provider.Origin{API: "messages", Vendor: "anthropic", Host: "h", Account: "a", Model: "m"}

func state(data string) provider.State {
	return provider.State{Origin: origin, Data: json.RawMessage(data)}
}

// Each kind of block, as it is stored.
var blocks = []struct {
	name  string
	block provider.Block
	json  string
}{
	{"text", provider.Text{Text: "a\u2028<b>"}, `{"type":"text","text":"a\u2028\u003cb\u003e"}`},
	{"empty text", provider.Text{}, `{"type":"text","text":""}`},
	{"text with state", provider.Text{Text: "a", State: state(`{"x":[1]}`)},
		`{"type":"text","text":"a","state":{"origin":{"api":"messages","vendor":"anthropic","host":"h","account":"a","model":"m"},"data":{"x":[1]}}}`},
	{"thinking", provider.Thinking{Text: "t", Kind: provider.ThinkingFull, Duration: 412 * time.Millisecond},
		`{"type":"thinking","text":"t","kind":"full","signed":false,"duration_ms":412}`},
	{"signed thinking", provider.Thinking{Kind: provider.ThinkingOmitted, Signed: true, Tokens: 7, Estimated: true, State: state(`"s"`)},
		`{"type":"thinking","text":"","kind":"omitted","signed":true,"tokens":7,"estimated":true,"duration_ms":0,"state":{"origin":{"api":"messages","vendor":"anthropic","host":"h","account":"a","model":"m"},"data":"s"}}`},
	{"call", provider.ToolCall{ID: "c", Name: "n", Input: json.RawMessage(`{"big":12345678901234567890}`)},
		`{"type":"tool_call","call_id":"c","name":"n","arguments":{"big":12345678901234567890}}`},
	{"invalid call", provider.ToolCall{ID: "c", Name: "n", Invalid: `{"a":`}, `{"type":"tool_call","call_id":"c","name":"n","invalid_arguments":"{\"a\":"}`},
	{"result", provider.ToolResult{CallID: "c", Blocks: provider.Blocks{provider.Text{Text: "r"}}, Failed: true},
		`{"type":"tool_result","call_id":"c","content":[{"type":"text","text":"r"}],"is_error":true}`},
	{"server tool", provider.ServerTool{ID: "c", Name: "web_search", Input: json.RawMessage(`{"query":"sky"}`), State: state(`{"x":1}`)},
		`{"type":"server_tool","call_id":"c","name":"web_search","arguments":{"query":"sky"},"state":{"origin":{"api":"messages","vendor":"anthropic","host":"h","account":"a","model":"m"},"data":{"x":1}}}`},
	{"server tool's result", provider.ServerTool{ID: "c", Name: "web_search", Done: true, Sources: []provider.Citation{{URL: "https://a.example"}}},
		`{"type":"server_tool","text":"","sources":[{"url":"https://a.example"}],"call_id":"c","name":"web_search","is_error":false}`},
	{"media", provider.Media{Type: "image/png", Data: []byte{0, 1, 2}}, `{"type":"media","mime_type":"image/png","data":"AAEC"}`},
	{"opaque", provider.Opaque{State: state(`{"type":"novelty","n":1.0}`)},
		`{"type":"opaque","state":{"origin":{"api":"messages","vendor":"anthropic","host":"h","account":"a","model":"m"},"data":{"type":"novelty","n":1.0}}}`},
}

func TestBlockJSON(t *testing.T) {
	kinds := map[provider.BlockKind]bool{}
	for _, test := range blocks {
		t.Run(test.name, func(t *testing.T) {
			kinds[provider.KindOf(test.block)] = true
			data, err := provider.MarshalBlock(test.block)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.json, string(data)); diff != "" {
				t.Errorf("JSON (-want +got):\n%s", diff)
			}
			back, err := provider.UnmarshalBlock(data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.block, back); diff != "" {
				t.Errorf("back (-want +got):\n%s", diff)
			}
			if bare := provider.WithoutState(test.block); !provider.StateOf(bare).IsZero() || provider.KindOf(bare) != provider.KindOf(test.block) {
				t.Errorf("WithoutState: %+v", bare)
			}
		})
	}
	for _, kind := range []provider.BlockKind{provider.KindText, provider.KindThinking, provider.KindToolCall, provider.KindToolResult, provider.KindServerTool, provider.KindMedia, provider.KindOpaque} {
		if !kinds[kind] {
			t.Errorf("no case for %s", kind)
		}
	}
}

func TestBlockJSONErrors(t *testing.T) {
	for _, in := range []string{`{}`, `{"type":"novelty"}`, `{"type":"text"}`, `{"type":"media"}`, `{"type":"text","text":1}`,
		`{"type":"media","mime_type":"image/png","data":"!"}`, `{"type":"tool_result","content":[{"type":"x"}]}`, `[`, `7`} {
		if b, err := provider.UnmarshalBlock([]byte(in)); err == nil {
			t.Errorf("%s is taken as %+v", in, b)
		}
	}
	var list provider.Blocks
	if err := json.Unmarshal([]byte(`[{"type":"text","text":"a"},null]`), &list); err == nil {
		t.Errorf("a list with null is taken as %+v", list)
	}
}

// FuzzBlocks checks that what was read and written is read as the same.
func FuzzBlocks(f *testing.F) {
	for _, b := range blocks {
		f.Add([]byte("[" + b.json + "]"))
	}
	f.Add([]byte(`[{"type":"tool_result","content":[{"type":"tool_result"}]},{"type":"thinking","tokens":0,"estimated":true,"duration_ms":-9223372036854775808}]`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var first, second provider.Blocks
		if json.Unmarshal(in, &first) != nil {
			return
		}
		data, err := json.Marshal(first)
		if err != nil {
			t.Fatalf("read, but not written: %v", err)
		}
		if err := json.Unmarshal(data, &second); err != nil {
			t.Fatalf("written, but not read: %v\n%s", err, data)
		}
		again, err := json.Marshal(second)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(data), string(again)); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
	})
}
