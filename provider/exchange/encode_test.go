package exchange

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
)

// The request is only an estimate of the size: the body is the same if it is much longer or shorter.
func TestEncodeBodyAsEncode(t *testing.T) {
	blocks := rapid.OneOf(
		rapid.Map(rapid.String(), func(text string) provider.Block { return provider.Text{Text: text} }),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(data []byte) provider.Block { return provider.Media{Data: data} }),
		rapid.Map(rapid.String(), func(text string) provider.Block {
			return provider.ToolResult{Blocks: provider.Blocks{provider.Thinking{Text: text}, provider.ToolCall{Name: text}}}
		}))
	testgo.Check(t, func(t *rapid.T) {
		req := &provider.Request{System: rapid.String().Draw(t, "system"), Messages: []provider.Message{{Blocks: rapid.SliceOf(blocks).Draw(t, "blocks")}}}
		v := map[string]any{"text": rapid.StringN(-1, -1, 5000).Draw(t, "text"), "half": json.RawMessage(`"\ud83d"`)}
		want, err := Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := EncodeBody(req, v); err != nil || string(got) != string(want) {
			t.Fatalf("%s, %v; Encode: %s", got, err, want)
		}
	})
	if _, err := EncodeBody(&provider.Request{}, make(chan int)); err == nil {
		t.Error("a channel is encoded")
	}
}

// The estimate has room for a long conversation, and not much more.
func TestRoomForBody(t *testing.T) {
	type part struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type message struct {
		Role    provider.Role `json:"role"`
		Content []any         `json:"content"`
	}
	thought := json.RawMessage(`{"signature":"` + strings.Repeat("nCctWg3/", 40) + `","thinking":"` + strings.Repeat("Compare both. ", 25) + `","type":"thinking"}`)
	req, body := &provider.Request{}, []message{}
	for range 1000 {
		question := strings.Repeat("Which date is \"later\"?\n", 5)
		req.Messages = append(req.Messages,
			provider.Message{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: question}}},
			provider.Message{Role: provider.Assistant, Blocks: provider.Blocks{provider.Thinking{State: provider.State{Data: thought}}, provider.Text{Text: "The second."}}})
		body = append(body, message{provider.User, []any{part{"text", question}}}, message{provider.Assistant, []any{thought, part{"text", "The second."}}})
	}
	data, err := EncodeBody(req, body)
	if err != nil {
		t.Fatal(err)
	}
	if room := roomFor(req); room < len(data) || room > len(data)*5/4 {
		t.Errorf("room for %d bytes, %d are needed", room, len(data))
	}
}
