package provider_test

import (
	"testing"

	"github.com/thinkd/thinkd/provider"
)

func TestInitiator(t *testing.T) {
	result := provider.ToolResult{CallID: "c", Blocks: provider.Blocks{provider.Media{Type: "image/png", Data: []byte{1}}}}
	user := func(blocks ...provider.Block) provider.Message {
		return provider.Message{Role: provider.User, Blocks: blocks}
	}
	for _, tt := range []struct {
		name string
		req  provider.Request
		want string
	}{
		{"a prompt", provider.Request{Messages: []provider.Message{user(provider.Text{Text: "a"})}}, "user"},
		{"an image of a tool", provider.Request{Messages: []provider.Message{user(provider.Text{Text: "a"}), user(result)}}, "agent"},
		{"a person beside a tool", provider.Request{Messages: []provider.Message{user(result, provider.Text{Text: "a"})}}, "user"},
		{"an answer that goes on", provider.Request{Messages: []provider.Message{{Role: provider.Assistant, Blocks: provider.Blocks{provider.Text{Text: "a"}}}}}, "agent"},
		{"a summary", provider.Request{Whole: true, Messages: []provider.Message{user(provider.Text{Text: "a"})}}, "agent"},
		{"nothing", provider.Request{}, "user"},
	} {
		if got := tt.req.Initiator(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
