package chat_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/chat"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/sim"
	_ "github.com/thinkd/thinkd/provider/sim/faces"
)

// seat is a model at a host of the simulator, with a decision that it takes.
type seat struct {
	dialect string
	model   provider.Model
	control provider.Control
	shown   bool // its thinking can be seen
	returns bool // what it thought goes back to it in a later turn
}

func thinks(id string, kind provider.ControlKind, levels ...provider.Level) provider.Model {
	c := provider.Capability{Control: kind, Levels: levels, Default: levels[len(levels)-1]}
	if levels[0] == provider.Off {
		c.Off = provider.OffFull
	}
	return provider.Model{Provider: "sim", ID: id, Known: true, Thinking: c, Tools: true}
}

// blind is a model that takes no images.
func blind(m provider.Model) provider.Model {
	m.Input = []string{"text"}
	return m
}

func effortOf(l provider.Level) provider.Control {
	return provider.Control{Mode: provider.ModeEffort, Effort: l}
}

var (
	modeOn   = provider.Control{Mode: provider.ModeOn}
	modeOff  = provider.Control{Mode: provider.ModeOff}
	modeOmit = provider.Control{Mode: provider.ModeOmit}
)

// seats is a model or more of each dialect.
var seats = []seat{
	{"openai", thinks("gpt-5.5", provider.ControlEffort, provider.Off, provider.Low, provider.Medium, provider.High, provider.XHigh), effortOf(provider.XHigh), false, false},
	{"openai", thinks("gpt-4.1", provider.ControlNone, provider.Off), modeOmit, false, false},
	{"deepseek", blind(thinks("deepseek-v4-pro", provider.ControlEffort, provider.Off, provider.Low, provider.High, provider.Max)), effortOf(provider.Max), true, true},
	{"dashscope", thinks("qwen3.7-max", provider.ControlBudget, provider.Off, provider.Low), provider.Control{Mode: provider.ModeBudget, Budget: 4096}, true, true},
	{"dashscope", thinks("qwen3.8-max", provider.ControlEffort, provider.Off, provider.Low, provider.High), effortOf(provider.High), true, true},
	{"openrouter", thinks("anthropic/claude-sonnet-5", provider.ControlEffort, provider.Off, provider.Low, provider.High), effortOf(provider.High), true, true},
	{"openrouter", thinks("openai/gpt-5.5", provider.ControlEffort, provider.Off, provider.Low, provider.High), effortOf(provider.Low), true, true},
	{"openrouter", thinks("google/gemini-3.1-pro", provider.ControlEffort, provider.Low, provider.High), effortOf(provider.High), false, true},
	{"kimi", thinks("kimi-k3", provider.ControlEffort, provider.Low, provider.High, provider.Max), effortOf(provider.High), true, true},
	{"kimi", thinks("kimi-k2.6", provider.ControlToggle, provider.Off, provider.On), modeOn, true, true},
	{"zai", thinks("glm-5.2", provider.ControlEffort, provider.Off, provider.High, provider.Max), effortOf(provider.Max), true, true},
	{"zai", thinks("glm-5.3", provider.ControlEffort, provider.Low, provider.High, provider.Max), effortOf(provider.Low), true, true},
	{"minimax", thinks("MiniMax-M3", provider.ControlToggle, provider.Off, provider.On), modeOn, true, true},
	{"minimax", provider.Model{Provider: "sim", ID: "MiniMax-M2.1"}, modeOmit, true, true}, // without a row it is not asked to split
	{"xai", thinks("grok-4.3", provider.ControlEffort, provider.Off, provider.Low, provider.High), effortOf(provider.Low), true, false},
	{"groq", thinks("qwen/qwen3-32b", provider.ControlToggle, provider.Off, provider.On), modeOn, true, true},
	{"groq", thinks("openai/gpt-oss-120b", provider.ControlEffort, provider.Low, provider.High), effortOf(provider.Low), true, true},
	{"mistral", thinks("mistral-medium-3-5", provider.ControlEffort, provider.Off, provider.High), effortOf(provider.High), true, true},
	{"copilot", thinks("gemini-3.5-flash", provider.ControlEffort, provider.Minimal, provider.High), effortOf(provider.High), true, true},
	{"copilot", thinks("claude-sonnet-5", provider.ControlEffort, provider.Off, provider.High), effortOf(provider.High), true, true},
	{"gemini", thinks("gemini-3.8-flash", provider.ControlEffort, provider.Low, provider.High), effortOf(provider.Low), true, false},
	{"ollama-v1", thinks("qwen3.5:9b", provider.ControlToggle, provider.Off, provider.On), modeOn, true, true},
	{"vllm", thinks("Qwen/Qwen3.6-27B", provider.ControlToggle, provider.Off, provider.On), modeOn, true, true},
	{"sglang", thinks("default", provider.ControlEffort, provider.Off, provider.High), effortOf(provider.High), true, true},
	{"llamacpp", thinks("qwen3.gguf", provider.ControlToggle, provider.Off, provider.On), modeOn, true, true},
	{"lmstudio", thinks("qwen/qwen3.6-27b", provider.ControlEffort, provider.Low, provider.High), effortOf(provider.Low), true, false},
	{"generic", thinks("generic", provider.ControlEffort, provider.Off, provider.High), effortOf(provider.High), true, true},
}

