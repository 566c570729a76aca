package messages_test

import (
	"encoding/json"
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
