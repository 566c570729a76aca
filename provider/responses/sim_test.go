package responses_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/responses"
	"github.com/thinkd/thinkd/provider/sim"
	_ "github.com/thinkd/thinkd/provider/sim/faces"
	"github.com/thinkd/thinkd/registry"
)

// doors are the simulator's, by dialect.
var doors = map[string]string{"openai": "/v1", "xai": "/v1", "azure": "/openai/v1", "chatgpt": "/backend-api/codex", "copilot": ""}

// simulated serves the simulator, which refuses what the vendors refuse.
func simulated(t *testing.T) (*sim.Server, func(dialect, key string) *responses.API) {
	t.Helper()
	server := sim.New(sim.Config{})
	client := providertest.Simulated(t, server)
	return server, func(dialect, key string) *responses.API {
		cfg := exchange.Config{Provider: dialect, Vendor: "openai", BaseURL: "http://" + dialect + doors[dialect],
			Key: provider.NewSecret(key), Client: client}
		if dialect == "chatgpt" {
			cfg.Account = "plan_1"
		}
		return responses.New(cfg, responses.HostNamed(dialect))
	}
}

func model(id string, control provider.ControlKind, allTurns bool) provider.Model {
	return provider.Model{Provider: "sim", ID: id, Known: true, Thinking: provider.Capability{Control: control, Default: provider.Medium,
		AllTurns: allTurns, Display: []provider.Display{provider.Summarized, provider.Omitted}}}
}

func control(mode provider.Mode, effort provider.Level, display provider.Display) provider.Decision {
	return provider.Decision{Control: provider.Control{Mode: mode, Effort: effort, Display: display}}
}

type step struct {
	api      *responses.API
	model    provider.Model
	decision provider.Decision
	say      string
}

// converse plays steps as one conversation, tool rounds included, and returns it.
func converse(t *testing.T, steps []step) []provider.Message {
	t.Helper()
	var history []provider.Message
	for _, s := range steps {
		history = providertest.Turn(t, s.api, provider.Request{Model: s.model, System: "Be brief.", Tools: providertest.ReadTool,
			Messages: history, Decision: s.decision}, s.say)
	}
	return history
}

// A conversation over models, levels, displays and tool rounds behind each door: nothing that goes back is refused.
func TestConversation(t *testing.T) {
	for dialect := range doors {
		t.Run(dialect, func(t *testing.T) {
			server, open := simulated(t)
			api := open(dialect, "sk-1")
			newest, middle, old := model("gpt-6.1-sol", provider.ControlEffort, true), model("gpt-5.6-sol", provider.ControlEffort, true), model("gpt-5.5", provider.ControlEffort, false)
			if dialect == "xai" {
				newest, middle, old = model("grok-4.6", provider.ControlEffort, false), model("grok-4.3", provider.ControlEffort, false), model("grok-4.5", provider.ControlEffort, false)
			}
			silent, open1 := model("gpt-4.1", provider.ControlNone, false), model("gpt-oss-120b", provider.ControlEffort, false)
			history := converse(t, []step{
				{api, newest, control(provider.ModeEffort, provider.High, provider.Summarized), "Which date is later?"},
				{api, newest, control(provider.ModeEffort, provider.XHigh, provider.Omitted), "And why? [[sim: redacted]]"},
				{api, newest, control(provider.ModeOmit, "", ""), "Read it. [[sim: tool=read rounds=2]]"},
				{api, middle, control(provider.ModeEffort, provider.High, provider.Summarized), "Go on. [[sim: tool=read blocks=3]]"},
				{api, middle, control(provider.ModeOff, "", ""), "Shortly. [[sim: tool=read]]"},
				{api, old, control(provider.ModeOn, "", provider.Summarized), "Think."},
				{api, silent, control(provider.ModeOmit, "", ""), "Say. [[sim: tool=read]]"},
				{api, open1, control(provider.ModeEffort, provider.Low, provider.Summarized), "Show. [[sim: tool=read]]"},
				{api, newest, control(provider.ModeEffort, provider.Medium, provider.Summarized), "Back again [[sim: tool=read stop=max_tokens after=30]]"},
				{api, newest, control(provider.ModeEffort, provider.Low, provider.Summarized), "Done."},
			})
			if refused := server.Refusals(); len(refused) > 0 {
				t.Errorf("refused: %+v", refused)
			}
			if n := providertest.Signed(history); n < 8 {
				t.Errorf("only %d signed blocks in the conversation", n)
			}
		})
	}
}