func simulator(t *testing.T) (*sim.Server, func(dialect string) *chat.API) {
	t.Helper()
	server := sim.New(sim.Config{})
	client := providertest.Simulated(t, server)
	return server, func(dialect string) *chat.API {
		return chat.New(exchange.Config{Provider: "sim", BaseURL: "http://simulator/" + dialect,
			Key: provider.NewSecret("sk-sim"), Client: client}, named(t, dialect))
	}
}

// talk is a conversation that goes from seat to seat.
type talk struct {
	t       *testing.T
	open    func(string) *chat.API
	history []provider.Message
}

// Two shapes of answers are like any other: thinking in reasoning_details alone, beside empty content, is one block before
// its text; a signature on the message, whose calls have no id, goes back with it, or the simulator refuses the next step.
func TestUnusualShapes(t *testing.T) {
	thought, text := sim.Part{Kind: sim.Thinking, Text: "Which of the two files is meant here? The first one, since it was named last."}, sim.Part{Text: "The first."}
	call := sim.Part{Kind: sim.Call, Name: "read", Input: json.RawMessage(`{"path":"a"}`)}
	for _, s := range seats {
		if s.dialect != "generic" && s.model.ID != "anthropic/claude-sonnet-5" {
			continue
		}
		server, open := simulator(t)
		server.Script(sim.Answer{Fault: sim.FaultDetailsAlone, Parts: []sim.Part{thought, text}})
		k := &talk{t: t, open: open}
		got, err := k.turn(s, providertest.User("Which?"))
		if last := k.history[len(k.history)-1]; err != nil || len(last.Blocks) != 2 || got != thought.Text {
			t.Errorf("%s: %d blocks, thinking %q, %v; want thinking and text", s.dialect, len(last.Blocks), got, err)
		}
		if _, err := k.turn(s, providertest.User("And now?")); err != nil || len(server.Refusals()) > 0 {
			t.Errorf("%s: %v, refused: %+v", s.dialect, err, server.Refusals())
		}
	}
	for _, s := range seats {
		if s.dialect != "gemini" {
			continue
		}
		server, open := simulator(t)
		server.Script(sim.Answer{Fault: sim.FaultMessageSignature, Parts: []sim.Part{call, call}})
		k := &talk{t: t, open: open}
		if _, err := k.turn(s, providertest.User("Read both.")); err != nil || len(server.Refusals()) > 0 || len(k.history) < 4 {
			t.Errorf("%v, refused: %+v", err, server.Refusals())
			continue
		}
		first, second := k.history[1].Blocks[0].(provider.ToolCall), k.history[1].Blocks[1].(provider.ToolCall)
		if first.ID == "" || first.ID == second.ID || k.history[1].State.IsZero() {
			t.Errorf("calls %q and %q, state %s", first.ID, second.ID, k.history[1].State.Data)
		}
		// The rule holds: without the signature the same step is refused.
		k.history[1].State = provider.State{}
		k.history = k.history[:3]
		reply := providertest.Check(t, open(s.dialect).Stream(t.Context(), &provider.Request{Model: s.model, Tools: readTool, Messages: k.history,
			Decision: provider.Decision{Control: s.control}}))
		if reply.Err == nil && len(server.Refusals()) == 0 && !strings.Contains(string(server.Requests()[len(server.Requests())-1].Body), "skip_thought_signature_validator") {
			t.Error("the simulator takes the step without its signature")
		}
	}
}

var readTool = []provider.Tool{{Name: "read", Description: "read a file", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)}}

