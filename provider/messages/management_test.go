package messages_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/messages"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/sim"
)

// What the operator says goes out word for word, with the betas that it needs.
func TestManagementOnTheWire(t *testing.T) {
	for _, test := range []struct{ management, betas string }{
		{`{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}`, "context-management-2025-06-27"},
		{`{"edits":[{"type":"compact_20260112"}]}`, "compact-2026-01-12"},
		{`{"edits":[{"type":"clear_tool_uses_20250919"},{"type":"compact_20260112","trigger":{"type":"input_tokens","value":50000}}]}`, "compact-2026-01-12,context-management-2025-06-27"},
	} {
		sent := &providertest.Host{Body: done}
		api := messages.New(exchange.Config{Provider: "p", Vendor: "anthropic", BaseURL: "http://api.example.com", Key: provider.NewSecret("k"),
			Context: json.RawMessage(test.management), Client: exchange.NewClient(sent)}, messages.Host{})
		providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: always, Messages: said()}))
		if got := gjson.GetBytes(sent.Sent, "context_management").Raw; got != test.management {
			t.Errorf("sent %s, want %s", got, test.management)
		}
		if got := sent.SentHeader.Get("anthropic-beta"); got != test.betas {
			t.Errorf("betas %q, want %q", got, test.betas)
		}
		providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: always, Messages: said(), Whole: true}))
		if got := gjson.GetBytes(sent.Sent, "context_management").Raw + sent.SentHeader.Get("anthropic-beta"); got != "" {
			t.Errorf("sent %s with what has to be whole", got)
		}
	}
}

// Edits that clear thinking are left out while thinking is off, because they would be refused.
func TestManagementWithoutThinking(t *testing.T) {
	for _, test := range []struct{ management, want string }{
		{`{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}`, ""},
		{`{"edits":[{"type":"clear_thinking_20251015","keep":"all"},{"type":"compact_20260112"}]}`, `{"edits":[{"type":"compact_20260112"}]}`},
		{`{"edits":[{"type":"compact_20260112"}]}`, `{"edits":[{"type":"compact_20260112"}]}`},
	} {
		sent := &providertest.Host{Body: done}
		api := messages.New(exchange.Config{Provider: "p", Vendor: "anthropic", BaseURL: "http://api.example.com", Key: provider.NewSecret("k"),
			Context: json.RawMessage(test.management), Client: exchange.NewClient(sent)}, messages.Host{})
		providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: model("claude-haiku-4-5", budget), Messages: said(),
			Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeOff}}}))
		if got := gjson.GetBytes(sent.Sent, "context_management").Raw; got != test.want {
			t.Errorf("sent %s, want %s", got, test.want)
		}
	}
}

// A conversation that the vendor shortens by itself: blocks of compaction go back in their place, a pause for one goes
// on, and with the switch off again nothing is refused.
func TestManagedConversation(t *testing.T) {
	for _, test := range []struct {
		name           string
		paused, signed bool
	}{{"in the answer", false, false}, {"with a pause", true, false}, {"signed", false, true}, {"signed, with a pause", true, true}} {
		t.Run(test.name, func(t *testing.T) {
			server := sim.New(sim.Config{})
			client := providertest.Simulated(t, server)
			open := func(management string) *messages.API {
				headers := map[string]string{}
				if test.signed && management != "" {
					headers["anthropic-beta"] = "compact-2026-09-04"
				}
				return messages.New(exchange.Config{Headers: headers, Provider: "sim", Vendor: "anthropic", BaseURL: "http://simulator", Context: json.RawMessage(management),
					Key: provider.NewSecret("sk-sim"), Client: client}, messages.Host{})
			}
			managed := open(`{"edits":[{"type":"clear_thinking_20251015"},{"type":"compact_20260112","pause_after_compaction":` + fmt.Sprint(test.paused) + `,"trigger":{"type":"input_tokens","value":1500}}]}`)
			var history []provider.Message
			compacted, pauses, edits := 0, 0, 0
			ask := func(api *messages.API, text string) {
				t.Helper()
				history = append(history, providertest.User(text))
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
							if signed := gjson.GetBytes(b.State.Data, "signature").Exists(); signed != test.signed {
								t.Errorf("the compaction is %s", b.State.Data)
							}
							apart := reply.Stop.Usage.Separate
							if len(apart) != 1 || apart[0].Input < 1500 || reply.Stop.Usage.Input <= apart[0].Input {
								t.Errorf("usage %+v of %s", reply.Stop.Usage, reply.Stop.RawUsage)
							}
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
			if compacted == 0 || edits == 0 || (pauses > 0) != test.paused {
				t.Errorf("%d compactions, %d pauses, %d notices of edits", compacted, pauses, edits)
			}
		})
	}
}

// What the vendor adds since autumn 2026 goes back as it came, in the block's place.
func TestNewBlocks(t *testing.T) {
	for _, block := range []string{
		`{"type":"mcp_tool_listing","tools":[{"name":"a"}]}`,
		`{"type":"advisor_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"advisor_result","text":"x"}}`,
		`{"type":"bash_code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{}}`,
		`{"type":"text_editor_code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{}}`,
		`{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_1","content":{}}`,
		`{"type":"container_upload","file_id":"file_1"}`,
		`{"type":"fallback","from":{"model":"a"},"to":{"model":"b"},"trigger":"refusal"}`,
		`{"type":"compaction","content":"s","encrypted_content":"e","signature":"g","tool_changes":[{"type":"tool_addition"}]}`,
	} {
		called, at := "", 0
		if strings.Contains(block, "tool_use_id") { // the API refuses a result without its call (anthropics/claude-code 95406)
			called, at = `{"type":"server_tool_use","id":"srvtoolu_1","name":"advisor","input":{}},`, 1
		}
		sent := &providertest.Host{Body: `{"type":"message","role":"assistant","model":"claude-opus-5-5","stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1},` +
			`"content":[` + called + block + `,{"type":"text","text":"done"}]}`}
		api := messages.New(exchange.Config{Provider: "p", Vendor: "anthropic", BaseURL: "http://api.example.com", Key: provider.NewSecret("k"), Client: exchange.NewClient(sent)}, messages.Host{})
		reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: always, Messages: said()}))
		if reply.Err != nil || len(reply.Blocks) != at+2 {
			t.Errorf("%s: %v, %v", block, reply.Blocks, reply.Err)
			continue
		}
		told := slices.ContainsFunc(reply.Notices, func(n provider.Notice) bool {
			return n.Kind == provider.NoticeOverride && n.Text == "b answers instead of a: refusal"
		})
		if told != strings.Contains(block, "fallback") {
			t.Errorf("%s: notices %+v", block, reply.Notices)
		}
		providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: always, Messages: append(said(),
			provider.Message{Role: provider.Assistant, Blocks: reply.Blocks}, providertest.User("go on"))}))
		back := gjson.GetBytes(sent.Sent, fmt.Sprintf("messages.1.content.%d", at)).Raw
		if diff := providertest.DiffJSON([]byte(block), []byte(back)); diff != "" {
			t.Errorf("goes back (-want +got):\n%s", diff)
		}
		if beta := sent.SentHeader.Get("anthropic-beta"); strings.Contains(beta, "compact-2026-09-04") != strings.Contains(block, "signature") {
			t.Errorf("%s goes back with the betas %q", block, beta)
		}
	}
}

