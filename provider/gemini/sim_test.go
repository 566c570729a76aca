package gemini_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/gemini"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/sim"
	_ "github.com/thinkd/thinkd/provider/sim/faces"
	"github.com/thinkd/thinkd/registry"
)

// simulated is the adapter in front of the simulator, which refuses what the vendor refuses.
func simulated(t *testing.T) (*gemini.API, *sim.Server) {
	t.Helper()
	server := sim.New(sim.Config{Now: func() time.Time { return time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC) }})
	client := providertest.Simulated(t, server)
	return gemini.New(exchange.Config{Provider: "sim", Vendor: "google", BaseURL: "http://simulator",
		Key: provider.NewSecret("sk-sim"), Client: client}, gemini.Host{}), server
}

// leveled and budgeted are rows of the two generations.
func leveled(id string, levels ...provider.Level) provider.Model {
	return provider.Model{Provider: "sim", ID: id, Known: true, MaxOutput: 65_536, Tools: true, Sampling: provider.SamplingNever,
		Thinking: provider.Capability{Control: provider.ControlEffort, Levels: levels, Default: provider.Medium,
			Display: []provider.Display{provider.Summarized, provider.Omitted}}}
}

func budgeted(id string, least, most int, off provider.OffForm) provider.Model {
	return provider.Model{Provider: "sim", ID: id, Known: true, MaxOutput: 65_536, Tools: true,
		Thinking: provider.Capability{Control: provider.ControlBudget, BudgetMin: least, BudgetMax: most, Off: off, Default: provider.Medium,
			Display: []provider.Display{provider.Summarized, provider.Omitted}}}
}

func decided(c provider.Control) provider.Decision { return provider.Decision{Control: c} }

// A conversation over models, levels, displays and tool rounds: nothing that goes back is refused, and what another
// model of the generation or another answer signed is on the wire.
func TestConversation(t *testing.T) {
	api, server := simulated(t)
	flash := leveled("gemini-3.8-flash", provider.Low, provider.Medium, provider.High)
	lite := leveled("gemini-3.5-flash-lite", provider.Minimal, provider.Low, provider.Medium, provider.High)
	argon := leveled("gemini-4-argon", provider.Low, provider.Medium, provider.High)
	old, pro := budgeted("gemini-2.5-flash", 1, 24_576, provider.OffFull), budgeted("gemini-2.5-pro", 128, 32_768, provider.OffNever)
	latest := leveled("gemini-flash-latest", provider.Low, provider.Medium, provider.High)
	small := budgeted("gemini-budget", 1, 24_576, provider.OffFull)
	effort := func(l provider.Level, d provider.Display) provider.Control {
		return provider.Control{Mode: provider.ModeEffort, Effort: l, Display: d}
	}
	steps := []struct {
		model   provider.Model
		control provider.Control
		say     string
	}{
		{flash, effort(provider.High, provider.Summarized), "Which date is later?"},
		{flash, effort(provider.Low, provider.Omitted), "Read it. [[sim: tool=read rounds=3]]"},
		{lite, effort(provider.Minimal, provider.Summarized), "Go on. [[sim: tool=read]]"},
		{old, provider.Control{Mode: provider.ModeBudget, Budget: 8192, Display: provider.Summarized}, "With a budget [[sim: tool=read rounds=2]]"},
		{old, provider.Control{Mode: provider.ModeOff}, "Without [[sim: tool=read]]"},
		{pro, provider.Control{Mode: provider.ModeOmit}, "As you like."},
		{argon, effort(provider.Medium, provider.Summarized), "Again [[sim: tool=read]]"},
		{latest, provider.Control{Mode: provider.ModeOn, Display: provider.Summarized}, "Newest [[sim: tool=read]]"},
		{small, provider.Control{Mode: provider.ModeBudget, Budget: 1024, Display: provider.Summarized}, "Small [[sim: tool=read]]"},
		{flash, effort(provider.High, provider.Summarized), "Back [[sim: tool=read]]"},
	}
	var history []provider.Message
	for _, step := range steps {
		history = providertest.Turn(t, api, provider.Request{Model: step.model, System: "Be brief.", Tools: providertest.ReadTool,
			Messages: history, Decision: decided(step.control)}, step.say)
	}
	if refused := server.Refusals(); len(refused) > 0 {
		t.Errorf("refused: %+v", refused)
	}
	list := server.Requests()
	last := string(list[len(list)-1].Body)
	if n := strings.Count(last, gemini.Bypass); n != 4 {
		t.Errorf("%d bypasses in the last request, want 4: for the calls of the second generation", n)
	}
	if n := strings.Count(last, "thoughtSignature"); n < 12 {
		t.Errorf("only %d signatures in the last request", n)
	}
}