// turn lets a seat answer a prompt, tools and all, and returns what it thought.
func (k *talk) turn(s seat, prompt provider.Message) (thought string, err error) {
	k.t.Helper()
	k.history = append(k.history, prompt)
	api := k.open(s.dialect)
	for range 5 {
		reply, broken := providertest.Collect(api.Stream(k.t.Context(), &provider.Request{Model: s.model, System: "Be brief.", Tools: readTool,
			Messages: k.history, Decision: provider.Decision{Control: s.control}}))
		if broken != nil {
			return "", broken
		}
		if reply.Err != nil {
			return "", reply.Err
		}
		k.history = append(k.history, logged(k.t, provider.Message{Role: provider.Assistant, Blocks: reply.Blocks, State: reply.Stop.State}))
		for _, b := range reply.Blocks {
			if b, ok := b.(provider.Thinking); ok {
				thought += b.Text
			}
		}
		if reply.Stop.Reason != provider.StopToolUse {
			return thought, nil
		}
		results := provider.Message{Role: provider.User}
		for _, b := range reply.Blocks {
			if call, ok := b.(provider.ToolCall); ok {
				results.Blocks = append(provider.Blocks{provider.ToolResult{CallID: call.ID, Blocks: provider.Blocks{provider.Text{Text: "package a"}}}}, results.Blocks...)
			}
		}
		k.history = append(k.history, results)
	}
	return "", errors.New("no end of tool calls")
}

// logged is a message as it comes back from the log.
func logged(t *testing.T, m provider.Message) provider.Message {
	t.Helper()
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var back provider.Message
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

// past is what other providers and a cut turn left in the history.
func past() []provider.Message {
	foreign := provider.State{Origin: provider.Origin{API: "messages", Vendor: "anthropic"}, Data: json.RawMessage(`{"type":"thinking","thinking":"Elsewhere.","signature":"c2ln"}`)}
	redacted := provider.State{Origin: foreign.Origin, Data: json.RawMessage(`{"type":"redacted_thinking","data":"eA=="}`)}
	return []provider.Message{
		{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "Look"}, provider.Media{Type: "image/png", Data: []byte("png")}}},
		{Role: provider.Assistant, Blocks: provider.Blocks{
			provider.Thinking{Text: "Elsewhere.", Kind: provider.ThinkingSummary, Signed: true, State: foreign},
			provider.Thinking{Kind: provider.ThinkingRedacted, Signed: true, State: redacted},
			provider.ToolCall{ID: "toolu_01AbCdEfGh", Name: "read", Input: json.RawMessage(`{"path":"a"}`)},
			provider.ToolCall{ID: "toolu_02AbCdEfGh", Name: "read", Invalid: `{"path":`},
		}},
		{Role: provider.User, Blocks: provider.Blocks{
			provider.ToolResult{CallID: "toolu_02AbCdEfGh", Failed: true, Blocks: provider.Blocks{provider.Text{Text: "no JSON"}}},
			provider.ToolResult{CallID: "toolu_01AbCdEfGh", Blocks: provider.Blocks{provider.Text{Text: "package a"}, provider.Media{Type: "image/png", Data: []byte("png")}}},
		}},
		{Role: provider.Assistant, Blocks: provider.Blocks{provider.Thinking{Text: "cut off", Kind: provider.ThinkingFull}, provider.Text{Text: "It is a pac"}}},
		providertest.User("Go on"),
		{Role: provider.Assistant, Blocks: provider.Blocks{provider.Opaque{State: foreign}, provider.Text{Text: "It is a package."}}},
	}
}

const toolPrompt = "Read the file and compare both of its dates. [[sim: tool=read text=20 thinking=20]]"

// Every model after a quarter of the others and back, each as the first and as the second: nothing is refused, and on the way back the first one's own thinking is on
// the wire again. TestCrossing of package agent tries every pair with -crossall.
func TestSwitch(t *testing.T) {
	for i, from := range seats {
		t.Run(fmt.Sprintf("%s %s", from.dialect, from.model.ID), func(t *testing.T) {
			t.Parallel()
			for j, to := range seats {
				if (i+j)%4 != 0 {
					continue
				}
				server, open := simulator(t)
				switchOver(&talk{t: t, open: open, history: past()}, server, from, to)
			}
		})
	}
}

