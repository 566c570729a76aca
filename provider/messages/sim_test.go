package messages_test

import (
	"encoding/json"
	"errors"
	"slices"
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
	client := providertest.Simulated(t, server)
	return messages.New(exchange.Config{Provider: "sim", Vendor: "anthropic", BaseURL: "http://simulator",
		Key: provider.NewSecret("sk-sim"), Client: client}, messages.Host{}), server
}

func model(id string, shape provider.Model) provider.Model {
	shape.ID, shape.Provider = id, "sim"
	return shape
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
	var history []provider.Message
	for _, step := range steps {
		history = providertest.Turn(t, api, provider.Request{Model: step.model, System: "Be brief.", Tools: providertest.ReadTool,
			Messages: history, Decision: step.decision}, step.say)
	}
	if refused := server.Refusals(); len(refused) > 0 {
		t.Errorf("refused: %+v", refused)
	}
	if signed := providertest.Signed(history); signed < 8 {
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
	req := provider.Request{Model: model("claude-opus-5-5", always), System: "It is Monday.", Messages: []provider.Message{providertest.User("Hi")},
		Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeEffort, Effort: provider.High}}}
	first := ask(req)
	if first.Err != nil {
		t.Fatal(first.Err)
	}
	req.Messages = append(req.Messages, provider.Message{Role: provider.Assistant, Blocks: first.Blocks}, providertest.User("And?"))
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
	req := provider.Request{Model: model("claude-opus-5-5", always),
		Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeEffort, Effort: provider.Low}}}
	providertest.Faults(t, api, req, map[string]provider.Kind{
		"fault=rate_limit":           provider.KindRateLimit,
		"fault=overloaded":           provider.KindOverloaded,
		"fault=overloaded after=3":   provider.KindOverloaded,
		"fault=server_error after=3": provider.KindTransport,
		"fault=auth":                 provider.KindAuth,
		"fault=billing":              provider.KindQuota,
		"fault=too_large":            provider.KindTooLong,
		"fault=cut after=3":          provider.KindTransport,
		"fault=end after=3":          provider.KindTransport,
	})
}

// A prompt that steers a running loop of a model with a budget stands right behind the results of tools: nothing is put into
// the model's mouth, and nothing is said to be repaired.
func TestSteeringWithABudget(t *testing.T) {
	api, server := simulated(t)
	decision := provider.Decision{Control: provider.Control{Mode: provider.ModeBudget, Budget: 4096}}
	history := []provider.Message{providertest.User("Read it. [[sim: tool=read rounds=3]]")}
	for round := range 4 {
		reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: model("claude-haiku-4-5-20251001", budget),
			Tools: providertest.ReadTool, Messages: history, Decision: decision}))
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
		history = append(history, providertest.Results(reply.Blocks, "package a"))
		if round < 2 {
			history = append(history, providertest.User("Mind the names. [[sim: tool=read rounds=3]]"))
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

// A model with a budget that takes over right behind the results of another model's tool calls answers without thinking, says
// so, and thinks again in the next turn.
func TestTakeoverInsideRound(t *testing.T) {
	api, server := simulated(t)
	decision := provider.Decision{Control: provider.Control{Mode: provider.ModeBudget, Budget: 4096}}
	foreign := provider.State{Origin: provider.Origin{API: "responses", Vendor: "openai", Model: "gpt"}, Data: json.RawMessage(`{"type":"function_call"}`)}
	call := provider.ToolCall{ID: "c1", Name: "read", Input: json.RawMessage(`{"path":"a"}`), State: foreign}
	history := []provider.Message{providertest.User("Read it. [[sim: tool=read rounds=3]]"),
		{Role: provider.Assistant, Blocks: provider.Blocks{call}}, providertest.Results(provider.Blocks{call}, "package a")}
	ask := func() provider.StopReason {
		t.Helper()
		reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: model("claude-haiku-4-5-20251001", budget),
			Tools: providertest.ReadTool, Messages: history, Decision: decision}))
		if reply.Err != nil {
			t.Fatal(reply.Err)
		}
		inside := provider.KindOf(history[len(history)-1].Blocks[0]) == provider.KindToolResult
		requests := server.Requests()
		body := string(requests[len(requests)-1].Body)
		if off := strings.Contains(body, `"thinking":{"type":"disabled"}`); off != inside {
			t.Errorf("inside of the round: %t, thinking off: %t", inside, off)
		}
		said := slices.ContainsFunc(reply.Notices, func(n provider.Notice) bool {
			return n.Kind == provider.NoticeOverride && strings.Contains(n.Text, "thinking is off for this call")
		})
		if said != inside {
			t.Errorf("inside of the round: %t, notices %+v", inside, reply.Notices)
		}
		history = append(history, provider.Message{Role: provider.Assistant, Blocks: reply.Blocks})
		if reply.Stop.Reason == provider.StopToolUse {
			history = append(history, providertest.Results(reply.Blocks, "package a"))
		}
		return reply.Stop.Reason
	}
	asked := 1
	for ; ask() == provider.StopToolUse && asked < 6; asked++ {
	}
	if asked < 2 {
		t.Errorf("the round ended after %d calls of the model", asked)
	}
	history = append(history, providertest.User("Thank you."))
	ask()
	if refused := server.Refusals(); len(refused) > 0 {
		t.Errorf("refused: %+v", refused)
	}
}

