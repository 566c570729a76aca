package messages_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/messages"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/sim"
	_ "github.com/thinkd/thinkd/provider/sim/faces"
)

// simulated is the adapter in front of the simulator, which refuses what the vendor refuses.
func simulated(t *testing.T) (*messages.API, *sim.Server) {
	t.Helper()
	server := sim.New(sim.Config{})
	listener := server.Listen()
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	})
	return messages.New(exchange.Config{Provider: "sim", Vendor: "anthropic", BaseURL: "http://simulator",
		Key: provider.NewSecret("sk-sim"), Client: exchange.NewClient(listener.Transport())}, messages.Host{}), server
}

func model(id string, shape provider.Model) provider.Model {
	shape.ID, shape.Provider = id, "sim"
	return shape
}

func user(text string) provider.Message {
	return provider.Message{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: text}}}
}

// A conversation over models, levels, displays and tool rounds: nothing that goes back is refused.
func TestConversation(t *testing.T) {
	api, server := simulated(t)
	control := func(mode provider.Mode, effort provider.Level, budget int, display provider.Display) provider.Decision {
		return provider.Decision{Control: provider.Control{Mode: mode, Effort: effort, Budget: budget, Display: display}}
	}
	opus, sonnet, haiku := model("claude-opus-5-5", always), model("claude-sonnet-5-5", front), model("claude-haiku-5-5", effort)
	old, mixed := model("claude-haiku-4-5-20251001", budget), model("claude-opus-4-5-20251101", budget)
	steps := []struct {
		model    provider.Model
		decision provider.Decision
		say      string
	}{
		{opus, control(provider.ModeEffort, provider.High, 0, ""), "Which date is later?"},
		{opus, control(provider.ModeEffort, provider.Max, 0, provider.Omitted), "And why? [[sim: redacted]]"},
		{opus, control(provider.ModeOmit, "", 0, ""), "Read it. [[sim: tool=read rounds=2]]"},
		{sonnet, control(provider.ModeEffort, provider.XHigh, 0, provider.Updates), "Go on. [[sim: tool=read]]"},
		{sonnet, control(provider.ModeOff, "", 0, ""), "Shortly. [[sim: tool=read]]"},
		{haiku, control(provider.ModeOff, "", 0, ""), "Shorter."},
		{haiku, control(provider.ModeOn, "", 0, ""), "Think [[sim: blocks=3]]"},
		{old, control(provider.ModeBudget, "", 4096, ""), "With a budget [[sim: tool=read]]"},
		{mixed, control(provider.ModeBudget, provider.Low, 4096, provider.Omitted), "With both [[sim: redacted]]"},
		{old, control(provider.ModeOff, "", 0, ""), "Without"},
		{opus, control(provider.ModeEffort, provider.Medium, 0, provider.Summarized), "Back again [[sim: tool=read]]"},
	}
	tools := []provider.Tool{{Name: "read", Description: "read a file"}}
	var history []provider.Message
	for i, step := range steps {
		history = append(history, user(step.say))
		for round := 0; ; round++ {
			reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: step.model, System: "Be brief.", Tools: tools,
				Messages: history, Decision: step.decision}))
			if reply.Err != nil {
				t.Fatalf("step %d, round %d: %v", i, round, reply.Err)
			}
			history = append(history, provider.Message{Role: provider.Assistant, Blocks: reply.Blocks})
			if reply.Stop.Reason != provider.StopToolUse {
				break
			}
			if round > 5 {
				t.Fatalf("step %d: no end of tool calls", i)
			}
			history = append(history, providertest.Results(reply.Blocks, "package a"))
		}
	}
	if refused := server.Refusals(); len(refused) > 0 {
		t.Errorf("refused: %+v", refused)
	}
	signed := 0
	for _, m := range history {
		for _, b := range m.Blocks {
			if thought, ok := b.(provider.Thinking); ok && thought.Signed {
				signed++
			}
		}
	}
	if signed < 8 {
		t.Errorf("only %d signed blocks in the conversation", signed)
	}
}