func switchOver(k *talk, server *sim.Server, from, to seat) {
	name := fmt.Sprintf("to %s %s", to.dialect, to.model.ID)
	thought, err := k.turn(from, providertest.User(toolPrompt))
	if err != nil {
		k.t.Errorf("%s: the first: %v", name, err)
		return
	}
	if from.shown != (thought != "") {
		k.t.Errorf("%s: the first thought %q, shown %v", name, thought, from.shown)
	}
	if _, err := k.turn(to, providertest.User(toolPrompt)); err != nil {
		k.t.Errorf("%s: after the switch: %v", name, err)
		return
	}
	if _, err := k.turn(from, providertest.User("And now? [[sim: text=20 thinking=20]]")); err != nil {
		k.t.Errorf("%s: on the way back: %v", name, err)
		return
	}
	requests := server.Requests()
	body := gjson.ParseBytes(requests[len(requests)-1].Body)
	if missing := missingThinking(body, k.history[:len(k.history)-1], from); from.returns && missing != "" {
		k.t.Errorf("%s: on the way back this is not on the wire: %s", name, missing)
	}
	for _, r := range server.Refusals() {
		k.t.Errorf("%s: refused: %+v", name, r)
	}
}

// missingThinking is the state of a seat's own that is not to be found in a body.
func missingThinking(body gjson.Result, history []provider.Message, s seat) string {
	var wire strings.Builder
	var walk func(v gjson.Result)
	walk = func(v gjson.Result) {
		if v.Type == gjson.String {
			wire.WriteString(v.Str + "\n")
		}
		if v.IsObject() || v.IsArray() {
			v.ForEach(func(_, inner gjson.Result) bool { walk(inner); return true })
		}
	}
	walk(body.Get("messages"))
	var missing string
	var check func(v gjson.Result)
	check = func(v gjson.Result) {
		if v.Type == gjson.String && !strings.Contains(wire.String(), v.Str) {
			missing = v.Str
		}
		if v.IsObject() || v.IsArray() {
			v.ForEach(func(_, inner gjson.Result) bool { check(inner); return true })
		}
	}
	for _, m := range history {
		calls := false
		for _, b := range m.Blocks {
			calls = calls || provider.KindOf(b) == provider.KindToolCall
		}
		if s.dialect == "deepseek" && !calls {
			continue // of no use there, and left out
		}
		for _, state := range append([]provider.State{m.State}, statesOf(m.Blocks)...) {
			if state.Origin.Vendor == s.dialect && state.Origin.Model == s.model.ID {
				check(gjson.ParseBytes(state.Data))
			}
		}
	}
	return missing
}

func statesOf(blocks provider.Blocks) (all []provider.State) {
	for _, b := range blocks {
		if b, ok := b.(provider.Thinking); ok {
			all = append(all, b.State)
		}
	}
	return all
}

// Parallel calls come back with their results in the order of the calls.
func TestParallelCalls(t *testing.T) {
	server, open := simulator(t)
	for _, s := range seats {
		server.Script(sim.Answer{Parts: []sim.Part{{Kind: sim.Thinking, Text: "Both."},
			{Kind: sim.Call, Name: "read", Input: json.RawMessage(`{"path": "a"}`)}, {Kind: sim.Call, Name: "read", Input: json.RawMessage(`{"path": "b"}`)}}})
		k := &talk{t: t, open: open}
		if _, err := k.turn(s, providertest.User("Read both")); err != nil {
			t.Errorf("%s %s: %v", s.dialect, s.model.ID, err)
		}
		calls := 0
		for _, b := range k.history[1].Blocks {
			if provider.KindOf(b) == provider.KindToolCall {
				calls++
			}
		}
		if calls != 2 {
			t.Errorf("%s %s: %d calls, want 2", s.dialect, s.model.ID, calls)
		}
	}
	for _, r := range server.Refusals() {
		t.Errorf("refused: %+v", r)
	}
}

