package responses_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/responses"
	"github.com/thinkd/thinkd/provider/sim"
)

// A conversation that the vendor compacts by itself, over changes of effort: those stay on top, since it does not take
// both; items of compaction go back in their place, and a changed one is refused.
func TestManagedConversation(t *testing.T) {
	server := sim.New(sim.Config{})
	client := providertest.Simulated(t, server)
	api := responses.New(exchange.Config{Provider: "openai", Vendor: "openai", BaseURL: "http://simulator/v1",
		Context: json.RawMessage(`[{"type":"compaction","compact_threshold":700}]`), Key: provider.NewSecret("sk-1"), Client: client}, responses.HostNamed("openai"))
	astra := model("gpt-6-astra", provider.ControlEffort, true)
	var history []provider.Message
	request := func(effort provider.Level) *provider.Request {
		return &provider.Request{Model: astra, System: "Be brief.", Tools: []provider.Tool{{Name: "read", Description: "read a file"}}, Messages: history,
			Decision: control(provider.ModeEffort, effort, provider.Summarized), Opening: provider.Low, Changed: true}
	}
	compacted := 0
	for _, effort := range []provider.Level{provider.Low, provider.High, provider.Low, provider.High} {
		ask := providertest.User("Read it. [[sim: tool=read]] " + strings.Repeat("And mind every word of it. ", 20))
		ask.Effort = effort
		history = append(history, ask)
		wire, err := api.Wire(request(effort))
		if err != nil || gjson.GetBytes(wire, "reasoning.effort").Str != string(effort) || gjson.GetBytes(wire, "input").Exists() {
			t.Fatalf("effort %s is sent as %s, %v", effort, wire, err)
		}
		for round := 0; ; round++ {
			reply := providertest.Check(t, api.Stream(t.Context(), request(effort)))
			if reply.Err != nil || round > 5 {
				t.Fatalf("round %d: %v", round, reply.Err)
			}
			history = append(history, provider.Message{Role: provider.Assistant, Blocks: reply.Blocks})
			for _, b := range reply.Blocks {
				if _, ok := b.(provider.Opaque); ok {
					compacted++
				}
			}
			if reply.Stop.Reason != provider.StopToolUse {
				break
			}
			history = append(history, providertest.Results(reply.Blocks, "package a"))
		}
	}
	if refused := server.Refusals(); len(refused) > 0 || compacted == 0 {
		t.Fatalf("%d compactions, refused: %+v", compacted, refused)
	}
	for i := range history {
		for k, b := range history[i].Blocks {
			if o, ok := b.(provider.Opaque); ok {
				o.State.Data = json.RawMessage(strings.Replace(string(o.State.Data), "gAAAAA", "gAAAAAB", 1))
				history[i].Blocks[k] = o
			}
		}
	}
	history = append(history, providertest.User("Go on."))
	if reply := providertest.Check(t, api.Stream(t.Context(), request(provider.Low))); reply.Err == nil {
		t.Error("changed items of compaction are taken")
	}
}

// The vendor's newest items go back as they came, in their place, streamed or whole.
func TestNewItems(t *testing.T) {
	for _, item := range []string{
		`{"type":"program","id":"prog_1","call_id":"call_1","code":"print(1)","status":"completed"}`,
		`{"type":"program_output","id":"po_1","call_id":"call_1","output":"1"}`,
		`{"type":"additional_tools","id":"at_1","tools":[{"type":"function","name":"a"}]}`,
		`{"type":"tool_search_call","id":"tsc_1","arguments":{"query":"a"},"status":"completed"}`,
		`{"type":"tool_search_output","id":"tso_1","tools":[{"type":"function","name":"a"}]}`,
		`{"type":"shell_call","id":"sh_1","call_id":"call_1","action":{"commands":["ls"]},"status":"completed"}`,
		`{"type":"shell_call_output","id":"sho_1","call_id":"call_1","output":[{"stdout":"a","stderr":""}]}`,
		`{"type":"apply_patch_call","id":"ap_1","call_id":"call_1","operation":{"type":"delete_file","path":"a"},"status":"completed"}`,
		`{"type":"apply_patch_call_output","id":"apo_1","call_id":"call_1","status":"completed"}`,
		`{"type":"released_tomorrow","id":"x_1","member":{"a":[1]}}`,
	} {
		text := `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"done","annotations":[]}]}`
		whole := `{"object":"response","status":"completed","output":[` + item + `,` + text + `],"usage":{"input_tokens":1,"output_tokens":1}}`
		streamed := ""
		for i, it := range []string{item, text} {
			streamed += fmt.Sprintf("data: {\"type\":\"response.output_item.added\",\"output_index\":%d,\"item\":%s}\n\ndata: {\"type\":\"response.output_item.done\",\"output_index\":%[1]d,\"item\":%[2]s}\n\n", i, it)
		}
		streamed += "data: {\"type\":\"response.completed\",\"response\":" + whole + "}\n\n"
		for kind, body := range map[string]string{"": streamed, "application/json": whole} {
			sent := &providertest.Host{Body: body, Type: kind}
			api := responses.New(exchange.Config{Provider: "openai", Vendor: "openai", BaseURL: "http://api.example.com/v1",
				Key: provider.NewSecret("k"), Client: exchange.NewClient(sent)}, responses.HostNamed("openai"))
			sol := model("gpt-6.1-sol", provider.ControlEffort, true)
			reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: sol, Messages: []provider.Message{providertest.User("go")}}))
			if reply.Err != nil || len(reply.Blocks) != 2 {
				t.Errorf("%s (%s): %v, %v", item, kind, reply.Blocks, reply.Err)
				continue
			}
			if _, ok := reply.Blocks[0].(provider.Opaque); !ok {
				t.Errorf("%s (%s) is shown as %T", item, kind, reply.Blocks[0])
			}
			providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: sol, Messages: []provider.Message{providertest.User("go"),
				{Role: provider.Assistant, Blocks: reply.Blocks}, providertest.User("go on")}}))
			back := ""
			for _, in := range gjson.GetBytes(sent.Sent, "input").Array() {
				if in.Get("type").Str == gjson.Get(item, "type").Str {
					back += in.Raw
				}
			}
			if back == "" {
				t.Errorf("%s (%s) does not go back: %s", item, kind, sent.Sent)
			} else if diff := providertest.DiffJSON([]byte(item), []byte(back)); diff != "" {
				t.Errorf("%s (%s) goes back (-want +got):\n%s", item, kind, diff)
			}
		}
	}
}