// Between hosts and accounts nothing encrypted travels, and on the way back the originals are on the wire again.
func TestElsewhereAndBack(t *testing.T) {
	server, open := simulated(t)
	at := func(dialect, key string) step {
		return step{open(dialect, key), model("gpt-5.5", provider.ControlEffort, false), control(provider.ModeEffort, provider.High, provider.Summarized), "Go on. [[sim: tool=read]]"}
	}
	history := converse(t, []step{at("openai", "sk-1"), at("azure", "sk-1"), at("copilot", "sk-1"), at("openai", "sk-2"), at("chatgpt", "sk-1"), at("openai", "sk-1")})
	if refused := server.Refusals(); len(refused) > 0 {
		t.Errorf("refused: %+v", refused)
	}
	first, ok := history[1].Blocks[0].(provider.Thinking)
	if !ok {
		t.Fatalf("the first answer begins with a %T", history[1].Blocks[0])
	}
	requests := server.Requests()
	carries := func(r sim.Request) bool { return strings.Contains(string(r.Body), "encrypted_content\":\"gAAAAA") }
	if !carries(requests[1]) || !carries(requests[len(requests)-1]) {
		t.Error("at home the reasoning is not on the wire")
	}
	for _, r := range []sim.Request{requests[2], requests[4], requests[6], requests[8]} { // the first call of each other door
		if carries(r) {
			t.Errorf("reasoning of another door went to %s", r.Path)
		}
	}
	if first.Kind != provider.ThinkingSummary {
		t.Errorf("thinking of kind %s", first.Kind)
	}
}

// What is refused is repaired once, and later reasoning goes back again.
func TestRepairAgainstSimulator(t *testing.T) {
	_, open := simulated(t)
	api := open("openai", "sk-1")
	req := provider.Request{Model: model("gpt-6.1-sol", provider.ControlEffort, true), Messages: []provider.Message{providertest.User("Hi [[sim: tool=read unchecked]]")},
		Decision: control(provider.ModeEffort, provider.High, provider.Summarized)}
	ask := func() providertest.Reply {
		t.Helper()
		return providertest.Check(t, api.Stream(t.Context(), &req))
	}
	first := ask()
	if first.Err != nil {
		t.Fatal(first.Err)
	}
	good := first.Blocks
	tests := []struct {
		name   string
		broken func() provider.Blocks
	}{
		{"changed content", func() provider.Blocks {
			blocks := append(provider.Blocks{}, good...)
			for i, b := range blocks {
				if thought, ok := b.(provider.Thinking); ok && thought.Signed {
					thought.State.Data = []byte(strings.Replace(string(thought.State.Data), `"encrypted_content":"gAAAAA`, `"encrypted_content":"gAAAAAx`, 1))
					blocks[i] = thought
				}
			}
			return blocks
		}},
		{"missing reasoning", func() provider.Blocks {
			blocks := provider.Blocks{}
			for _, b := range good {
				if _, ok := b.(provider.Thinking); !ok {
					blocks = append(blocks, b)
				}
			}
			return blocks
		}},
		{"another follower", func() provider.Blocks {
			blocks := provider.Blocks{}
			for _, b := range good {
				if _, ok := b.(provider.Text); !ok {
					blocks = append(blocks, b)
				}
			}
			return blocks
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			req.Repairs = nil
			req.Messages = []provider.Message{providertest.User("Hi"), {Role: provider.Assistant, Blocks: test.broken()}, providertest.Results(good, "package a")}
			refused := ask()
			e, ok := errors.AsType[*provider.Error](refused.Err)
			if !ok || !strings.HasPrefix(string(e.Repair), responses.DropReasoning) {
				t.Fatalf("error %v, want one with a repair", refused.Err)
			}
			req.Repairs = []provider.Repair{e.Repair}
			repaired := ask()
			if repaired.Err != nil {
				t.Fatalf("with %s: %v", e.Repair, repaired.Err)
			}
			req.Messages = append(req.Messages, provider.Message{Role: provider.Assistant, Blocks: repaired.Blocks}, providertest.User("And?"))
			later := ask()
			if later.Err != nil {
				t.Fatalf("later: %v", later.Err)
			}
			var kept bool
			for _, n := range later.Notices {
				kept = kept || n.Kind == provider.NoticeConverted && !strings.Contains(string(n.Data), `"kept":0`)
			}
			if !kept && test.name != "missing reasoning" {
				t.Errorf("notices %+v: later reasoning is not kept", later.Notices)
			}
		})
	}
}