// If a signature is refused, the error names a repair, and the request with that repair is accepted.
func TestRepairAgainstSimulator(t *testing.T) {
	api, _ := simulated(t)
	req := provider.Request{Model: leveled("gemini-3.8-flash", provider.Low), Messages: []provider.Message{providertest.User("Hi [[sim: tool=read]]")},
		Tools: []provider.Tool{{Name: "read"}}, Decision: decided(provider.Control{Mode: provider.ModeEffort, Effort: provider.Low})}
	first := providertest.Check(t, api.Stream(t.Context(), &req))
	if first.Err != nil {
		t.Fatal(first.Err)
	}
	call := first.Blocks[len(first.Blocks)-1].(provider.ToolCall)
	call.State.Data = []byte(strings.Replace(string(call.State.Data), `"about":"`, `"about":"not `, 1))
	first.Blocks[len(first.Blocks)-1] = call
	req.Messages = append(req.Messages, provider.Message{Role: provider.Assistant, Blocks: first.Blocks},
		provider.Message{Role: provider.User, Blocks: provider.Blocks{provider.ToolResult{CallID: call.ID}}})
	refused := providertest.Check(t, api.Stream(t.Context(), &req))
	e, ok := errors.AsType[*provider.Error](refused.Err)
	if !ok || e.Repair != gemini.BypassSignature || e.Kind != provider.KindBadRequest {
		t.Fatalf("error %v, want one with the repair %s", refused.Err, gemini.BypassSignature)
	}
	req.Repairs = []provider.Repair{e.Repair}
	repaired := providertest.Check(t, api.Stream(t.Context(), &req))
	if repaired.Err != nil {
		t.Fatal(repaired.Err)
	}
	if !slices.ContainsFunc(repaired.Notices, func(n provider.Notice) bool { return n.Kind == provider.NoticeRepaired }) {
		t.Errorf("notices %+v, want one of the repair", repaired.Notices)
	}
}