// An answer that comes whole says the same as its stream, for every dialect.
func TestWholeAsStreamed(t *testing.T) {
	server, open := simulator(t)
	parts := []sim.Part{{Kind: sim.Thinking, Text: "Let me see.\nIt is one of two."}, {Kind: sim.Text, Text: "The **first** one, I think: `</think>` is no tag here."}}
	for _, s := range seats {
		api := open(s.dialect)
		texts := map[sim.Fault][2]string{}
		for _, fault := range []sim.Fault{"", sim.FaultWhole} {
			server.Script(sim.Answer{Parts: parts, Fault: fault})
			reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: s.model, Messages: []provider.Message{providertest.User("Which date?")},
				Decision: provider.Decision{Control: s.control}}))
			if reply.Err != nil {
				t.Errorf("%s %s%s: %v", s.dialect, s.model.ID, fault, reply.Err)
			}
			var thought, text string
			for _, b := range reply.Blocks {
				switch b := b.(type) {
				case provider.Thinking:
					thought += b.Text
				case provider.Text:
					text += b.Text
				}
			}
			texts[fault] = [2]string{thought, text}
			told := len(reply.Notices) == 1 && reply.Notices[0].Kind == provider.NoticeNonStreaming
			if told != (fault != "") {
				t.Errorf("%s%s: notices %+v", s.dialect, fault, reply.Notices)
			}
		}
		want := [2]string{parts[0].Text, parts[1].Text}
		if !s.shown {
			want[0] = ""
		}
		if texts[""] != want || texts[sim.FaultWhole] != want {
			t.Errorf("%s %s: streamed %q, whole %q", s.dialect, s.model.ID, texts[""], texts[sim.FaultWhole])
		}
	}
}

// What goes wrong on a real connection, by kind, for every dialect.
func TestFaults(t *testing.T) {
	_, open := simulator(t)
	tests := []struct {
		marker string
		kind   provider.Kind
	}{
		{"fault=rate_limit", provider.KindRateLimit},
		{"fault=overloaded", provider.KindOverloaded},
		{"fault=overloaded after=2", provider.KindOverloaded},
		{"fault=server_error after=2", provider.KindTransport},
		{"fault=auth", provider.KindAuth},
		{"fault=billing", provider.KindQuota},
		{"fault=too_large", provider.KindTooLong},
		{"fault=bad_request", provider.KindBadRequest},
		{"fault=cut after=2", provider.KindTransport},
		{"fault=end after=2", provider.KindTransport},
		{"fault=html", provider.KindBadRequest},
		{"fault=empty", provider.KindBadRequest},
		{"fault=gzip", provider.KindBadRequest},
	}
	for _, s := range seats {
		for _, test := range tests {
			reply := providertest.Check(t, open(s.dialect).Stream(t.Context(), &provider.Request{Model: s.model, Messages: []provider.Message{providertest.User("Hi [[sim: " + test.marker + "]]")},
				Decision: provider.Decision{Control: s.control}}))
			want := test.kind
			if test.marker == "fault=overloaded after=2" {
				switch s.dialect {
				case "ollama-v1": // it swallows what went wrong
					want = provider.KindTransport
				case "zai", "xai", "dashscope", "mistral": // no word or number of it is in the event
					want = ""
				}
			}
			e, ok := errors.AsType[*provider.Error](reply.Err)
			if !ok || want != "" && e.Kind != want {
				t.Errorf("%s %s: error %v, want one of kind %s", s.dialect, test.marker, reply.Err, want)
			}
		}
	}
}

// A budget shortens the thinking of a local server, in each server's own form, and goes away with thinking itself.
func TestLocalBudgets(t *testing.T) {
	server, open := simulator(t)
	for _, test := range []struct{ dialect, model, member string }{
		{"llamacpp", "qwen3.gguf", "reasoning_budget_tokens"},
		{"vllm", "Qwen/Qwen3.6-27B", "thinking_token_budget"},
		{"sglang", "default", "chat_template_kwargs.thinking_budget"},
	} {
		row := provider.Model{ID: test.model, Known: true, Thinking: provider.Capability{Control: provider.ControlBudget, Off: provider.OffFull}}
		ask := func(control provider.Control) int {
			t.Helper()
			reply := providertest.Check(t, open(test.dialect).Stream(t.Context(), &provider.Request{Model: row, Decision: provider.Decision{Control: control},
				Messages: []provider.Message{providertest.User("Which date is later?")}}))
			if reply.Err != nil {
				t.Fatalf("%s: %v", test.dialect, reply.Err)
			}
			words := 0
			for _, b := range reply.Blocks {
				if thought, ok := b.(provider.Thinking); ok {
					words += len(strings.Fields(thought.Text))
				}
			}
			sent := server.Requests()
			has := gjson.GetBytes(sent[len(sent)-1].Body, test.member).Exists()
			if has != (control.Mode == provider.ModeBudget) {
				t.Errorf("%s: sent %s", test.dialect, sent[len(sent)-1].Body)
			}
			return words
		}
		small, large := ask(provider.Control{Mode: provider.ModeBudget, Budget: 12}), ask(provider.Control{Mode: provider.ModeBudget, Budget: 8000})
		if small == 0 || small >= large {
			t.Errorf("%s: %d words with a small budget, %d with a large one", test.dialect, small, large)
		}
		if n := ask(provider.Control{Mode: provider.ModeOff}); n != 0 {
			t.Errorf("%s: %d words of thinking while it is off", test.dialect, n)
		}
	}
	if refused := server.Refusals(); len(refused) > 0 {
		t.Errorf("refused: %+v", refused)
	}
	for dialect, body := range map[string]string{
		"llamacpp": `"reasoning_budget_tokens":-2`, "vllm": `"thinking_token_budget":-1`, "sglang": `"chat_template_kwargs":{"thinking_budget":-1}`,
	} {
		before := len(server.Refusals())
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://simulator/"+dialect+"/chat/completions",
			strings.NewReader(`{"model":"`+dialect+`","messages":[{"role":"user","content":"hi"}],`+body+`}`))
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, req)
		if w.Code != http.StatusBadRequest || len(server.Refusals()) != before+1 {
			t.Errorf("%s takes %s: %d %s", dialect, body, w.Code, w.Body)
		}
	}
}

