package replay

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
)

func TestServerTools(t *testing.T) {
	state := provider.State{Origin: provider.Origin{API: "messages", Vendor: "anthropic"}, Data: json.RawMessage(`{}`)}
	call := func(id string) provider.Block {
		return provider.ServerTool{ID: id, Name: "web_search", Input: json.RawMessage(`{"query":"sky"}`), State: state}
	}
	result := func(id string) provider.Block {
		return provider.ServerTool{ID: id, Name: "web_search", Done: true, Text: "1 page", Sources: []provider.Citation{{URL: "https://a.example", Title: "A"}}, State: state}
	}
	said := provider.Text{Text: "Blue."}
	says := func(blocks ...provider.Block) provider.Message {
		return provider.Message{Role: provider.Assistant, Blocks: blocks}
	}
	asks := provider.Message{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "And?"}}}
	answers := provider.Message{Role: provider.User, Blocks: provider.Blocks{provider.ToolResult{CallID: "c"}}}
	local := provider.ToolCall{ID: "c", Name: "read", Input: json.RawMessage(`{}`)}
	plain := provider.Text{Text: "[web_search {\"query\":\"sky\"}: 1 page\n- A: https://a.example]"}
	list := func(m ...provider.Message) []provider.Message { return m }
	for _, test := range []struct {
		name    string
		own     bool
		in, out []provider.Message
		foreign int
	}{
		{"none", true, list(asks, says(said)), list(asks, says(said)), 0},
		{"own", true, list(says(call("1"), result("1"), said), asks), list(says(call("1"), result("1"), said), asks), 0},
		{"foreign", false, list(says(call("1"), result("1"), said), asks), list(says(plain, said), asks), 1},
		{"over a pause", true, list(says(call("1")), says(result("1"), said)), list(says(call("1")), says(result("1"), said)), 0},
		{"paused", true, list(says(call("1"))), list(says(call("1"))), 0},
		{"paused among other calls", true, list(says(call("1"), local), answers), list(says(call("1"), local), answers), 0},
		{"never answered", true, list(says(call("1"), local), answers, says(said)), list(says(local), answers, says(said)), 0},
		{"interrupted", true, list(says(said, call("1")), asks), list(says(said), asks), 0},
		{"interrupted, foreign", false, list(says(said, call("1")), asks), list(says(said), asks), 0},
		{"a result alone", true, list(says(result("1"), said)), list(says(said)), 0},
		{"an id again", true, list(says(call("1")), asks, says(call("1"), result("1"))), list(says(), asks, says(call("1"), result("1"))), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, foreign := ServerTools(test.in, func(provider.State) bool { return test.own })
			if diff := cmp.Diff(test.out, out); diff != "" || foreign != test.foreign {
				t.Errorf("%d foreign, want %d (-want +got):\n%s", foreign, test.foreign, diff)
			}
		})
	}
}