// The vendor's own compactions are on the bill, and in no other count. Their prompt is priced by its own size.
func TestIterations(t *testing.T) {
	sent := &providertest.Host{Body: `{"type":"message","role":"assistant","model":"claude-haiku-5-5","stop_reason":"end_turn","content":[{"type":"text","text":"done"}],
		"usage":{"input_tokens":1000,"output_tokens":200,"cache_read_input_tokens":39000,"service_tier":"standard","iterations":[
		{"type":"compaction","input_tokens":150000,"output_tokens":2000,"cache_read_input_tokens":0,"cache_creation_input_tokens":50000,"cache_creation":{"ephemeral_1h_input_tokens":50000}},
		{"type":"message","input_tokens":1000,"output_tokens":200,"cache_read_input_tokens":39000}]}}`}
	api := messages.New(exchange.Config{Provider: "p", Vendor: "anthropic", BaseURL: "http://api.example.com", Key: provider.NewSecret("k"), Client: exchange.NewClient(sent)}, messages.Host{})
	reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: always, Messages: said()}))
	if reply.Err != nil {
		t.Fatal(reply.Err)
	}
	u := reply.Stop.Usage
	if u.Input != 240_000 || u.Output != 2200 || u.Cached != 39_000 || u.CacheWrite != 50_000 || u.CacheWriteLong != 50_000 || u.Tier != "standard" || u.Size() != 40_200 {
		t.Errorf("usage %+v, size %d", u, u.Size())
	}
}

// The vendor's newest errors, each as what it is.
func TestNewErrors(t *testing.T) {
	for _, test := range []struct {
		status           int
		kind, code, text string
		want             provider.Kind
	}{
		{400, "invalid_request_error", "image_dimensions_too_large", "messages.0.content.0.image: image dimensions exceed the limit of 8000 pixels", provider.KindBadRequest},
		{429, "contract_spend_limit_reached", "", "The contract's spend limit is reached", provider.KindQuota},
		{400, "invalid_request_error", "compaction_block_misplaced", "messages.1: compaction block is misplaced", provider.KindBadRequest},
	} {
		sent := &providertest.Host{Status: test.status, Body: `{"type":"error","error":{"type":"` + test.kind + `","message":"` + test.text + `","details":{"error_code":"` + test.code + `"}}}`}
		api := messages.New(exchange.Config{Provider: "p", Vendor: "anthropic", BaseURL: "http://api.example.com", Key: provider.NewSecret("k"), Client: exchange.NewClient(sent)}, messages.Host{})
		reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: always, Messages: said()}))
		var e *provider.Error
		if !errors.As(reply.Err, &e) || e.Kind != test.want {
			t.Errorf("%s%s: %+v", test.kind, test.code, reply.Err)
		}
	}
}
