package cohere_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/cohere"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/sim"
	_ "github.com/thinkd/thinkd/provider/sim/faces"
	"github.com/thinkd/thinkd/registry"
)

var update = flag.Bool("update", false, "rewrite the want sections of the fixtures")

func at(rt http.RoundTripper) *cohere.API {
	return cohere.New(exchange.Config{Provider: "cohere", Vendor: "cohere", BaseURL: "http://cohere", Key: provider.NewSecret("cohere-key-1"), Client: exchange.NewClient(rt)})
}

func suite() providertest.Suite {
	return providertest.Suite{
		Glob: "testdata/*.txtar", Type: "text/event-stream", Update: *update,
		New:   func(rt http.RoundTripper) provider.Provider { return at(rt) },
		Split: providertest.SplitBlankLines,
		Over:  func(stream []byte) bool { return bytes.Contains(stream, []byte("message-end")) },
		Noise: []byte("event: debug\ndata: {\"type\":\"debug\",\"prompt\":\"Hi\"}\n\n"),
	}
}

func TestFixtures(t *testing.T) { providertest.Run(t, suite()) }

func FuzzReply(f *testing.F) { providertest.Fuzz(f, suite()) }

func simulated(t *testing.T) (*cohere.API, *sim.Server) {
	t.Helper()
	server := sim.New(sim.Config{})
	return at(providertest.Simulated(t, server).Transport), server
}

func row(id string) provider.Model { return registry.Default().Model("cohere", id) }

func mode(mode provider.Mode, budget int) provider.Decision {
	return provider.Decision{Control: provider.Control{Mode: mode, Budget: budget}}
}

// kinds has a model of each kind, and how a request asks it to think.
var kinds = []struct {
	id       string
	decision provider.Decision
}{
	{"command-a-plus-05-2026", mode(provider.ModeBudget, 4096)},
	{"command-a-reasoning-08-2025", mode(provider.ModeOff, 0)},
	{"north-mini-code-1-0", mode(provider.ModeOn, 0)},
	{"command-a-03-2025", mode(provider.ModeOff, 0)},
}

// TestChanges begins a conversation with a tool loop on each model, goes on with each other one, and comes back: nothing is refused. What
// models thought before their calls goes back, among the content or as a plan.
func TestChanges(t *testing.T) {
	api, server := simulated(t)
	for _, from := range kinds {
		for _, to := range kinds {
			req := provider.Request{System: "Be brief.", Tools: providertest.ReadTool}
			for n, step := range []struct {
				id       string
				decision provider.Decision
				say      string
			}{{from.id, from.decision, "Read it. [[sim: thinking=10 tool=read calls=2]]"}, {to.id, to.decision, "And now? [[sim: thinking=10 tool=read]]"}, {from.id, from.decision, "Back."}} {
				req.Model, req.Decision = row(step.id), step.decision
				if n == 2 {
					count, err := api.Convert(&req)
					if err != nil || count.Kept == 0 || count.AsText > 0 {
						t.Errorf("%s, %s and back: %+v, error %v", from.id, to.id, count, err)
					}
				}
				req.Messages = providertest.Turn(t, api, req, step.say)
			}
		}
	}
	for _, r := range server.Refusals() {
		t.Errorf("refused: %+v", r)
	}
}

func TestFaults(t *testing.T) {
	api, _ := simulated(t)
	req := provider.Request{Model: row("command-a-plus-05-2026"), Decision: mode(provider.ModeOn, 0)}
	providertest.Faults(t, api, req, map[string]provider.Kind{
		"fault=rate_limit": provider.KindRateLimit, "fault=spend_cap": provider.KindQuota, "fault=overloaded": provider.KindOverloaded,
		"fault=server_error": provider.KindTransport, "fault=server_error after=3": provider.KindTransport, "fault=timeout": provider.KindTransport,
		"fault=conflict": provider.KindTransport, "fault=auth": provider.KindAuth, "fault=permission": provider.KindAuth, "fault=billing": provider.KindQuota,
		"fault=too_large": provider.KindTooLong, "fault=not_found": provider.KindBadRequest, "fault=bad_request": provider.KindBadRequest,
		"fault=cut after=3": provider.KindTransport, "fault=end after=3": provider.KindTransport, "fault=cut bytes=33": provider.KindTransport,
		"fault=html": provider.KindBadRequest, "fault=empty": provider.KindBadRequest, "fault=gzip": provider.KindBadRequest, "fault=json_error": provider.KindTransport,
	})
	providertest.Stops(t, api, req, map[string]provider.StopReason{
		"stop=max_tokens": provider.StopMaxTokens, "stop=refusal": provider.StopRefusal, "fault=noise": provider.StopEndTurn, "fault=whole": provider.StopEndTurn,
		"fault=no_last_event": provider.StopEndTurn, "fault=mislabelled": provider.StopEndTurn, "tool=read unchecked": provider.StopToolUse, "tool=read unchecked fault=call_ids": provider.StopToolUse,
	})
}