// Searches of the vendor go back as they came over pauses and later turns. The stand-in refuses results that are missing, changed or
// without their call. A call whose answer was given up is left out.
func TestServerToolsGoBack(t *testing.T) {
	api, server := simulated(t)
	var history []provider.Message
	ask := func(text string, calls int) (last provider.StopReason) {
		t.Helper()
		history = append(history, providertest.User(text))
		for range calls {
			reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: model("claude-opus-5-5", always), Messages: history,
				Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeEffort, Effort: provider.High}}}))
			if reply.Err != nil {
				t.Fatal(reply.Err)
			}
			history = append(history, provider.Message{Role: provider.Assistant, Blocks: reply.Blocks})
			if last = reply.Stop.Reason; last != provider.StopPause {
				break
			}
		}
		return last
	}
	results := func() (n int) {
		for _, m := range history {
			for _, b := range m.Blocks {
				if tool, ok := b.(provider.ServerTool); ok && tool.Done {
					if n++; tool.Name != "web_search" || tool.Text != "1 page" || len(tool.Sources) != 1 {
						t.Errorf("result %+v", tool)
					}
				}
			}
		}
		return n
	}
	if last := ask("Search. [[sim: stop=pause_turn]]", 3); last != provider.StopPause || results() != 2 {
		t.Fatalf("stopped with %s after %d results", last, results())
	}
	for range 2 { // the last call of the first turn has no result
		if last := ask("And now?", 3); last != provider.StopEndTurn {
			t.Fatalf("stopped with %s", last)
		}
	}
	if last := ask("Again. [[sim: stop=pause_turn]]", 2); last != provider.StopPause || results() != 3 {
		t.Errorf("stopped with %s after %d results", last, results())
	}
	if refused := server.Refusals(); len(refused) > 0 {
		t.Errorf("refused: %+v", refused)
	}
}

// TestServerToolsAreOffered: what the options ask for is in the request as the vendor takes it, and its results are counted and go back.
func TestServerToolsAreOffered(t *testing.T) {
	api, server := simulated(t)
	history := []provider.Message{providertest.User("Find. [[sim: search=2 code=1]]")}
	asked := provider.Options{ServerTools: []provider.ServerToolName{provider.WebSearch, provider.WebFetch, provider.CodeExecution},
		ServerLimits: &provider.ServerToolLimits{MaxUses: 3, AllowedDomains: []string{"example.com"}}}
	for range 2 {
		reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: model("claude-opus-5-5", always), Messages: history, Tools: providertest.ReadTool, Options: asked,
			Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeEffort, Effort: provider.High}}}))
		if reply.Err != nil {
			t.Fatal(reply.Err)
		}
		if len(history) == 1 && (reply.Stop.Usage.Searches != 2 || !reply.Stop.Usage.Metered) {
			t.Errorf("used %+v", reply.Stop.Usage)
		}
		history = append(history, provider.Message{Role: provider.Assistant, Blocks: reply.Blocks}, providertest.User("And now?"))
	}
	if refused := server.Refusals(); len(refused) > 0 {
		t.Errorf("refused: %+v", refused)
	}
	const want = `[{"type":"web_search_20250305","name":"web_search","max_uses":3,"allowed_domains":["example.com"]},{"type":"web_fetch_20250910","name":"web_fetch","max_uses":3,"allowed_domains":["example.com"]},{"type":"code_execution_20250825","name":"code_execution"},`
	if body := string(server.Requests()[0].Body); !strings.Contains(body, want) {
		t.Errorf("the request has the tools %s", body)
	}
}
