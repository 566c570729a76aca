package messages_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/messages"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/sim"
)

// What the operator says goes out word for word, with the betas that it needs.
func TestManagementOnTheWire(t *testing.T) {
	for _, test := range []struct{ management, betas string }{
		{`{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}`, "context-management-2025-06-27"},
		{`{"edits":[{"type":"compact_20260112"}]}`, "compact-2026-01-12"},
		{`{"edits":[{"type":"compact_20260904"}]}`, "compact-2026-09-04"},
		{`{"edits":[{"type":"clear_tool_uses_20250919"},{"type":"compact_20260112","trigger":{"type":"input_tokens","value":50000}}]}`, "compact-2026-01-12,context-management-2025-06-27"},
	} {
		sent := &answerer{status: 200, body: done}
		api := messages.New(messages.Config{Provider: "p", Vendor: "anthropic", BaseURL: "http://api.example.com", Key: provider.NewSecret("k"),
			Context: json.RawMessage(test.management), Client: provider.NewClient(sent)})
		providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: always, Messages: said()}))
		if got := gjson.GetBytes(sent.sent, "context_management").Raw; got != test.management {
			t.Errorf("sent %s, want %s", got, test.management)
		}
		if got := sent.header.Get("anthropic-beta"); got != test.betas {
			t.Errorf("betas %q, want %q", got, test.betas)
		}
		providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: always, Messages: said(), Whole: true}))
		if got := gjson.GetBytes(sent.sent, "context_management").Raw + sent.header.Get("anthropic-beta"); got != "" {
			t.Errorf("sent %s with what has to be whole", got)
		}
	}
}

// A conversation that the vendor shortens by itself: blocks of compaction go back in their place, a pause for one goes
// on, and with the switch off again nothing is refused.
func TestManagedConversation(t *testing.T) {
	for _, kind := range []string{"compact_20260112", "compact_20260904"} {
		t.Run(kind, func(t *testing.T) {
			server := sim.New(sim.Config{})
			listener := server.Listen()
			defer listener.Close()
			open := func(management string) *messages.API {
				return messages.New(messages.Config{Provider: "sim", Vendor: "anthropic", BaseURL: "http://simulator", Context: json.RawMessage(management),
					Key: provider.NewSecret("sk-sim"), Client: provider.NewClient(listener.Transport())})
			}
			managed := open(`{"edits":[{"type":"clear_thinking_20251015"},{"type":"` + kind + `","trigger":{"type":"input_tokens","value":1500}}]}`)
			var history []provider.Message
			compacted, pauses, edits := 0, 0, 0
			ask := func(api *messages.API, text string) {
				t.Helper()
				history = append(history, user(text))
				for range 8 {
					reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: model("claude-opus-5-5", always), System: "Be brief.",
						Tools: []provider.Tool{{Name: "read"}}, Messages: history,
						Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeEffort, Effort: provider.High}}}))
					if reply.Err != nil {
						t.Fatal(reply.Err)
					}
					history = append(history, provider.Message{Role: provider.Assistant, Blocks: reply.Blocks})
					results := provider.Message{Role: provider.User}
					for _, b := range reply.Blocks {
						switch b := b.(type) {
						case provider.Opaque:
							compacted++
						case provider.ToolCall:
							results.Blocks = append(results.Blocks, provider.ToolResult{CallID: b.ID, Blocks: provider.Blocks{provider.Text{Text: "package a"}}})
						}
					}
					edits += len(slices.DeleteFunc(slices.Clone(reply.Notices), func(n provider.Notice) bool { return n.Kind != provider.NoticeEdited }))
					switch reply.Stop.Reason {
					case provider.StopToolUse:
						history = append(history, results)
					case provider.StopPause:
						pauses++
					default:
						return
					}
				}
				t.Fatal("no end of it")
			}
			for range 6 {
				ask(managed, "Read it. [[sim: tool=read]] "+strings.Repeat("And mind every word of it. ", 20))
			}
			ask(open(""), "And now without.")
			if refused := server.Refusals(); len(refused) > 0 {
				t.Errorf("refused: %+v", refused)
			}
			if compacted == 0 || edits == 0 || (pauses > 0) != (kind == "compact_20260904") {
				t.Errorf("%d compactions, %d pauses, %d notices of edits", compacted, pauses, edits)
			}
		})
	}
}