// TestRefusals sends what users saw refused. Two of the refusals are of the first version of the API, whose request had the last prompt apart:
// this version refuses the same history.
func TestRefusals(t *testing.T) {
	user, call := `{"role":"user","content":"Hi"}`, `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{}"}}]}`
	for _, tt := range []struct {
		name, body string
		status     int
		says       string
	}{
		{"co-message-1-token", `"messages":[` + user + `,{"role":"assistant","content":"Hello"}]`, 400, "message must be at least 1 token long or tool results must be specified"},
		{"co-too-many-tokens", `"messages":[{"role":"user","content":"` + strings.Repeat("word ", 130_000) + `"}]`, 400, "too many tokens: size limit exceeded by"},
		{"co-message-and-results", `"messages":[` + user + `,` + call + `,{"role":"tool","tool_call_id":"a","content":"A"},` + user + `]`, 400, "cannot specify both message and tool_results in multistep mode"},
		{"co-unknown-field", `"messages":[` + user + `],"tools":[{"type":"function","function":{"name":"read","parameters":{"type":"object"},"requires_confirmation":null}}]`, 422, "parameter 'requires_confirmation' is not a valid field"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := sim.New(sim.Config{})
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://cohere/v2/chat", strings.NewReader(`{"model":"command-a-plus-05-2026",`+tt.body+`}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer k")
			resp, err := providertest.Simulated(t, server).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if list := server.Refusals(); resp.StatusCode != tt.status || len(list) != 1 || !strings.Contains(list[0].Message, tt.says) {
				t.Errorf("status %d, refusals %+v, want %q", resp.StatusCode, list, tt.says)
			}
		})
	}
}

// TestPoison makes conversations in whose history all that is that the API refuses. The stand-in takes each, on each model.
func TestPoison(t *testing.T) {
	api, server := simulated(t)
	said := func(role provider.Role, blocks ...provider.Block) provider.Message {
		return provider.Message{Role: role, Blocks: blocks}
	}
	text := func(s string) provider.Block { return provider.Text{Text: s} }
	picture := provider.Media{Type: "image/png", Data: []byte("\x89PNG\r\n\x1a\n0")}
	pdf := provider.Media{Type: "application/pdf", Name: "report.pdf", Data: []byte("%PDF-1.4")}
	call := provider.ToolCall{ID: "functions read:0", Name: "read the file", Invalid: "{bad"}
	history := []provider.Message{
		said(provider.Assistant, text("Hello, how can I help? ")),
		said(provider.User, text("  ")),
		said(provider.Assistant, text(" "), provider.Thinking{Text: "cut"}, call, call),
		said(provider.User, provider.ToolResult{CallID: "functions read:0", Blocks: provider.Blocks{text("")}}, provider.ToolResult{CallID: "orphan", Blocks: provider.Blocks{text("x")}}, text("go on")),
		said(provider.User, text("and this"), picture, pdf),
		said(provider.Assistant, text("I look."), provider.ToolCall{ID: "lost", Name: "gtr-cool", Input: json.RawMessage(`{}`)}, provider.ToolCall{ID: "seen", Name: "1st", Input: json.RawMessage(`[]`)}),
		said(provider.User, provider.ToolResult{CallID: "seen", Failed: true, Blocks: provider.Blocks{picture}}),
		said(provider.Assistant, provider.Thinking{Text: "alone", Signed: true, State: provider.State{Origin: provider.Origin{API: "cohere"}, Data: json.RawMessage(`{"thinking":"alone"}`)}}),
		said(provider.User, text("Read both.")),
		said(provider.Assistant, text("I did.")),
	}
	for _, k := range kinds {
		for n := range len(history) + 1 {
			req := provider.Request{Model: row(k.id), Decision: k.decision, Messages: history[:n], Tools: []provider.Tool{{Name: "read_it"}, {Name: "read-it"}}}
			if n == 0 {
				req.Messages = []provider.Message{providertest.User("\u200b")}
			}
			if reply := providertest.Check(t, api.Stream(t.Context(), &req)); reply.Err != nil {
				t.Errorf("%s, %d messages: %v", k.id, n, reply.Err)
			}
		}
	}
	for _, r := range server.Refusals() {
		t.Errorf("refused: %+v", r)
	}
}

