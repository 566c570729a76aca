package chat_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/chat"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/providertest"
)

// TestCacheMarks: Claude behind a gateway, and Qwen, keep of a prompt what is marked, and nothing else.
func TestCacheMarks(t *testing.T) {
	const short, long = `{"type":"ephemeral"}`, `{"type":"ephemeral","ttl":"1h"}`
	part := func(i string) string { return "messages." + i + ".content.0.cache_control" }
	for _, test := range []struct {
		dialect, model string
		cache          provider.CacheTime
		repairs        []provider.Repair
		mark           string
		paths          []string
	}{
		{"openrouter", "anthropic/claude-opus-5-5", "", nil, short, []string{part("0"), part("1"), "messages.3.cache_control"}},
		{"openrouter", "anthropic/claude-opus-5-5", "1h", nil, long, []string{part("0"), part("1"), "messages.3.cache_control"}},
		{"openrouter", "anthropic/claude-opus-5-5", "off", nil, "", nil},
		{"openrouter", "anthropic/claude-opus-5-5", "", []provider.Repair{exchange.Without("chat", "cache_control", "anthropic/claude-opus-5-5")}, "", nil},
		{"openrouter", "openai/gpt-6-sol", "", nil, "", nil},
		{"litellm", "bedrock/Claude-opus", "1h", nil, long, []string{part("0"), part("1"), "messages.3.cache_control"}},
		{"dashscope", "qwen3.8-max", "1h", nil, short, []string{part("0"), part("1"), part("3")}},
		{"generic", "claude-opus-5-5", "", nil, "", nil},
		{"openai", "gpt-5.5", "1h", nil, "", nil},
	} {
		host := &answering{answers: []answer{{200, fine}}}
		d, err := chat.Named(test.dialect)
		if err != nil {
			t.Fatal(err)
		}
		api := chat.New(exchange.Config{Provider: "p", BaseURL: "https://host.test", Key: provider.NewSecret("key"), Cache: test.cache, Client: &http.Client{Transport: host}}, d)
		req := &provider.Request{Model: provider.Model{ID: test.model}, System: "Be brief.", Tools: readTool, Repairs: test.repairs, Messages: []provider.Message{
			providertest.User("Read."),
			{Role: provider.Assistant, Blocks: provider.Blocks{provider.ToolCall{ID: "call_1", Name: "read", Input: json.RawMessage(`{}`)}}},
			{Role: provider.User, Blocks: provider.Blocks{provider.ToolResult{CallID: "call_1", Blocks: provider.Blocks{provider.Text{Text: "x"}}}}},
		}}
		if reply := providertest.Check(t, api.Stream(t.Context(), req)); reply.Err != nil {
			t.Fatal(reply.Err)
		}
		for _, path := range test.paths {
			if got := gjson.GetBytes(host.sent[0], path).Raw; got != test.mark {
				if gjson.Get(got, "type").Str != gjson.Get(test.mark, "type").Str || gjson.Get(got, "ttl").Str != gjson.Get(test.mark, "ttl").Str {
					t.Errorf("%s, %s: %s is %s, want %s", test.dialect, test.model, path, got, test.mark)
				}
			}
		}
		if n := strings.Count(string(host.sent[0]), `"cache_control"`); n != len(test.paths) {
			t.Errorf("%s, %s: %d marks, want %d: %s", test.dialect, test.model, n, len(test.paths), host.sent[0])
		}
	}
}