// An answer over several requests is to the last byte of its states the one that a single request gives, and each
// request is billed.
func TestContinuation(t *testing.T) {
	argon := leveled("gemini-4-argon", provider.Low, provider.High)
	ask := func(t *testing.T, answers ...sim.Answer) (providertest.Reply, int) {
		api, server := simulated(t)
		server.Script(answers...)
		req := provider.Request{Model: argon, Messages: []provider.Message{providertest.User("Which date is later?")},
			Decision: decided(provider.Control{Mode: provider.ModeEffort, Effort: provider.High, Display: provider.Summarized})}
		reply := providertest.Check(t, api.Stream(t.Context(), &req))
		for i, b := range reply.Blocks {
			if thought, ok := b.(provider.Thinking); ok {
				thought.Duration = 0
				reply.Blocks[i] = thought
			}
		}
		if refused := server.Refusals(); len(refused) > 0 {
			t.Errorf("refused: %+v", refused)
		}
		return reply, len(server.Requests())
	}
	fault := func(f sim.Fault, after int) sim.Answer { return sim.Answer{Fault: f, After: sim.After(after)} }
	pause := sim.Answer{Stop: "pause_turn", After: sim.After(7)}
	ended := fault(sim.FaultEnd, 10)
	tests := []struct {
		name     string
		answers  []sim.Answer
		requests int
		broken   bool
	}{
		{"limit", []sim.Answer{pause}, 2, false},
		{"limit in the middle", []sim.Answer{{Stop: "pause_turn"}}, 2, false},
		{"cut", []sim.Answer{fault(sim.FaultCut, 12)}, 2, false},
		{"end", []sim.Answer{fault(sim.FaultEnd, 14)}, 2, false},
		{"five times, each further", []sim.Answer{ended, ended, ended, ended, ended}, 6, false},
		{"limit, then a cut", []sim.Answer{pause, fault(sim.FaultCut, 9)}, 3, false},
		{"before the first checkpoint", []sim.Answer{fault(sim.FaultEnd, 3)}, 1, true},
		{"no further", []sim.Answer{fault(sim.FaultEnd, 6), fault(sim.FaultEnd, 0), fault(sim.FaultEnd, 0), fault(sim.FaultEnd, 0)}, 4, true},
		{"another answer", []sim.Answer{fault(sim.FaultEnd, 8), {Thinking: sim.After(5)}}, 2, true},
	}
	whole, _ := ask(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, requests := ask(t, test.answers...)
			if requests != test.requests {
				t.Errorf("%d requests, want %d", requests, test.requests)
			}
			if test.broken {
				if e, ok := errors.AsType[*provider.Error](got.Err); !ok || e.Kind != provider.KindTransport {
					t.Errorf("error %v, want one of the transport", got.Err)
				}
				return
			}
			if got.Err != nil {
				t.Fatal(got.Err)
			}
			if diff := cmp.Diff(whole.Blocks, got.Blocks); diff != "" {
				t.Errorf("blocks (-one request +several):\n%s", diff)
			}
			if want := requests * whole.Stop.Usage.Input; got.Stop.Usage.Input != want && !strings.Contains(test.name, "cut") {
				t.Errorf("input %d after %d requests, want %d", got.Stop.Usage.Input, requests, want)
			}
			u := got.Stop.Usage
			if want := whole.Stop.Usage.Input + u.Output; u.Size() != want && !strings.Contains(test.name, "cut") {
				t.Errorf("%d tokens of the window after %d requests, want %d: the prompt counts once", u.Size(), requests, want)
			}
			if price := (&provider.Price{Rates: provider.Rates{Input: 1}, Tiers: []provider.PriceTier{{Above: whole.Stop.Usage.Input, Rates: provider.Rates{Input: 1000}}}}); len(u.Separate) > 0 {
				if got, want := price.Cost(u, time.Time{}).Amount, (&provider.Price{Rates: provider.Rates{Input: 1}}).Cost(u, time.Time{}).Amount; got != want {
					t.Errorf("%d requests cost %v, want %v: each is priced by its own prompt", requests, got, want)
				}
			} else if requests > 1 && !strings.Contains(test.name, "cut") {
				t.Errorf("%d requests, and none stands apart", requests)
			}
			if got.Stop.Reason != provider.StopEndTurn || got.Stop.Usage.Output < whole.Stop.Usage.Output {
				t.Errorf("stop %s, output %d; want %s, %d at least", got.Stop.Reason, got.Stop.Usage.Output, provider.StopEndTurn, whole.Stop.Usage.Output)
			}
		})
	}
	t.Run("a call is not said twice", func(t *testing.T) {
		cut := fault(sim.FaultEnd, 0)
		cut.Parts = []sim.Part{{Kind: sim.Thinking, Text: "One two three four five six seven eight nine ten eleven twelve."}, {Kind: sim.Call, Name: "read"}}
		cut.After = sim.After(1000)
		got, requests := ask(t, cut)
		if e, ok := errors.AsType[*provider.Error](got.Err); !ok || e.Kind != provider.KindTransport || requests != 1 {
			t.Errorf("error %v after %d requests, want one of the transport after one", got.Err, requests)
		}
	})
}