// TestNames gives tools whose names the vendor refuses their own name back.
func TestNames(t *testing.T) {
	api, server := simulated(t)
	for _, wire := range []string{"read_it", "read_it_"} {
		req := provider.Request{Model: row("command-a-plus-05-2026"), Tools: []provider.Tool{{Name: "read_it"}, {Name: "read-it"}}, Messages: []provider.Message{providertest.User("[[sim: tool=" + wire + "]]")}}
		reply := providertest.Check(t, api.Stream(t.Context(), &req))
		want := map[string]string{"read_it": "read_it", "read_it_": "read-it"}[wire]
		if i := slices.IndexFunc(reply.Blocks, func(b provider.Block) bool { return provider.KindOf(b) == provider.KindToolCall }); i < 0 || reply.Blocks[i].(provider.ToolCall).Name != want {
			t.Errorf("%s: blocks %v, want a call of %s", wire, reply.Blocks, want)
		}
	}
	for _, r := range server.Refusals() {
		t.Errorf("refused: %+v", r)
	}
}

// sent is the body of a request, without a call.
func sent(t *testing.T, req *provider.Request) (body gjson.Result, notices []provider.Notice) {
	t.Helper()
	host := &providertest.Host{Status: 200, Body: `{"id":"a","message":{"content":[{"type":"text","text":"A"}]},"finish_reason":"COMPLETE"}`, Type: "application/json"}
	reply := providertest.Check(t, at(host).Stream(t.Context(), req))
	if len(host.Sent) == 0 || reply.Err != nil {
		t.Fatalf("nothing was sent: %v", reply.Err)
	}
	return gjson.ParseBytes(host.Sent), reply.Notices
}

// TestRequest is what thinking and options become.
func TestRequest(t *testing.T) {
	ten, half := 10, 0.5
	for _, tt := range []struct {
		name, model string
		decision    provider.Decision
		options     provider.Options
		want        map[string]string
		notice      string
	}{
		{"the default of the vendor", "command-a-plus-05-2026", mode(provider.ModeOmit, 0), provider.Options{}, map[string]string{"thinking": "", "max_tokens": "64000"}, ""},
		{"off", "command-a-plus-05-2026", mode(provider.ModeOff, 0), provider.Options{}, map[string]string{"thinking": `{"type":"disabled"}`}, ""},
		{"off where there is none", "command-a-03-2025", mode(provider.ModeOff, 0), provider.Options{}, map[string]string{"thinking": "", "max_tokens": "8000"}, ""},
		{"a budget", "command-a-reasoning-08-2025", mode(provider.ModeBudget, 31000), provider.Options{}, map[string]string{"thinking": `{"type":"enabled","token_budget":31000}`, "max_tokens": "32000"}, ""},
		{"a budget that leaves no room", "command-a-reasoning-08-2025", mode(provider.ModeBudget, 31000), provider.Options{MaxOutput: 5000}, map[string]string{"thinking": `{"type":"enabled","token_budget":4000}`, "max_tokens": "5000"}, "lowered from 31000 to 4000"},
		{"no room at all", "command-a-reasoning-08-2025", mode(provider.ModeBudget, 31000), provider.Options{MaxOutput: 500}, map[string]string{"thinking": `{"type":"disabled"}`}, "leaves no budget"},
		{"a level", "command-x", provider.Decision{Control: provider.Control{Mode: provider.ModeEffort, Effort: provider.High}}, provider.Options{}, map[string]string{"thinking": `{"type":"enabled"}`}, "has no levels"},
		{"options", "command-a-03-2025", mode(provider.ModeOff, 0), provider.Options{Temperature: &half, TopP: &half, TopK: &ten, Stop: []string{"END"}, Output: provider.OutputJSON},
			map[string]string{"temperature": "0.5", "p": "0.5", "k": "10", "stop_sequences": `["END"]`, "response_format": `{"type":"json_object"}`, "tool_choice": ""}, ""},
	} {
		body, notices := sent(t, &provider.Request{Model: row(tt.model), Decision: tt.decision, Options: tt.options, Messages: []provider.Message{providertest.User("Hi")}})
		for path, want := range tt.want {
			if got := body.Get(path).Raw; got != want {
				t.Errorf("%s: %s is %s, want %s", tt.name, path, got, want)
			}
		}
		if said := slices.ContainsFunc(notices, func(n provider.Notice) bool {
			return n.Kind == provider.NoticeOverride && strings.Contains(n.Text, tt.notice)
		}); said != (tt.notice != "") {
			t.Errorf("%s: notices %v, want %q", tt.name, notices, tt.notice)
		}
	}
}

