package converse_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/aws"
	"github.com/thinkd/thinkd/provider/converse"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/sim"
	simaws "github.com/thinkd/thinkd/provider/sim/aws"
	_ "github.com/thinkd/thinkd/provider/sim/faces"
)

var update = flag.Bool("update", false, "rewrite the want sections of the fixtures")

func at(rt http.RoundTripper) *converse.API {
	return converse.New(exchange.Config{Provider: "bedrock", Vendor: "bedrock", BaseURL: "http://bedrock", Key: provider.NewSecret("bedrock-key-1"), Client: exchange.NewClient(rt)})
}

// suite plays fixtures whose streams have an event on each line: its name and its JSON.
func suite() providertest.Suite {
	return providertest.Suite{
		Glob: "testdata/*.txtar", Type: aws.EventStreamType, Update: *update,
		New:   func(rt http.RoundTripper) provider.Provider { return at(rt) },
		Split: func(stream []byte) [][]byte { return bytes.SplitAfter(bytes.TrimRight(stream, "\n"), []byte("\n")) },
		Frame: func(event []byte) []byte {
			name, data, _ := bytes.Cut(bytes.TrimSpace(event), []byte(" "))
			return simaws.AppendEvent(nil, string(name), data)
		},
		Over:  func(stream []byte) bool { return bytes.Contains(stream, []byte("messageStop")) },
		Noise: []byte("novelty {\"p\":\"abc\"}\n"),
	}
}

func TestFixtures(t *testing.T) { providertest.Run(t, suite()) }

func FuzzReply(f *testing.F) { providertest.Fuzz(f, suite()) }

func simulated(t *testing.T) (*converse.API, *sim.Server) {
	t.Helper()
	server := sim.New(sim.Config{})
	return at(providertest.Simulated(t, server).Transport), server
}

func model(id string) provider.Model { return provider.Model{ID: id, Provider: "bedrock"} }

func mode(mode provider.Mode, effort provider.Level, budget int) provider.Decision {
	return provider.Decision{Control: provider.Control{Mode: mode, Effort: effort, Budget: budget}}
}

// makers has a model of each maker, and how a request asks it to think.
var makers = []struct {
	id       string
	decision provider.Decision
	keeps    bool // its thinking goes back to it
}{
	{"us.anthropic.claude-opus-4-6-v1", mode(provider.ModeEffort, provider.High, 0), true},
	{"eu.anthropic.claude-haiku-4-5-20251001-v1:0", mode(provider.ModeBudget, "", 4096), true},
	{"us.amazon.nova-2-lite-v1:0", mode(provider.ModeEffort, provider.High, 0), true},
	{"deepseek.v3.2", mode(provider.ModeEffort, provider.Low, 0), false},
	{"qwen.qwen3-32b-v1:0", mode(provider.ModeOmit, "", 0), false},
	{"us.meta.llama4-maverick-17b-instruct-v1:0", mode(provider.ModeOmit, "", 0), false},
	{"mistral.magistral-small-2509", mode(provider.ModeOmit, "", 0), true},
	{"openai.gpt-oss-120b-1:0", mode(provider.ModeEffort, provider.Medium, 0), true},
	{"openai.gpt-6-luna", mode(provider.ModeEffort, provider.Low, 0), true},
	{"moonshot.kimi-k2-thinking", mode(provider.ModeOn, "", 0), true},
}