// An answer that failed is an error that may be tried again, with the vendor's word, unless calls came before it. OTHER
// is one only where nothing was said.
func TestFailedAnswers(t *testing.T) {
	thought := sim.Part{Kind: sim.Thinking, Text: "Which file?"}
	text, call := sim.Part{Kind: sim.Text, Text: "I read it."}, sim.Part{Kind: sim.Call, Name: "read"}
	tests := []struct {
		reason string
		parts  []sim.Part
		ends   provider.StopReason // empty: in the error
	}{
		{"MALFORMED_FUNCTION_CALL", []sim.Part{thought}, ""},
		{"MALFORMED_FUNCTION_CALL", []sim.Part{thought, text}, ""},
		{"MALFORMED_FUNCTION_CALL", []sim.Part{}, ""},
		{"MALFORMED_RESPONSE", []sim.Part{thought}, ""},
		{"UNEXPECTED_TOOL_CALL", []sim.Part{thought}, ""},
		{"OTHER", []sim.Part{thought}, ""},
		{"OTHER", []sim.Part{thought, text}, provider.StopEndTurn},
		{"IMAGE_OTHER", []sim.Part{thought}, ""},
		{"NO_IMAGE", []sim.Part{thought, text}, provider.StopEndTurn},
		{"MALFORMED_RESPONSE", []sim.Part{call}, provider.StopToolUse},
		{"MALFORMED_FUNCTION_CALL", []sim.Part{call}, provider.StopToolUse},
	}
	for _, test := range tests {
		api, server := simulated(t)
		server.Script(sim.Answer{Parts: test.parts, Stop: test.reason})
		req := provider.Request{Model: leveled("gemini-3.8-flash"), Messages: []provider.Message{providertest.User("Hi")},
			Decision: decided(provider.Control{Mode: provider.ModeEffort, Effort: provider.Low, Display: provider.Summarized})}
		reply := providertest.Check(t, api.Stream(t.Context(), &req))
		e, failed := errors.AsType[*provider.Error](reply.Err)
		switch {
		case len(server.Requests()) != 1:
			t.Errorf("%s: %d requests", test.reason, len(server.Requests()))
		case test.ends != "" && (reply.Stop == nil || reply.Stop.Reason != test.ends):
			t.Errorf("%s after %v: %+v, %v; want %s", test.reason, test.parts, reply.Stop, reply.Err, test.ends)
		case test.ends == "" && (!failed || e.Kind != provider.KindTransport || !e.Passing() || e.Code != test.reason || e.Message == ""):
			t.Errorf("%s after %v: %+v, %v; want an error that passes", test.reason, test.parts, reply.Stop, reply.Err)
		}
	}
}

// What goes wrong on a real connection, by kind.
func TestFaultsOfSimulator(t *testing.T) {
	api, _ := simulated(t)
	req := provider.Request{Model: leveled("gemini-3.8-flash"),
		Decision: decided(provider.Control{Mode: provider.ModeEffort, Effort: provider.Low, Display: provider.Summarized})}
	providertest.Faults(t, api, req, map[string]provider.Kind{
		"fault=rate_limit":           provider.KindRateLimit,
		"fault=spend_cap":            provider.KindQuota,
		"fault=overloaded":           provider.KindOverloaded,
		"fault=overloaded after=3":   provider.KindOverloaded,
		"fault=server_error after=3": provider.KindTransport,
		"fault=auth":                 provider.KindAuth,
		"fault=billing":              provider.KindQuota,
		"fault=too_large":            provider.KindTooLong,
		"fault=cut after=3":          provider.KindTransport,
		"fault=end after=3":          provider.KindTransport,
		"fault=html":                 provider.KindBadRequest,
		"fault=json_error":           provider.KindTransport,
		"fault=empty":                provider.KindBadRequest,
		"fault=gzip":                 provider.KindBadRequest,
		"fault=redirect":             provider.KindBadRequest,
	})
	providertest.Stops(t, api, req, map[string]provider.StopReason{
		"fault=noise": provider.StopEndTurn, "fault=whole": provider.StopEndTurn, "stop=max_tokens": provider.StopMaxTokens,
		"stop=refusal after=4 category=bio": provider.StopRefusal, "stop=refusal": provider.StopRefusal,
	})
}