// A prefix that is not what it was is refused, repaired once by drop_block, and stripping works where that does not.
func TestRepairAgainstSimulator(t *testing.T) {
	api, _ := simulated(t)
	ask := func(req provider.Request, repairs ...provider.Repair) providertest.Reply {
		t.Helper()
		req.Repairs = repairs
		return providertest.Check(t, api.Stream(t.Context(), &req))
	}
	req := provider.Request{Model: model("claude-opus-5-5", always), System: "It is Monday.", Messages: []provider.Message{user("Hi")},
		Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeEffort, Effort: provider.High}}}
	first := ask(req)
	if first.Err != nil {
		t.Fatal(first.Err)
	}
	req.Messages = append(req.Messages, provider.Message{Role: provider.Assistant, Blocks: first.Blocks}, user("And?"))
	req.System = "It is Tuesday."
	refused := ask(req)
	e, ok := errors.AsType[*provider.Error](refused.Err)
	if !ok || e.Repair != messages.DropBlock || e.Kind != provider.KindBadRequest {
		t.Fatalf("error %v, want one with the repair %s", refused.Err, messages.DropBlock)
	}
	repaired := ask(req, e.Repair)
	if repaired.Err != nil {
		t.Fatalf("with %s: %v", e.Repair, repaired.Err)
	}
	var kinds []string
	for _, n := range repaired.Notices {
		kinds = append(kinds, string(n.Kind))
	}
	if got := strings.Join(kinds, " "); got != string(provider.NoticeDropped) {
		t.Errorf("notices %q, want %q", got, provider.NoticeDropped)
	}
	if stripped := ask(req, messages.DropBlock, messages.StripThinking); stripped.Err != nil {
		t.Errorf("with both: %v", stripped.Err)
	}
}

// What goes wrong on a real connection, by kind.
func TestFaultsOfSimulator(t *testing.T) {
	api, _ := simulated(t)
	tests := []struct {
		marker string
		kind   provider.Kind
	}{
		{"fault=rate_limit", provider.KindRateLimit},
		{"fault=overloaded", provider.KindOverloaded},
		{"fault=overloaded after=3", provider.KindOverloaded},
		{"fault=server_error after=3", provider.KindTransport},
		{"fault=auth", provider.KindAuth},
		{"fault=billing", provider.KindQuota},
		{"fault=too_large", provider.KindTooLong},
		{"fault=cut after=3", provider.KindTransport},
		{"fault=end after=3", provider.KindTransport},
	}
	for _, test := range tests {
		req := provider.Request{Model: model("claude-opus-5-5", always), Messages: []provider.Message{user(fmt.Sprintf("Hi [[sim: %s]]", test.marker))},
			Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeEffort, Effort: provider.Low}}}
		reply := providertest.Check(t, api.Stream(t.Context(), &req))
		e, ok := errors.AsType[*provider.Error](reply.Err)
		if !ok || e.Kind != test.kind {
			t.Errorf("%s: error %v, want one of kind %s", test.marker, reply.Err, test.kind)
		}
		if wantDeltas := strings.Contains(test.marker, "after"); wantDeltas != (len(reply.Events) > 0) {
			t.Errorf("%s: %d events before the error", test.marker, len(reply.Events))
		}
	}
}

// A prompt that steers a running loop of a model with a budget stands right behind the results of tools: nothing is put into
// the model's mouth, and nothing is said to be repaired.
func TestSteeringWithABudget(t *testing.T) {
	api, server := simulated(t)
	decision := provider.Decision{Control: provider.Control{Mode: provider.ModeBudget, Budget: 4096}}
	history := []provider.Message{user("Read it. [[sim: tool=read rounds=3]]")}
	for round := range 4 {
		reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: model("claude-haiku-4-5-20251001", budget),
			Tools: []provider.Tool{{Name: "read", Description: "read a file"}}, Messages: history, Decision: decision}))
		if reply.Err != nil {
			t.Fatalf("round %d: %v", round, reply.Err)
		}
		if len(reply.Notices) > 0 {
			t.Errorf("round %d: told %+v", round, reply.Notices)
		}
		history = append(history, provider.Message{Role: provider.Assistant, Blocks: reply.Blocks})
		if reply.Stop.Reason != provider.StopToolUse {
			break
		}
		var results provider.Blocks
		for _, b := range reply.Blocks {
			if call, ok := b.(provider.ToolCall); ok {
				results = append(results, provider.ToolResult{CallID: call.ID, Blocks: provider.Blocks{provider.Text{Text: "package a"}}})
			}
		}
		history = append(history, provider.Message{Role: provider.User, Blocks: results})
		if round < 2 {
			history = append(history, user("Mind the names. [[sim: tool=read rounds=3]]"))
		}
	}
	if refused := server.Refusals(); len(refused) > 0 {
		t.Errorf("refused: %+v", refused)
	}
	for i, r := range server.Requests() {
		if strings.Contains(string(r.Body), "(interrupted)") {
			t.Errorf("request %d: %s", i, r.Body)
		}
	}
	if len(history) < 6 {
		t.Errorf("the loop ended early: %d messages", len(history))
	}
}