// TestRepairs has a host refuse a request, and the repair that the error names changes it.
func TestRepairs(t *testing.T) {
	own := provider.Origin{API: "cohere", Vendor: "cohere"}
	thought := provider.Thinking{Text: "T", Kind: provider.ThinkingFull, Signed: true, State: provider.State{Origin: own, Data: json.RawMessage(`{"tool_plan":"T"}`)}}
	for _, tt := range []struct {
		text   string
		repair provider.Repair
		gone   string
	}{
		{"thinking is not supported for this model", "cohere/without:thinking@m", `"token_budget"`},
		{"tool_plan is not supported for this model", cohere.StripThinking, `"T"`},
		{"tool_choice is not supported for this model", "cohere/without:tool_choice@m", "REQUIRED"},
		{"images are not supported by the provided model", "cohere/no_media@m", "image_url"},
		{"you are out of luck", "", ""},
	} {
		req := &provider.Request{Model: provider.Model{ID: "m", Thinking: provider.Capability{Control: provider.ControlBudget}}, Decision: mode(provider.ModeBudget, 2000), Tools: providertest.ReadTool,
			Options: provider.Options{ToolChoice: provider.ChooseRequired}, Messages: []provider.Message{
				{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "Hi"}, provider.Media{Type: "image/png", Data: []byte("\x89PNG\r\n\x1a\n0")}}},
				{Role: provider.Assistant, Blocks: provider.Blocks{thought, provider.Text{Text: "A"}}}, providertest.User("And?")}}
		for range 2 {
			host := &providertest.Host{Status: 400, Type: "application/json", Body: `{"id":"a","message":"invalid request: ` + tt.text + `"}`}
			e, ok := errors.AsType[*provider.Error](providertest.Check(t, at(host).Stream(t.Context(), req)).Err)
			repaired := len(req.Repairs) > 0
			switch {
			case !ok:
				t.Errorf("%s: no error", tt.text)
			case !repaired && e.Repair != tt.repair, repaired && e.Repair == tt.repair:
				t.Errorf("%s: repair %q after %v", tt.text, e.Repair, req.Repairs)
			case repaired && strings.Contains(string(host.Sent), tt.gone):
				t.Errorf("%s: the repair leaves %s in %s", tt.text, tt.gone, host.Sent)
			}
			if tt.repair == "" {
				break
			}
			req.Repairs = []provider.Repair{tt.repair}
		}
	}
}

// TestBilled charges for what the vendor bills, which is less than it counts.
func TestBilled(t *testing.T) {
	api, _ := simulated(t)
	req := provider.Request{Model: row("command-a-plus-05-2026"), Messages: []provider.Message{providertest.User("Hi")}}
	u := providertest.Check(t, api.Stream(t.Context(), &req)).Stop.Usage
	if u.Billed == nil || u.Billed.Input >= u.Input || u.Billed.Output >= u.Output || u.Cached == 0 || u.Reasoning == nil {
		t.Fatalf("usage %+v", u)
	}
	want := provider.MoneyOf((float64(u.Billed.Input)*2.5 + float64(u.Billed.Output)*10) / 1e6)
	if cost := req.Model.Price.Cost(u, time.Unix(0, 0)); cost.Amount != want || cost.Partial {
		t.Errorf("cost %v, want %v", cost, want)
	}
}

func TestModels(t *testing.T) {
	api, _ := simulated(t)
	list, err := api.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		id            string
		window        int
		tools, vision bool
		control       provider.ControlKind
		state         provider.LifecycleState
	}{
		{"command-a-plus-05-2026", 128_000, true, true, "", provider.LifecycleCurrent},
		{"command-a-vision-07-2025", 128_000, false, true, provider.ControlNone, provider.LifecycleCurrent},
		{"command-r-03-2024", 128_000, true, false, provider.ControlNone, provider.LifecycleDeprecated},
	} {
		i := slices.IndexFunc(list, func(m provider.Model) bool { return m.ID == want.id })
		if i < 0 {
			t.Errorf("%s is not listed", want.id)
			continue
		}
		if m := list[i]; m.Window != want.window || m.Tools != want.tools || slices.Contains(m.Input, "image") != want.vision || m.Thinking.Control != want.control || m.Lifecycle.State != want.state {
			t.Errorf("%s: %+v", want.id, m)
		}
	}
}