// What goes wrong on a real connection, by kind.
func TestFaultsOfSimulator(t *testing.T) {
	_, open := simulated(t)
	api := open("openai", "sk-1")
	req := provider.Request{Model: model("gpt-6.1-sol", provider.ControlEffort, true), Decision: control(provider.ModeEffort, provider.Low, provider.Summarized)}
	providertest.Faults(t, api, req, map[string]provider.Kind{
		"fault=rate_limit":           provider.KindRateLimit,
		"fault=rate_limit after=3":   provider.KindRateLimit,
		"fault=overloaded":           provider.KindOverloaded,
		"fault=overloaded after=3":   provider.KindOverloaded,
		"fault=server_error after=3": provider.KindTransport,
		"fault=timeout":              provider.KindTransport,
		"fault=auth":                 provider.KindAuth,
		"fault=billing":              provider.KindQuota,
		"fault=billing after=3":      provider.KindQuota,
		"fault=too_large":            provider.KindTooLong,
		"fault=cut after=3":          provider.KindTransport,
		"fault=end after=3":          provider.KindTransport,
		"fault=json_error":           provider.KindTransport,
		"fault=html":                 provider.KindBadRequest,
		"fault=gzip":                 provider.KindBadRequest,
	})
	providertest.Stops(t, api, req, map[string]provider.StopReason{
		"fault=noise": provider.StopEndTurn, "fault=whole": provider.StopEndTurn, "stop=refusal": provider.StopRefusal,
		"stop=max_tokens": provider.StopMaxTokens, "tool=read unchecked": provider.StopToolUse,
	})
}

// A host's headers say what they have to, and a missing one is refused by the simulator.
func TestHostsAreNeeded(t *testing.T) {
	server, _ := simulated(t)
	client := providertest.Simulated(t, server)
	for _, dialect := range []string{"chatgpt", "copilot", "azure"} {
		api := responses.New(exchange.Config{Provider: dialect, Vendor: "openai", BaseURL: "http://" + dialect + doors[dialect],
			Key: provider.NewSecret("sk-1"), Client: client}, responses.Host{})
		req := provider.Request{Model: model("gpt-5.5", provider.ControlEffort, false), Messages: []provider.Message{providertest.User("Hi")}}
		reply := providertest.Check(t, api.Stream(t.Context(), &req))
		e, ok := errors.AsType[*provider.Error](reply.Err)
		if dialect == "azure" { // takes a bearer token as well
			if reply.Err != nil {
				t.Errorf("azure: %v", reply.Err)
			}
			continue
		}
		if !ok || e.Status != http.StatusBadRequest && e.Status != http.StatusUnauthorized {
			t.Errorf("%s without its record: %v", dialect, reply.Err)
		}
	}
}

// The plan's backend finds its prompt cache by the session's name in a header.
func TestPlanCache(t *testing.T) {
	server := sim.New(sim.Config{})
	client := providertest.Simulated(t, server)
	api := responses.New(exchange.Config{Provider: "chatgpt", Vendor: "openai", BaseURL: "http://simulator/backend-api/codex",
		Account: "acct_1", Key: provider.NewSecret("t"), Client: client}, responses.HostNamed("chatgpt"))
	row := registry.Default().Model("chatgpt", "gpt-6.1-sol")
	history := []provider.Message{providertest.User(strings.Repeat("A long prompt. ", 1000))}
	for i := range 2 {
		reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: row, Messages: history}))
		if reply.Err != nil {
			t.Fatal(reply.Err)
		}
		if cached := reply.Stop.Usage.Cached > 0; cached != (i == 1) {
			t.Errorf("call %d: %d tokens from the cache", i, reply.Stop.Usage.Cached)
		}
		history = append(history, provider.Message{Role: provider.Assistant, Blocks: reply.Blocks},
			providertest.User("Go on."))
	}
	first, second := server.Requests()[0].Header, server.Requests()[1].Header
	if name := first.Get("session-id"); name == "" || first.Get("thread-id") != name || second.Get("session-id") != name || len(first["Session_id"]) > 0 {
		t.Errorf("the names are %q %q, then %q", name, first.Get("thread-id"), second.Get("session-id"))
	}
}

