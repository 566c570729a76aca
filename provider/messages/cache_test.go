package messages_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/messages"
	"github.com/thinkd/thinkd/provider/providertest"
)

// TestCacheTime: the session's word counts before the provider's, all marks are of one time, and without a system prompt
// the tools carry one.
func TestCacheTime(t *testing.T) {
	for _, test := range []struct {
		config, session provider.CacheTime
		want            string // of each mark; empty: there are none
	}{
		{"", "", `{"type":"ephemeral"}`},
		{"5m", "", `{"type":"ephemeral"}`},
		{"1h", "", `{"type":"ephemeral","ttl":"1h"}`},
		{"off", "", ""},
		{"off", "1h", `{"type":"ephemeral","ttl":"1h"}`},
		{"1h", "off", ""},
		{"1h", "5m", `{"type":"ephemeral"}`},
	} {
		for _, system := range []string{"", "Be brief."} {
			a := &providertest.Host{Body: done}
			api := messages.New(exchange.Config{Provider: "anthropic", Vendor: "anthropic", BaseURL: "https://host.test", Key: provider.NewSecret("key"), Cache: test.config, Client: exchange.NewClient(a)}, messages.Host{})
			req := &provider.Request{Model: provider.Model{ID: "m"}, System: system, Messages: said(), Options: provider.Options{Cache: test.session},
				Tools: []provider.Tool{{Name: "a", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "b", Schema: json.RawMessage(`{"type":"object"}`)}}}
			if reply := providertest.Check(t, api.Stream(t.Context(), req)); reply.Err != nil {
				t.Fatal(reply.Err)
			}
			paths := []string{"tools.1.cache_control", "messages.0.content.0.cache_control"}
			if system != "" {
				paths[0] = "system.0.cache_control"
			}
			if test.want == "" {
				paths = nil
			}
			for _, path := range paths {
				if got := gjson.GetBytes(a.Sent, path).Raw; got != test.want {
					t.Errorf("%+v, system %q: %s is %s, want %s", test, system, path, got, test.want)
				}
			}
			if n := strings.Count(string(a.Sent), `"cache_control"`); n != len(paths) {
				t.Errorf("%+v, system %q: %d marks, want %d: %s", test, system, n, len(paths), a.Sent)
			}
		}
	}
}

// The marks are where the request before had its last one, and, for models that do not get the thinking of earlier turns, where the turn
// before began.
func TestCacheMarkPlaces(t *testing.T) {
	call := func(id string) provider.Message {
		return provider.Message{Role: provider.Assistant, Blocks: provider.Blocks{provider.ToolCall{ID: id, Name: "a", Input: json.RawMessage(`{}`)}}}
	}
	result := func(id string) provider.Message {
		return provider.Message{Role: provider.User, Blocks: provider.Blocks{provider.ToolResult{CallID: id, Blocks: provider.Blocks{provider.Text{Text: "x"}}}}}
	}
	answer := provider.Message{Role: provider.Assistant, Blocks: provider.Blocks{provider.Text{Text: "Yes."}}}
	for _, test := range []struct {
		name, model string
		list        []provider.Message
		marked      []int
	}{
		{"first prompt", "claude-opus-5-5", []provider.Message{providertest.User("a")}, []int{0}},
		{"steered", "claude-opus-5-5", []provider.Message{providertest.User("a"), call("1"), result("1"), providertest.User("steer")}, []int{0, 3}},
		{"next turn", "claude-opus-5-5", []provider.Message{providertest.User("a"), call("1"), result("1"), answer, providertest.User("b")}, []int{2, 4}},
		{"next turn, forgotten thinking", "claude-haiku-4-5", []provider.Message{providertest.User("a"), call("1"), result("1"), answer, providertest.User("b")}, []int{0, 2, 4}},
	} {
		a := &providertest.Host{Body: done}
		api := messages.New(exchange.Config{Provider: "anthropic", Vendor: "anthropic", BaseURL: "https://host.test", Key: provider.NewSecret("key"), Client: exchange.NewClient(a)}, messages.Host{})
		tools := []provider.Tool{{Name: "a", Schema: json.RawMessage(`{"type":"object"}`)}}
		if reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: provider.Model{ID: test.model}, Tools: tools, Messages: test.list})); reply.Err != nil {
			t.Fatal(reply.Err)
		}
		var marked []int
		for i, m := range gjson.GetBytes(a.Sent, "messages").Array() {
			if strings.Contains(m.Raw, `"cache_control"`) {
				marked = append(marked, i)
			}
		}
		if !slices.Equal(marked, test.marked) {
			t.Errorf("%s: messages %v have marks, want %v: %s", test.name, marked, test.marked, a.Sent)
		}
	}
}