// What goes on the wire for a decision, by generation, written by hand from docs: thinking. The simulator takes it.
func TestWire(t *testing.T) {
	flash := leveled("gemini-3.8-flash", provider.Low, provider.Medium, provider.High)
	old := budgeted("gemini-2.5-flash", 1, 24_576, provider.OffFull)
	unknown := func(id string) provider.Model { return provider.Model{Provider: "sim", ID: id} }
	effort := func(l provider.Level, d provider.Display) provider.Control {
		return provider.Control{Mode: provider.ModeEffort, Effort: l, Display: d}
	}
	tests := []struct {
		model   provider.Model
		control provider.Control
		want    string
		unknown bool // to the simulator
	}{
		{flash, provider.Control{Mode: provider.ModeOmit}, `{}`, false},
		{flash, effort(provider.Low, provider.Summarized), `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"LOW","includeThoughts":true}}}`, false},
		{flash, effort(provider.High, provider.Omitted), `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"HIGH"}}}`, false},
		{flash, provider.Control{Mode: provider.ModeOn, Display: provider.Summarized}, `{"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}`, false},
		{flash, provider.Control{Mode: provider.ModeOn, Display: provider.Omitted}, `{}`, false},
		{leveled("gemini-3-flash-preview", provider.Minimal), effort(provider.Minimal, ""), `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"MINIMAL","includeThoughts":true}}}`, false},
		{old, provider.Control{Mode: provider.ModeOff}, `{"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}`, false},
		{old, provider.Control{Mode: provider.ModeBudget, Budget: 8192, Display: provider.Summarized}, `{"generationConfig":{"thinkingConfig":{"thinkingBudget":8192,"includeThoughts":true}}}`, false},
		{old, provider.Control{Mode: provider.ModeBudget, Budget: 1024, Display: provider.Omitted}, `{"generationConfig":{"thinkingConfig":{"thinkingBudget":1024}}}`, false},
		{unknown("gemini-2.5-flash-lite"), provider.Control{Mode: provider.ModeOn}, `{"generationConfig":{"thinkingConfig":{"thinkingBudget":-1,"includeThoughts":true}}}`, false},
		{unknown("gemini-9"), effort(provider.XHigh, ""), `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"HIGH","includeThoughts":true}}}`, true},
		{unknown("gemini-9"), provider.Control{Mode: provider.ModeOff}, `{"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}`, true},
		{provider.Model{ID: "gemini-2.0-flash", Known: true, Thinking: provider.Capability{Control: provider.ControlNone}}, provider.Control{Mode: provider.ModeOff}, `{}`, true},
	}
	api, server := simulated(t)
	for _, test := range tests {
		req := &provider.Request{Model: test.model, Decision: decided(test.control), Messages: []provider.Message{providertest.User("Hi [[sim: thinking=9 text=9]]")}}
		got, err := api.Wire(req)
		if err != nil || string(got) != test.want {
			t.Errorf("%s %+v: %s, error %v; want %s", test.model.ID, test.control, got, err, test.want)
		}
		if test.unknown {
			continue
		}
		if reply := providertest.Check(t, api.Stream(t.Context(), req)); reply.Err != nil {
			t.Errorf("%s %+v: %v", test.model.ID, test.control, reply.Err)
		}
	}
	if diff := cmp.Diff([]sim.Refusal(nil), server.Refusals()); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
	bad := &provider.Request{Model: flash, Decision: decided(provider.Control{Mode: "loud"})}
	if _, err := api.Wire(bad); err == nil {
		t.Error("a mode that does not exist was taken")
	}
}