// No limit on output is sent unless one is asked for. One that the host refuses is lowered once, to what the refusal names,
// and stays so.
func TestLimitIsLowered(t *testing.T) {
	server, open := simulated(t)
	api := open("openai", "sk-sim")
	req := &provider.Request{Model: provider.Model{ID: "gpt-5.5"}, Messages: []provider.Message{providertest.User("Hi [[sim: pace=0 thinking=0 text=5]]")}}
	if reply := providertest.Check(t, api.Stream(t.Context(), req)); reply.Err != nil || strings.Contains(string(server.Requests()[0].Body), "max_output_tokens") {
		t.Errorf("%v, sent %s", reply.Err, server.Requests()[0].Body)
	}
	req.Options.MaxOutput = 200_000
	reply := providertest.Check(t, api.Stream(t.Context(), req))
	told := slices.ContainsFunc(reply.Notices, func(n provider.Notice) bool { return strings.Contains(n.Text, "lowered from 200000 to 128000") })
	if reply.Err != nil || !told || len(server.Requests()) != 3 {
		t.Errorf("%v, notices %v, %d requests", reply.Err, reply.Notices, len(server.Requests()))
	}
	if reply = providertest.Check(t, api.Stream(t.Context(), req)); reply.Err != nil || len(server.Requests()) != 4 {
		t.Errorf("the next call: %v, %d requests", reply.Err, len(server.Requests()))
	}
}

// TestServerToolsGoBack: items of the vendor's tools go back over turns, tool rounds and displays, and are counted. A model of another API's
// results and a repair get them as text.
func TestServerToolsGoBack(t *testing.T) {
	server, open := simulated(t)
	api := open("openai", "sk-1")
	newest := model("gpt-6.1-sol", provider.ControlEffort, true)
	served := provider.Options{ServerTools: []provider.ServerToolName{provider.WebSearch, provider.CodeExecution}}
	var history []provider.Message
	ask := func(text string) (last providertest.Reply) {
		history = append(history, providertest.User(text))
		last = providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: newest, Messages: history, Tools: providertest.ReadTool, Options: served,
			Decision: control(provider.ModeEffort, provider.High, provider.Summarized)}))
		if last.Err != nil {
			t.Fatal(last.Err)
		}
		history = append(history, provider.Message{Role: provider.Assistant, Blocks: last.Blocks})
		return last
	}
	first := ask("Find. [[sim: search=2 code=1]]")
	var tools []provider.ServerTool
	for _, b := range first.Blocks {
		if tool, ok := b.(provider.ServerTool); ok {
			tools = append(tools, tool)
		}
	}
	if len(tools) != 3 || tools[0].Name != "web_search" || tools[0].Text != "1 page" || len(tools[0].Sources) != 1 || tools[2].Name != "code_execution" || tools[2].Text != "42" || !tools[2].Done {
		t.Fatalf("the answer shows %+v", tools)
	}
	if u := first.Stop.Usage; u.Searches != 2 || !u.Metered {
		t.Errorf("used %+v", u)
	}
	ask("And now? [[sim: search=1]]")
	ask("Done.")
	if refused := server.Refusals(); len(refused) > 0 {
		t.Errorf("refused: %+v", refused)
	}
	api = open("openai", "sk-2") // of another account
	ask("Once more.")
	if refused := server.Refusals(); len(refused) > 0 {
		t.Errorf("refused for another account: %+v", refused)
	}
	list := server.Requests()
	if body := string(list[len(list)-1].Body); strings.Contains(body, "web_search_call\"") || !strings.Contains(body, "[web_search ") {
		t.Errorf("another account gets %s", body)
	}
}
