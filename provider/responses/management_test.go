package responses_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/responses"
	"github.com/thinkd/thinkd/provider/sim"
)

// A conversation that the vendor compacts by itself, over changes of effort: those stay on top, since it does not take
// both; items of compaction go back in their place, and a changed one is refused.
func TestManagedConversation(t *testing.T) {
	server := sim.New(sim.Config{})
	listener := server.Listen()
	defer listener.Close()
	api := responses.New(responses.Config{Provider: "openai", Vendor: "openai", BaseURL: "http://simulator/v1", Host: responses.HostNamed("openai"),
		Context: json.RawMessage(`[{"type":"compaction","compact_threshold":700}]`), Key: provider.NewSecret("sk-1"), Client: provider.NewClient(listener.Transport())})
	astra := model("gpt-6-astra", provider.ControlEffort, true)
	var history []provider.Message
	request := func(effort provider.Level) *provider.Request {
		return &provider.Request{Model: astra, System: "Be brief.", Tools: []provider.Tool{{Name: "read", Description: "read a file"}}, Messages: history,
			Decision: control(provider.ModeEffort, effort, provider.Summarized), Opening: provider.Low, Changed: true}
	}
	compacted := 0
	for _, effort := range []provider.Level{provider.Low, provider.High, provider.Low, provider.High} {
		ask := user("Read it. [[sim: tool=read]] " + strings.Repeat("And mind every word of it. ", 20))
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
			history = append(history, results(reply.Blocks))
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
	history = append(history, user("Go on."))
	if reply := providertest.Check(t, api.Stream(t.Context(), request(provider.Low))); reply.Err == nil {
		t.Error("changed items of compaction are taken")
	}
}