// Kinds of parts that are new since autumn 2026 go back as they came. One that only tells of speech or of processing has
// no data, and stays out.
func TestNewParts(t *testing.T) {
	data := []string{
		`{"toolCall":{"args":{},"id":"t1","toolType":"GOOGLE_SEARCH"}}`, `{"toolResponse":{"id":"t1","response":{},"toolType":"GOOGLE_SEARCH"}}`,
		`{"audioTranscription":{"text":"spoken"},"partMetadata":{"a":1}}`, `{"speechMetadata":{"speaker":"a"},"text":"said"}`,
	}
	var parts []sim.Part
	for _, raw := range append(slices.Clone(data), `{"speechMetadata":{"speaker":"a"}}`, `{"mediaProcessing":{"state":"DONE"},"partMetadata":{}}`) {
		parts = append(parts, sim.Part{Kind: sim.Raw, Raw: json.RawMessage(raw)})
	}
	api, server := simulated(t)
	server.Script(sim.Answer{Parts: parts})
	history := []provider.Message{providertest.User("Hi")}
	for range 2 {
		reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: leveled("gemini-3.8-flash"), Messages: history}))
		if reply.Err != nil {
			t.Fatal(reply.Err)
		}
		history = append(history, provider.Message{Role: provider.Assistant, Blocks: reply.Blocks}, providertest.User("Go on."))
	}
	if refused := server.Refusals(); len(refused) > 0 {
		t.Errorf("refused: %+v", refused)
	}
	var back []string
	for _, p := range gjson.GetBytes(server.Requests()[1].Body, "contents.1.parts").Array() {
		members := p.Value().(map[string]any)
		delete(members, "thoughtSignature") // the simulator's
		raw, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		back = append(back, string(raw))
	}
	if diff := cmp.Diff(data, back); diff != "" {
		t.Errorf("goes back (-want +got):\n%s", diff)
	}
}

// A limit on output that the vendor refuses is lowered once, to what the refusal names, and stays so.
func TestLimitIsLowered(t *testing.T) {
	api, server := simulated(t)
	req := &provider.Request{Model: leveled("gemini-3.8-flash", provider.Low), Messages: []provider.Message{providertest.User("Hi [[sim: pace=0 thinking=0 text=5]]")}, Options: provider.Options{MaxOutput: 70_000}}
	reply := providertest.Check(t, api.Stream(t.Context(), req))
	told := slices.ContainsFunc(reply.Notices, func(n provider.Notice) bool { return strings.Contains(n.Text, "lowered from 70000 to 65536") })
	if reply.Err != nil || !told || len(server.Requests()) != 2 {
		t.Errorf("%v, notices %v, %d requests", reply.Err, reply.Notices, len(server.Requests()))
	}
	if reply = providertest.Check(t, api.Stream(t.Context(), req)); reply.Err != nil || len(server.Requests()) != 3 {
		t.Errorf("the next call: %v, %d requests", reply.Err, len(server.Requests()))
	}
}

// A conversation over the day on which the vendor has another model answer under the name: the rules follow on the day,
// and those of the day before are refused.
func TestRedirectedName(t *testing.T) {
	now := time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	server := sim.New(sim.Config{Now: clock})
	client := providertest.Simulated(t, server)
	api := gemini.New(exchange.Config{Vendor: "gemini", BaseURL: "http://simulator", Key: provider.NewSecret("k"), Client: client}, gemini.Host{})
	catalog := registry.Default().At(clock)
	for _, name := range []string{"gemini-2.5-pro", "gemini-2.5-flash"} {
		now = time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC)
		var history []provider.Message
		ask := func(row provider.Model, level provider.Level) providertest.Reply {
			t.Helper()
			decision, err := registry.Resolve(registry.Ask{Level: level, Source: provider.SourceTurn}, row)
			if err != nil {
				t.Fatal(err)
			}
			history = append(history, providertest.User("Read it. [[sim: tool=read thinking=3]]"))
			for {
				reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: row, Messages: history, Decision: decision, Tools: []provider.Tool{{Name: "read"}}}))
				if reply.Err != nil {
					return reply
				}
				history = append(history, provider.Message{Role: provider.Assistant, Blocks: reply.Blocks})
				if reply.Stop.Reason != provider.StopToolUse {
					return reply
				}
				history = append(history, providertest.Results(reply.Blocks, "package a"))
			}
		}
		wire := func() string {
			sent := server.Requests()
			return gjson.GetBytes(sent[len(sent)-1].Body, "generationConfig.thinkingConfig|@ugly").Raw
		}
		before := catalog.Model("gemini", name)
		if reply := ask(before, provider.High); reply.Err != nil || !strings.Contains(wire(), `"thinkingBudget":24576`) || reply.Stop.Model != name {
			t.Errorf("%s before: %v, %s, %+v", name, reply.Err, wire(), reply.Stop)
		}
		now = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
		after := catalog.Model("gemini", name)
		if reply := ask(after, provider.High); reply.Err != nil || !strings.Contains(wire(), `"thinkingLevel":"HIGH"`) || reply.Stop.Model != after.As {
			t.Errorf("%s after: %v, %s, %+v", name, reply.Err, wire(), reply.Stop)
		}
		if reply := ask(after, provider.Off); reply.Err != nil || strings.Contains(wire(), "Budget") {
			t.Errorf("%s, off: %v, %s", name, reply.Err, wire())
		}
		if got := len(server.Refusals()); got != 0 {
			t.Errorf("%s: refused: %+v", name, server.Refusals())
		}
	}
	old := registry.Default().At(func() time.Time { return time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC) }).Model("gemini", "gemini-2.5-pro")
	reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: old, Messages: []provider.Message{providertest.User("Hi")},
		Decision: decided(provider.Control{Mode: provider.ModeBudget, Budget: 1024})}))
	if reply.Err == nil || len(server.Refusals()) != 1 {
		t.Errorf("a budget after the day: %v", reply.Err)
	}
}