// TestChanges begins a conversation with a tool loop on each model, goes on with each other one, and comes back: nothing is refused, and thinking
// that its maker takes back goes back.
func TestChanges(t *testing.T) {
	api, server := simulated(t)
	for _, from := range makers {
		for _, to := range makers {
			req := provider.Request{System: "Be brief.", Tools: providertest.ReadTool}
			for n, step := range []struct {
				id       string
				decision provider.Decision
				say      string
			}{{from.id, from.decision, "Read it. [[sim: tool=read calls=2]]"}, {to.id, to.decision, "And now? [[sim: tool=read]]"}, {from.id, from.decision, "Back."}} {
				req.Model, req.Decision = model(step.id), step.decision
				if n == 2 {
					count, err := api.Convert(&req)
					if err != nil || (count.Kept > 0) != from.keeps {
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
	req := provider.Request{Model: model("us.anthropic.claude-opus-4-6-v1"), Decision: mode(provider.ModeEffort, provider.Low, 0)}
	providertest.Faults(t, api, req, map[string]provider.Kind{
		"fault=rate_limit": provider.KindRateLimit, "fault=rate_limit after=3": provider.KindRateLimit, "fault=spend_cap": provider.KindQuota,
		"fault=overloaded": provider.KindOverloaded, "fault=overloaded after=3": provider.KindOverloaded, "fault=server_error": provider.KindTransport,
		"fault=server_error after=3": provider.KindTransport, "fault=timeout": provider.KindTransport, "fault=conflict": provider.KindTransport, "fault=auth": provider.KindAuth,
		"fault=permission": provider.KindAuth, "fault=billing": provider.KindQuota, "fault=too_large": provider.KindTooLong, "fault=not_found": provider.KindBadRequest,
		"fault=cut after=3": provider.KindTransport, "fault=end after=3": provider.KindTransport, "fault=cut bytes=33": provider.KindTransport,
		"fault=html": provider.KindBadRequest, "fault=empty": provider.KindBadRequest, "fault=gzip": provider.KindBadRequest,
	})
	providertest.Stops(t, api, req, map[string]provider.StopReason{
		"stop=max_tokens": provider.StopMaxTokens, "stop=refusal": provider.StopRefusal, "fault=noise": provider.StopEndTurn, "fault=whole": provider.StopEndTurn,
		"fault=no_last_event": provider.StopEndTurn, "fault=mislabelled": provider.StopEndTurn,
	})
}

// sent is the body of a request, without a call.
func sent(t *testing.T, req *provider.Request) gjson.Result {
	t.Helper()
	host := &providertest.Host{Status: 400, Body: `{"message":"no"}`, Type: "application/json"}
	providertest.Check(t, at(host).Stream(t.Context(), req))
	if len(host.Sent) == 0 {
		t.Fatal("nothing was sent")
	}
	return gjson.ParseBytes(host.Sent)
}

// TestRefusals sends what users saw refused, which the stand-in refuses in the same words, and then lets the adapter make the request of the
// same conversation, which it takes.
func TestRefusals(t *testing.T) {
	const opus, llama, oss = "us.anthropic.claude-opus-4-6-v1", "us.meta.llama4-maverick-17b-instruct-v1:0", "openai.gpt-oss-120b-1:0"
	const tools = `"toolConfig":{"tools":[{"toolSpec":{"name":"read","inputSchema":{"json":{"type":"object"}}}}]},`
	user, call := `{"role":"user","content":[{"text":"Hi"}]}`, `{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"read","input":{}}}]}`
	for _, tt := range []struct{ name, model, body, says string }{
		{"br-cachepoint-after-document", opus, `"messages":[{"role":"user","content":[{"text":"x"},{"document":{"format":"md","name":"a","source":{"bytes":"QQ=="}}},{"cachePoint":{"type":"default"}}]}]`, "messages.0.content.2.type: Field required"},
		{"br-nothing-to-cache", opus, `"messages":[{"role":"user","content":[{"document":{"format":"pdf","name":"a","source":{"bytes":"QQ=="}}},{"cachePoint":{"type":"default"}}]}]`, "There is nothing available to cache"},
		{"br-nova-mark-behind-result", "us.amazon.nova-2-lite-v1:0", tools + `"messages":[` + user + `,` + call + `,{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"x"}]}},{"cachePoint":{"type":"default"}}]}]`, "extraneous key [cachePoint] is not permitted"},
		{"br-nova-mark-of-tools", "us.amazon.nova-2-lite-v1:0", strings.Replace(tools, `}]},`, `},{"cachePoint":{"type":"default"}}]},`, 1) + `"messages":[` + user + `]`, "#/toolConfig/tools/1: extraneous key [cachePoint] is not permitted"},
		{"br-content-empty", opus, `"messages":[` + user + `,{"role":"assistant","content":[]}]`, "The content field in the Message object at messages.1 is empty"},
		{"br-text-blank", opus, tools + `"messages":[` + user + `,{"role":"assistant","content":[{"text":""},{"toolUse":{"toolUseId":"a","name":"read","input":{}}}]}]`, "messages.1.content.0 is blank"},
		{"br-on-demand-profile", "anthropic.claude-3-7-sonnet-20250219-v1:0", `"messages":[` + user + `]`, "with on-demand throughput isn’t supported"},
		{"br-conversation-and-toolresult", llama, tools + `"messages":[` + user + `,` + call + `,{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"x"}]}},{"text":"go on"}]}]`, "cannot be provided in the same turn"},
		{"br-toolresult-exceeds", opus, tools + `"messages":[{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"x"}]}}]}]`, "exceeds the number of toolUse blocks of previous turn"},
		{"br-thinking-enabled-unsupported", "us.anthropic.claude-opus-4-8", `"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":8000}},"messages":[` + user + `]`, `"thinking.type.enabled" is not supported for this model`},
		{"br-trailing-whitespace", opus, `"messages":[` + user + `,{"role":"assistant","content":[{"text":"ok "}]}]`, "final assistant content cannot end with trailing whitespace"},
		{"br-start-with-user", opus, `"messages":[{"role":"assistant","content":[{"text":"ok"}]},` + user + `]`, "A conversation must start with a user message"},
		{"br-tool-name-regex", llama, strings.Replace(tools, `"read"`, `"gtr-cool"`, 1) + `"messages":[` + user + `]`, "Value 'gtr-cool' at 'toolConfig.tools.1.member.toolSpec.name' failed to satisfy constraint"},
		{"br-reasoning-signature-unsupported", oss, `"messages":[` + user + `,{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"t","signature":""}}},{"text":"ok"}]},` + user + `]`, "doesn't support the reasoningContent.reasoningText.signature field"},
		{"br-tooluse-input-invalid", opus, tools + `"messages":[` + user + `,` + strings.Replace(call, "{}", `"{bad"`, 1) + `]`, "The format of the value at messages.1.content.0.toolUse.input is invalid"},
		{"stop sequences", "qwen.qwen3-32b-v1:0", `"inferenceConfig":{"stopSequences":["x"]},"messages":[` + user + `]`, "doesn't support the stopSequences field"},
		{"sampling", "us.xai.grok-4.6", `"inferenceConfig":{"temperature":1},"messages":[` + user + `]`, "doesn't support the temperature field"},
		{"any tool", llama, strings.Replace(tools, `}]},`, `}],"toolChoice":{"any":{}}},`, 1) + `"messages":[` + user + `]`, "doesn't support the toolConfig.toolChoice.any field"},
		{"temperature and top_p", opus, `"inferenceConfig":{"temperature":1,"topP":0.9},"messages":[` + user + `]`, "cannot both be specified"},
		{"br-toolconfig-required", opus, `"messages":[` + user + `,` + call + `,{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"x"}]}}]}]`, "The toolConfig field must be defined"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := sim.New(sim.Config{})
			client := providertest.Simulated(t, server)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://bedrock/model/"+aws.Escape(tt.model)+"/converse", strings.NewReader("{"+tt.body+"}"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer k")
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if list := server.Refusals(); resp.StatusCode != 400 || len(list) != 1 || !strings.Contains(list[0].Message, tt.says) {
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
	pdf := provider.Media{Type: "application/pdf", Name: "my_report (1).pdf", Data: []byte("%PDF-1.4")}
	call := provider.ToolCall{ID: "functions.read:0", Name: "read the file", Invalid: "{bad"}
	history := []provider.Message{
		said(provider.Assistant, text("Hello, how can I help? ")),
		said(provider.User, text("  ")),
		said(provider.Assistant, text(" "), provider.Thinking{Text: "cut"}, call, call),
		said(provider.User, provider.ToolResult{CallID: "functions.read:0", Blocks: provider.Blocks{text("")}}, provider.ToolResult{CallID: "orphan", Blocks: provider.Blocks{text("x")}}, text("go on")),
		said(provider.User, text("and this")),
		said(provider.Assistant, provider.ToolCall{ID: "lost", Name: "gtr-cool", Input: json.RawMessage(`{}`)}),
		said(provider.User, pdf),
		said(provider.Assistant),
		said(provider.User, pdf, text("Read both.")),
	}
	for _, m := range makers {
		for _, withTools := range []bool{true, false} {
			if strings.Contains(m.id, "llama") && !withTools {
				continue // whose rule of names is a repair, below
			}
			req := provider.Request{Model: model(m.id), Decision: m.decision, Messages: history}
			if withTools {
				req.Tools = []provider.Tool{{Name: "read_it"}}
			}
			if strings.Contains(m.id, "llama") {
				req.Repairs = []provider.Repair{converse.PlainNames}
			}
			if reply := providertest.Check(t, api.Stream(t.Context(), &req)); reply.Err != nil {
				t.Errorf("%s, tools %t: %v", m.id, withTools, reply.Err)
			}
		}
	}
	for _, r := range server.Refusals() {
		t.Errorf("refused: %+v", r)
	}
}

// TestRepairs has the stand-in refuse what only a model refuses, and the repair that the error names help.
func TestRepairs(t *testing.T) {
	api, _ := simulated(t)
	for _, tt := range []struct {
		name   string
		req    provider.Request
		repair provider.Repair
	}{
		{"budget", provider.Request{Model: model("us.anthropic.claude-opus-4-8"), Decision: mode(provider.ModeBudget, "", 4096)}, converse.Adaptive + "us.anthropic.claude-opus-4-8"},
		{"name of a tool", provider.Request{Model: model("us.meta.llama4-maverick-17b-instruct-v1:0"), Tools: []provider.Tool{{Name: "gtr-cool"}}}, converse.PlainNames},
	} {
		tt.req.Messages = []provider.Message{providertest.User("Hi [[sim: tool=gtr_cool]]")}
		reply := providertest.Check(t, api.Stream(t.Context(), &tt.req))
		e, ok := errors.AsType[*provider.Error](reply.Err)
		if !ok || e.Repair != tt.repair {
			t.Errorf("%s: error %v, want the repair %s", tt.name, reply.Err, tt.repair)
			continue
		}
		tt.req.Repairs = []provider.Repair{e.Repair}
		again := providertest.Check(t, api.Stream(t.Context(), &tt.req))
		if again.Err != nil {
			t.Errorf("%s, repaired: %v", tt.name, again.Err)
		}
		for _, b := range again.Blocks {
			if c, ok := b.(provider.ToolCall); ok && c.Name != "gtr-cool" {
				t.Errorf("%s: the call has the name %q", tt.name, c.Name)
			}
		}
	}
}

// TestRequest is what thinking, marks for the cache, media and options become.
func TestRequest(t *testing.T) {
	ten := 10
	req := &provider.Request{Model: provider.Model{ID: "us.amazon.nova-2-lite-v1:0"}, System: "Be brief.", Decision: mode(provider.ModeEffort, provider.Max, 0),
		Messages: []provider.Message{providertest.User("Hi")}, Options: provider.Options{TopK: &ten, MaxOutput: 500, ServiceTier: provider.TierFlex}}
	for path, want := range map[string]string{
		"additionalModelRequestFields.reasoningConfig": `{"type":"enabled","maxReasoningEffort":"high"}`, "inferenceConfig": "", "serviceTier.type": `"flex"`,
		"system.1.cachePoint": `{"type":"default"}`, "messages.0.content.1.cachePoint": `{"type":"default"}`,
	} {
		if got := sent(t, req).Get(path).Raw; got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	req.Model.ID, req.Options.Cache = "us.anthropic.claude-opus-4-6-v1", provider.CacheLong
	for path, want := range map[string]string{
		"additionalModelRequestFields": `{"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"max"},"top_k":10}`,
		"inferenceConfig":              `{"maxTokens":500}`, "system.1.cachePoint": `{"type":"default","ttl":"1h"}`,
	} {
		if got := sent(t, req).Get(path).Raw; got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	req.Model.ID = "qwen.qwen3-32b-v1:0"
	if body := sent(t, req); body.Get("additionalModelRequestFields").Exists() || strings.Contains(body.Raw, "cachePoint") {
		t.Errorf("a model that takes neither got %s", body.Raw)
	}
}

// TestNovaCache makes a tool loop with Nova, which takes marks in the system prompt and behind the texts of messages. Nothing is refused, and
// each call reads from the cache what stands before the results of tools.
func TestNovaCache(t *testing.T) {
	api, server := simulated(t)
	req := provider.Request{Model: model("us.amazon.nova-2-lite-v1:0"), System: strings.Repeat("Be brief. ", 600), Tools: providertest.ReadTool,
		Decision: mode(provider.ModeEffort, provider.Low, 0)}
	prompt := provider.Text{Text: strings.Repeat("Read it. ", 600)}
	req.Messages = []provider.Message{{Role: provider.User, Blocks: provider.Blocks{prompt}}}
	for _, id := range []string{"a", "b", "c"} {
		if reply := providertest.Check(t, api.Stream(t.Context(), &req)); reply.Err != nil {
			t.Fatal(reply.Err)
		}
		req.Messages = append(req.Messages,
			provider.Message{Role: provider.Assistant, Blocks: provider.Blocks{provider.ToolCall{ID: id, Name: "read", Input: json.RawMessage(`{"path":"x"}`)}}},
			provider.Message{Role: provider.User, Blocks: provider.Blocks{provider.ToolResult{CallID: id, Blocks: provider.Blocks{prompt}}}})
	}
	for _, r := range server.Refusals() {
		t.Errorf("refused: %+v", r)
	}
	all := server.Requests()
	first := all[0].Cached.Written
	if first < 2000 || all[0].Cached.Read != 0 {
		t.Errorf("the first request wrote %d tokens and read %d", first, all[0].Cached.Read)
	}
	for i, r := range all[1:] {
		if r.Cached != (sim.CacheCount{Read: first}) {
			t.Errorf("request %d: %+v, want %d read", i+1, r.Cached, first)
		}
	}
}

// TestOptions asks each maker's model for all options. What a model is known to refuse is left out with a notice, and OptionsWire says the same.
func TestOptions(t *testing.T) {
	api, server := simulated(t)
	half, ten := 0.5, 10
	for _, id := range []string{"qwen.qwen3-32b-v1:0", "us.xai.grok-4.6", "us.meta.llama4-maverick-17b-instruct-v1:0", "us.anthropic.claude-opus-4-6-v1", "us.amazon.nova-2-lite-v1:0", "openai.gpt-oss-120b-1:0"} {
		for _, choice := range []provider.ToolChoice{provider.ChooseRequired, "read"} {
			req := provider.Request{Model: model(id), Tools: providertest.ReadTool, Messages: []provider.Message{providertest.User("Hi [[sim: text=3]]")},
				Options: provider.Options{Temperature: &half, TopP: &half, TopK: &ten, Stop: []string{"END"}, ToolChoice: choice, MaxOutput: 500}}
			if strings.Contains(id, "claude") {
				req.Options.TopP = nil // the decision before the call leaves it out
			}
			reply := providertest.Check(t, api.Stream(t.Context(), &req))
			if reply.Err != nil {
				t.Errorf("%s: %v", id, reply.Err)
			}
			wire, err := api.OptionsWire(&req)
			body := sent(t, &req)
			for path, said := range map[string]string{"inferenceConfig": "inferenceConfig", "toolConfig.toolChoice": "toolChoice", "additionalModelRequestFields": "additionalModelRequestFields"} {
				if want := gjson.GetBytes(wire, said).Raw; err != nil || body.Get(path).Raw != want {
					t.Errorf("%s: %s is %s, and OptionsWire says %s (%v)", id, path, body.Get(path).Raw, want, err)
				}
			}
			if left := len(reply.Notices) > 0; left == (strings.Contains(id, "nova") || strings.Contains(id, "claude")) {
				t.Errorf("%s: notices %+v", id, reply.Notices)
			}
		}
	}
	for _, r := range server.Refusals() {
		t.Errorf("refused: %+v", r)
	}
}

// TestRefusedOptions has a host refuse an option of a model of which nothing is known: the next request goes without it.
func TestRefusedOptions(t *testing.T) {
	half := 0.5
	form := &provider.OutputSchema{Name: "n", Schema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)}
	options := provider.Options{Temperature: &half, TopP: &half, Stop: []string{"END"}, ToolChoice: provider.ChooseRequired, ServiceTier: provider.TierFlex, Schema: form}
	req := provider.Request{Model: model("new.maker-1"), Tools: providertest.ReadTool, Messages: []provider.Message{providertest.User("Hi")}, Options: options}
	for _, tt := range []struct{ refusal, member, path string }{
		{"This model doesn't support the inferenceConfig.temperature field. Remove temperature and try again.", "temperature", "inferenceConfig.temperature"},
		{"This model doesn't support the topP field. Remove topP and try again.", "topP", "inferenceConfig.topP"},
		{"The model returned the following errors: `temperature` and `top_p` cannot both be specified for this model. Please use only one.", "topP", "inferenceConfig.topP"},
		{"This model doesn't support the stopSequences field. Remove stopSequences and try again.", "stopSequences", "inferenceConfig.stopSequences"},
		{"This model doesn't support the toolConfig.toolChoice.any field. Remove toolConfig.toolChoice.any and try again.", "toolConfig.toolChoice.any", "toolConfig.toolChoice"},
		{"This model doesn't support the outputConfig.textFormat field. Remove outputConfig.textFormat and try again.", "outputConfig", "outputConfig"},
		{"This model doesn't support the serviceTier field. Remove serviceTier and try again.", "serviceTier", "serviceTier"},
		{"This model doesn't support the system field. Remove system and try again.", "", "messages"},
	} {
		text, err := json.Marshal(map[string]string{"message": tt.refusal})
		if err != nil {
			t.Fatal(err)
		}
		host := &providertest.Host{Status: 400, Body: string(text), Type: "application/json"}
		one := req
		reply := providertest.Check(t, at(host).Stream(t.Context(), &one))
		e, ok := errors.AsType[*provider.Error](reply.Err)
		want := provider.Repair("")
		if tt.member != "" {
			want = provider.Repair("converse/without:" + tt.member + "@new.maker-1")
		}
		if !ok || e.Repair != want || !gjson.GetBytes(host.Sent, tt.path).Exists() {
			t.Errorf("%s: %v, want the repair %q", tt.refusal, reply.Err, want)
			continue
		}
		if one.Repairs = []provider.Repair{want}; tt.member != "" && sent(t, &one).Get(tt.path).Exists() {
			t.Errorf("%s: the member is sent again", tt.member)
		}
	}
}

func TestModels(t *testing.T) {
	api, _ := simulated(t)
	list, err := api.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, m := range list {
		ids[m.ID] = true
	}
	for id, want := range map[string]bool{"amazon.nova-2-lite-v1:0": true, "us.amazon.nova-2-lite-v1:0": true, "us.anthropic.claude-3-7-sonnet-20250219-v1:0": true, "anthropic.claude-3-7-sonnet-20250219-v1:0": false} {
		if ids[id] != want {
			t.Errorf("%s is listed: %t", id, ids[id])
		}
	}
}

// TestNovaMasked reads an answer of Nova that came whole, in the form of Amazon's documents: the mark is no thinking to show, and goes back as it
// came.
func TestNovaMasked(t *testing.T) {
	const answer = `{"metrics":{"latencyMs":751},"output":{"message":{"content":[{"reasoningContent":{"reasoningText":{"text":"[REDACTED]"}}},{"text":"1993."}],"role":"assistant"}},` +
		`"stopReason":"end_turn","usage":{"inputTokens":389,"outputTokens":92,"serverToolUsage":{},"totalTokens":481}}`
	req := provider.Request{Model: model("us.amazon.nova-2-lite-v1:0"), Messages: []provider.Message{providertest.User("What year?")}}
	reply := providertest.Check(t, at(canned(answer)).Stream(t.Context(), &req))
	if reply.Err != nil || len(reply.Blocks) != 2 {
		t.Fatalf("%+v", reply)
	}
	b, ok := reply.Blocks[0].(provider.Thinking)
	if !ok || b.Kind != provider.ThinkingRedacted || b.Text != "" || !b.Signed {
		t.Errorf("the reasoning is %+v", reply.Blocks[0])
	}
	req.Messages = append(req.Messages, provider.Message{Role: provider.Assistant, Blocks: reply.Blocks}, providertest.User("And?"))
	if got, want := sent(t, &req).Get("messages.1.content.0").Raw, `{"reasoningContent":{"reasoningText":{"text":"[REDACTED]"}}}`; got != want {
		t.Errorf("it goes back as %s, want %s", got, want)
	}
}

// canned answers each request with one JSON value.
type canned string

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(c)))}, nil
}