// Each model takes over a tool loop behind another model's calls: at once, or with a prompt behind their results. Gemini behind Copilot
// and OpenRouter takes nothing in place of its opaque data: the loop is closed, a notice reports it, and the next request begins with
// the bytes of the one before.
func TestTakeoverInsideLoop(t *testing.T) {
	foreign := provider.State{Origin: provider.Origin{API: "responses", Vendor: "openai", Model: "gpt"}, Data: json.RawMessage(`{"type":"function_call"}`)}
	call := provider.ToolCall{ID: "abcdefghi", Name: "read", Input: json.RawMessage(`{"path":"a"}`), State: foreign}
	said := provider.Message{Role: provider.Assistant, Blocks: provider.Blocks{call}}
	both := providertest.Results(provider.Blocks{call}, "package a")
	both.Blocks = append(both.Blocks, provider.Text{Text: "And the next one."})
	for _, s := range seats {
		gemini := s.dialect == "copilot" && strings.HasPrefix(s.model.ID, "gemini") || s.dialect == "openrouter" && strings.HasPrefix(s.model.ID, "google")
		for name, history := range map[string][]provider.Message{
			"at once":                      {providertest.User("Read it."), said, providertest.Results(provider.Blocks{call}, "package a")},
			"with a prompt":                {providertest.User("Read it."), said, providertest.Results(provider.Blocks{call}, "package a"), providertest.User("And the next one.")},
			"with a prompt in the results": {providertest.User("Read it."), said, both},
		} {
			t.Run(s.dialect+" "+s.model.ID+" "+name, func(t *testing.T) { takesOver(t, s, history, gemini, gemini && name == "at once") })
		}
	}
}

// takesOver has a model make three calls from a history on.
func takesOver(t *testing.T, s seat, history []provider.Message, stable, closes bool) {
	server, open := simulator(t)
	before := ""
	for round := range 3 {
		server.Script(sim.Answer{Parts: []sim.Part{{Kind: sim.Thinking, Text: "Read the other file as well, and then compare the two."},
			{Kind: sim.Call, Name: "read", Input: json.RawMessage(`{"path":"b"}`)}}})
		reply := providertest.Check(t, open(s.dialect).Stream(t.Context(), &provider.Request{Model: s.model, Tools: readTool, Messages: history,
			Decision: provider.Decision{Control: s.control}}))
		if reply.Err != nil || reply.Stop.Reason != provider.StopToolUse {
			t.Fatalf("stopped by %s, %v", reply.Stop.Reason, reply.Err)
		}
		requests := server.Requests()
		list := gjson.GetBytes(requests[len(requests)-1].Body, "messages").Raw
		if stable && !strings.HasPrefix(list, strings.TrimSuffix(before, "]")) {
			t.Errorf("the prefix changed:\n%s\n%s", before, list)
		}
		before = list
		got := slices.ContainsFunc(reply.Notices, func(n provider.Notice) bool { return n.Kind == provider.NoticeRepaired })
		if got != (closes && round == 0) {
			t.Errorf("call %d has the notices %+v", round, reply.Notices)
		}
		history = append(history, provider.Message{Role: provider.Assistant, Blocks: reply.Blocks, State: reply.Stop.State}, providertest.Results(reply.Blocks, "package a"))
	}
	if refused := server.Refusals(); len(refused) > 0 {
		t.Errorf("refused: %+v", refused)
	}
}