// TestServerToolsGoBack: parts of the vendor's tools go back with their signatures, next to functions. Models of the other generation get
// them as text. A search without parts is shown all the same, and nothing goes back for it.
func TestServerToolsGoBack(t *testing.T) {
	api, server := simulated(t)
	flash := leveled("gemini-3.8-flash", provider.Low, provider.Medium, provider.High)
	old := budgeted("gemini-2.5-flash", 1, 24_576, provider.OffFull)
	low := decided(provider.Control{Mode: provider.ModeEffort, Effort: provider.Low})
	budget := decided(provider.Control{Mode: provider.ModeBudget, Budget: 1024, Display: provider.Summarized})
	all := []provider.ServerToolName{provider.WebSearch, provider.WebFetch, provider.CodeExecution}
	var history []provider.Message
	ask := func(m provider.Model, d provider.Decision, tools []provider.Tool, say string) (list []provider.ServerTool, used provider.Usage) {
		t.Helper()
		history = append(history, providertest.User(say))
		reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: m, Messages: history, Decision: d, Tools: tools,
			Options: provider.Options{ServerTools: all}}))
		if reply.Err != nil {
			t.Fatal(reply.Err)
		}
		history = append(history, provider.Message{Role: provider.Assistant, Blocks: reply.Blocks})
		for _, b := range reply.Blocks {
			if tool, ok := b.(provider.ServerTool); ok {
				list = append(list, tool)
			}
		}
		return list, reply.Stop.Usage
	}
	shown, used := ask(flash, low, providertest.ReadTool, "Find. [[sim: search=2 code=1]]")
	if len(shown) != 6 || shown[0].Name != "web_search" || shown[1].ID != shown[0].ID || !shown[1].Done || shown[5].Text != "42" || shown[5].ID != shown[4].ID || used.Searches != 2 {
		t.Errorf("the answer shows %+v, %d searches", shown, used.Searches)
	}
	ask(flash, low, providertest.ReadTool, "And now?")
	if shown, used = ask(old, budget, nil, "Find. [[sim: search=2 code=1]]"); len(shown) != 3 || shown[2].Name != "web_search" || shown[2].Text != "1 page" || used.Searches != 1 {
		t.Errorf("the second generation shows %+v, %d searches", shown, used.Searches)
	}
	ask(old, budget, nil, "And now?")
	ask(flash, low, providertest.ReadTool, "Back.")
	if refused := server.Refusals(); len(refused) > 0 {
		t.Errorf("refused: %+v", refused)
	}
	list := server.Requests()
	body := string(list[len(list)-1].Body)
	if n := strings.Count(body, `"toolCall"`); n != 2 || !strings.Contains(body, "[code_execution ") {
		t.Errorf("%d calls of searches go back in %s", n, body)
	}
}
