package chat_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/chat"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/providertest"
)

// What each dialect puts on the wire, written by hand from the hosts' documents.
func TestWire(t *testing.T) {
	budget := func(n int) provider.Control { return provider.Control{Mode: provider.ModeBudget, Budget: n} }
	e := effortOf
	tests := []struct {
		dialect, model string
		control        provider.Control
		want           string // a word with blanks is an error's
	}{
		{"openai", "gpt-5.5", e(provider.XHigh), `{"reasoning_effort":"xhigh"}`},
		{"openai", "gpt-5.5", modeOff, `{"reasoning_effort":"none"}`},
		{"openai", "gpt-5.5", modeOmit, `{}`},
		{"deepseek", "deepseek-v4-pro", e(provider.Low), `{"thinking":{"type":"enabled"},"reasoning_effort":"low"}`},
		{"deepseek", "deepseek-v4-pro", e(provider.Medium), `{"thinking":{"type":"enabled"},"reasoning_effort":"high"}`},
		{"deepseek", "deepseek-v4-pro", e(provider.XHigh), `{"thinking":{"type":"enabled"},"reasoning_effort":"high"}`},
		{"deepseek", "deepseek-v4-pro", e(provider.Max), `{"thinking":{"type":"enabled"},"reasoning_effort":"max"}`},
		{"deepseek", "deepseek-v4-pro", modeOn, `{"thinking":{"type":"enabled"}}`},
		{"deepseek", "deepseek-v4-pro", modeOff, `{"thinking":{"type":"disabled"}}`},
		{"dashscope", "qwen-plus", budget(4096), `{"enable_thinking":true,"thinking_budget":4096}`},
		{"dashscope", "qwen-plus", modeOff, `{"enable_thinking":false}`},
		{"dashscope", "qwen3.7-plus", budget(16384), `{"enable_thinking":true,"thinking_budget":16384,"preserve_thinking":true}`},
		{"dashscope", "qwen3.8-max", e(provider.High), `{"enable_thinking":true,"reasoning_effort":"high"}`},
		{"dashscope", "qwen-plus", e(provider.High), `{"enable_thinking":true}`},
		{"dashscope", "qwq-plus", modeOff, "cannot be off"},
		{"openrouter", "anthropic/claude-sonnet-5", e(provider.High), `{"reasoning":{"effort":"high","enabled":true},"provider":{"require_parameters":true}}`},
		{"openrouter", "qwen/qwen3.7", budget(2000), `{"reasoning":{"max_tokens":2000,"enabled":true},"provider":{"require_parameters":true}}`},
		{"openrouter", "qwen/qwen3.7", provider.Control{Mode: provider.ModeBudget, Budget: 2000, Effort: provider.Low}, `{"reasoning":{"max_tokens":2000,"enabled":true},"provider":{"require_parameters":true}}`},
		{"openrouter", "anthropic/claude-sonnet-5", modeOff, `{"reasoning":{"enabled":false}}`},
		{"kimi", "kimi-k3", e(provider.Max), `{"reasoning_effort":"max"}`},
		{"kimi", "kimi-k3", modeOff, "cannot be off"},
		{"kimi", "kimi-k2.6", modeOn, `{"thinking":{"type":"enabled","keep":"all"}}`},
		{"kimi", "kimi-k2.6", modeOff, `{"thinking":{"type":"disabled"}}`},
		{"kimi", "kimi-k2.5", modeOn, `{"thinking":{"type":"enabled"}}`},
		{"kimi", "kimi-k2.7-code-highspeed", modeOmit, `{"thinking":{"type":"enabled","keep":"all"}}`},
		{"kimi", "kimi-k2-thinking", modeOn, `{}`},
		{"zai", "glm-4.7", modeOn, `{"thinking":{"type":"enabled","clear_thinking":false}}`},
		{"zai", "glm-4.7", e(provider.High), `{"thinking":{"type":"enabled","clear_thinking":false}}`},
		{"zai", "glm-5.2", e(provider.Max), `{"thinking":{"type":"enabled","clear_thinking":false},"reasoning_effort":"max"}`},
		{"zai", "glm-5.2", modeOff, `{"thinking":{"type":"disabled"}}`},
		{"zai", "glm-5.3", e(provider.Low), `{"thinking":{"type":"enabled","clear_thinking":false},"reasoning_effort":"low"}`},
		{"zai", "GLM-5.3", modeOff, "cannot be off"},
		{"minimax", "MiniMax-M3", modeOn, `{"thinking":{"type":"adaptive"},"reasoning_split":true}`},
		{"minimax", "MiniMax-M3", modeOff, `{"thinking":{"type":"disabled"},"reasoning_split":true}`},
		{"minimax", "MiniMax-M3.1-Flash", e(provider.Max), `{"reasoning_effort":"max","reasoning_split":true}`},
		{"minimax", "MiniMax-M3.1-Flash", modeOff, "cannot be off"},
		{"minimax", "MiniMax-M2.1", modeOmit, `{"reasoning_split":true}`},
		{"xai", "grok-4.3", e(provider.High), `{"reasoning_effort":"high"}`},
		{"xai", "grok-4.3", modeOff, `{"reasoning_effort":"none"}`},
		{"xai", "grok-4.5", modeOff, "cannot be off"},
		{"xai", "grok-4.20-0309-reasoning", modeOmit, `{}`},
		{"groq", "qwen/qwen3-32b", modeOn, `{"reasoning_effort":"default","reasoning_format":"parsed"}`},
		{"groq", "qwen/qwen3-32b", modeOff, `{"reasoning_effort":"none","reasoning_format":"parsed"}`},
		{"groq", "openai/gpt-oss-120b", e(provider.High), `{"reasoning_effort":"high","include_reasoning":true}`},
		{"groq", "openai/gpt-oss-120b", modeOff, "cannot be off"},
		{"mistral", "mistral-medium-3-5", e(provider.Low), `{"reasoning_effort":"high"}`},
		{"mistral", "mistral-large-4-0", e(provider.Low), `{"reasoning_effort":"low"}`},
		{"mistral", "mistral-large-4-0", modeOff, `{"reasoning_effort":"none"}`},
		{"mistral", "magistral-medium-latest", modeOmit, `{"prompt_mode":"reasoning"}`},
		{"copilot", "claude-sonnet-5", e(provider.Max), `{"reasoning_effort":"max"}`},
		{"copilot", "claude-sonnet-5", modeOff, `{}`},
		{"copilot", "gpt-5.5", modeOff, `{"reasoning_effort":"none"}`},
		{"copilot", "claude-sonnet-4.5", budget(9000), `{"thinking_budget":9000}`},
		{"llamacpp", "qwen3.gguf", budget(9000), `{"chat_template_kwargs":{"enable_thinking":true},"reasoning_budget_tokens":9000}`},
		{"sglang", "default", budget(9000), `{"chat_template_kwargs":{"enable_thinking":true,"thinking":true,"thinking_budget":9000},"separate_reasoning":true,"stream_reasoning":true}`},
		{"gemini", "gemini-3.8-flash", e(provider.Low), `{"reasoning_effort":"low","extra_body":{"google":{"thinking_config":{"include_thoughts":true}}}}`},
		{"gemini", "gemini-3.8-flash", e(provider.Max), `{"reasoning_effort":"high","extra_body":{"google":{"thinking_config":{"include_thoughts":true}}}}`},
		{"gemini", "gemini-2.5-flash", modeOff, `{"reasoning_effort":"none","extra_body":{"google":{"thinking_config":{"include_thoughts":true}}}}`},
		{"ollama-v1", "qwen3.5:9b", modeOn, `{"reasoning_effort":"medium"}`},
		{"ollama-v1", "gpt-oss:20b", e(provider.High), `{"reasoning_effort":"high"}`},
		{"ollama-v1", "qwen3.5:9b", modeOff, `{"reasoning_effort":"none"}`},
		{"vllm", "Qwen/Qwen3.6-27B", e(provider.Low), `{"reasoning_effort":"low","chat_template_kwargs":{"enable_thinking":true,"thinking":true}}`},
		{"vllm", "Qwen/Qwen3.6-27B", budget(800), `{"thinking_token_budget":800,"chat_template_kwargs":{"enable_thinking":true,"thinking":true}}`},
		{"vllm", "Qwen/Qwen3.6-27B", modeOff, `{"chat_template_kwargs":{"enable_thinking":false,"thinking":false}}`},
		{"sglang", "default", e(provider.High), `{"reasoning_effort":"high","separate_reasoning":true,"stream_reasoning":true,"chat_template_kwargs":{"enable_thinking":true,"thinking":true}}`},
		{"sglang", "default", modeOff, `{"reasoning_effort":"none","separate_reasoning":true,"stream_reasoning":true,"chat_template_kwargs":{"enable_thinking":false,"thinking":false}}`},
		{"llamacpp", "qwen3.gguf", modeOn, `{"chat_template_kwargs":{"enable_thinking":true}}`},
		{"llamacpp", "qwen3.gguf", modeOff, `{"chat_template_kwargs":{"enable_thinking":false}}`},
		{"lmstudio", "qwen3", e(provider.Minimal), `{"reasoning_effort":"low"}`},
		{"lmstudio", "qwen3", e(provider.Max), `{"reasoning_effort":"xhigh"}`},
		{"lmstudio", "qwen3", modeOff, `{"reasoning_effort":"none"}`},
		{"generic", "anything", e(provider.Minimal), `{"reasoning_effort":"minimal"}`},
		{"generic", "anything", modeOff, `{"reasoning_effort":"none"}`},
		{"generic", "anything", budget(5), "no budget"},
		{"cloud", "openai/gpt-oss-120b-maas", modeOn, `{}`},
		{"cloud", "openai/gpt-oss-120b-maas", modeOmit, `{}`},
		{"cloud", "openai/gpt-oss-120b-maas", modeOff, "cannot be off"},
		{"cloud-mistral", "mistral-medium-3", modeOmit, `{}`},
		{"litellm", "anything", e(provider.Minimal), `{"reasoning_effort":"minimal"}`},
		{"generic", "anything", provider.Control{Mode: "wish"}, "unknown mode"},
	}
	// On without a degree leaves the degree to the host where the model has some.
	for dialect, want := range map[string]string{"mistral": `{}`, "lmstudio": `{}`, "deepseek": `{"thinking":{"type":"enabled"}}`} {
		row := provider.Model{ID: "m", Known: true, Thinking: provider.Capability{Control: provider.ControlEffort}}
		got, err := newAPI(t, dialect, nil).Wire(&provider.Request{Model: row, Decision: provider.Decision{Control: modeOn}})
		if diff := providertest.DiffJSON([]byte(want), got); err != nil || diff != "" {
			t.Errorf("%s, on without a degree: %v (-want +got):\n%s", dialect, err, diff)
		}
	}
	tried := map[string]bool{}
	for _, test := range tests {
		tried[test.dialect] = true
		row := provider.Model{ID: test.model, Known: true, Thinking: provider.Capability{Control: provider.ControlEffort}}
		if test.control.Mode == provider.ModeOn {
			row.Thinking.Control = provider.ControlToggle
		}
		got, err := newAPI(t, test.dialect, nil).Wire(&provider.Request{Model: row, Decision: provider.Decision{Control: test.control}})
		name := test.dialect + " " + test.model + " " + string(test.control.Mode) + " " + string(test.control.Effort)
		if !strings.HasPrefix(test.want, "{") {
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %s, error %v, want one with %q", name, got, err, test.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := providertest.DiffJSON([]byte(test.want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	ids, err := chat.Dialects()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if !tried[id] {
			t.Errorf("dialect %s has no line", id)
		}
		// Requests to a model without thinking, or to an unknown model, have no parameter for thinking.
		for _, row := range []provider.Model{{ID: "m", Known: true, Thinking: provider.Capability{Control: provider.ControlNone}}, {ID: "m"}} {
			got, err := newAPI(t, id, nil).Wire(&provider.Request{Model: row, Decision: provider.Decision{Control: modeOmit}})
			if err != nil || string(got) != "{}" {
				t.Errorf("%s, known %v: %s, error %v, want {}", id, row.Known, got, err)
			}
		}
	}
}

// answering answers each request in turn with a status and a body, and keeps what was sent.
type answering struct {
	answers []answer
	sent    [][]byte
}

type answer struct {
	status int
	body   string
}

func (a *answering) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	next := a.answers[min(len(a.sent), len(a.answers)-1)]
	a.sent = append(a.sent, body)
	kind := "application/json"
	if strings.HasPrefix(next.body, "data:") {
		kind = "text/event-stream"
	}
	return &http.Response{StatusCode: next.status, Request: req, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(bytes.NewReader([]byte(next.body)))}, nil
}

const fine = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

// A refused request is repaired once. The error names the repair, the same request with the repair differs from the first one, and
// the error of a second refusal names no repair.
func TestRepairs(t *testing.T) {
	sealed := provider.State{Origin: provider.Origin{API: "chat", Vendor: "openrouter", Model: "anthropic/claude"},
		Data: json.RawMessage(`{"reasoning_details":[{"type":"reasoning.text","text":"T.","signature":"c2ln","format":"anthropic-claude-v1","index":0}]}`)}
	turns := []provider.Message{
		providertest.User("One"),
		{Role: provider.Assistant, Blocks: provider.Blocks{provider.Thinking{Text: "T.", Kind: provider.ThinkingFull, Signed: true, State: sealed}, provider.Text{Text: "a"}}},
		providertest.User("Two"),
	}
	tests := []struct {
		name, dialect, refusal string
		request                provider.Request
		repair                 provider.Repair
		before, after          string // a path that the repair takes from the body, and one that it puts there
	}{
		{"missing thinking", "generic", `{"error":{"message":"The reasoning_content in the thinking mode must be passed back to the API."}}`,
			provider.Request{Messages: turns}, chat.PlaceholderReasoning, "", "messages.1.reasoning_content"},
		{"signature", "openrouter", `{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"messages.1.content.0: Invalid ` + "`signature`" + ` in thinking block"}}}`,
			provider.Request{Messages: turns}, chat.StripOpaque, "messages.1.reasoning_details", "messages.1.content"},
		{"stream options", "generic", `{"error":{"message":"Unrecognized request argument supplied: stream_options"}}`,
			provider.Request{Messages: turns}, chat.NoStreamOptions, "stream_options", "stream"},
		{"limit", "generic", `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","code":"unsupported_parameter"}}`,
			provider.Request{Messages: turns, Options: provider.Options{MaxOutput: 10}}, chat.OtherMaxTokens, "max_tokens", "max_completion_tokens"},
		{"streamed tools", "generic", `{"error":{"message":"Streaming is not supported together with tools"}}`,
			provider.Request{Messages: turns, Tools: readTool}, chat.NotStreamed, "stream_options", "tools"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			host := &answering{answers: []answer{{400, test.refusal}, {200, fine}, {400, test.refusal}}}
			api := newAPI(t, test.dialect, host)
			test.request.Model = provider.Model{ID: "anthropic/claude"}
			ask := func(repairs ...provider.Repair) providertest.Reply {
				req := test.request
				req.Repairs = repairs
				return providertest.Check(t, api.Stream(t.Context(), &req))
			}
			e, ok := errors.AsType[*provider.Error](ask().Err)
			if !ok || e.Repair != test.repair || e.Kind != provider.KindBadRequest {
				t.Fatalf("error %v with repair %q, want %q", e, e.Repair, test.repair)
			}
			if reply := ask(e.Repair); reply.Err != nil {
				t.Fatal(reply.Err)
			}
			if test.before != "" && (!gjson.GetBytes(host.sent[0], test.before).Exists() || gjson.GetBytes(host.sent[1], test.before).Exists()) {
				t.Errorf("%s is not taken away:\n%s\n%s", test.before, host.sent[0], host.sent[1])
			}
			if !gjson.GetBytes(host.sent[1], test.after).Exists() {
				t.Errorf("%s is not there: %s", test.after, host.sent[1])
			}
			if e, ok := errors.AsType[*provider.Error](ask(e.Repair).Err); !ok || e.Repair != "" {
				t.Errorf("a second refusal: %v with repair %q, want none", e, e.Repair)
			}
		})
	}
}

// Errors in the hosts' words and forms, by status.
func TestRefusals(t *testing.T) {
	tests := []struct {
		dialect, body string
		status        int
		kind          provider.Kind
		says          string
	}{
		{"deepseek", `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`, 402, provider.KindQuota, "Insufficient"},
		{"openrouter", `{"error":{"code":429,"message":"Provider returned error","metadata":{"raw":"slow down","provider_name":"X"}}}`, 429, provider.KindRateLimit, "slow down"},
		{"openai", `{"error":{"message":"This model's maximum context length is 10 tokens","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, 400, provider.KindTooLong, "maximum"},
		{"llamacpp", `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_ctx":4096}}`, 400, provider.KindTooLong, "context"},
		{"llamacpp", `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, 503, provider.KindOverloaded, "Loading"},
		{"copilot", `{"error":{"message":"prompt token count exceeds","code":"model_max_prompt_tokens_exceeded"}}`, 400, provider.KindTooLong, "prompt"},
		{"copilot", "unauthorized: token expired\n", 401, provider.KindAuth, "token expired"},
		{"mistral", `{"detail":[{"type":"extra_forbidden","loc":["body","x"],"msg":"Extra inputs are not permitted"}]}`, 422, provider.KindBadRequest, "Extra inputs"},
		{"openai", `{"error":{"message":"filtered","code":"content_filter","status":400}}`, 400, provider.KindRefused, "filtered"},
		{"xai", `{"code":"Client specified an invalid argument","error":"Model grok-4.5 does not support"}`, 400, provider.KindBadRequest, "grok-4.5"},
		{"deepseek", `{"error":{"message":"k","code":"x"}}`, 200, provider.KindTransport, "k"},
		{"dashscope", `{"code":"InvalidParameter","message":"wrong","request_id":"r1"}`, 200, provider.KindBadRequest, "wrong"},
		{"generic", `{"hello":"world"}`, 200, provider.KindBadRequest, "no completion"},
		{"generic", `"text"`, 200, provider.KindBadRequest, "no completion"},
		{"generic", `<html></html>`, 200, provider.KindBadRequest, "HTML"},
		{"generic", `{"choices":[]}`, 200, provider.KindBadRequest, "no completion"},
		{"deepseek", "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"insufficient_system_resource\"}]}\n\ndata: [DONE]\n\n", 200, provider.KindOverloaded, "broke"},
		{"openrouter", "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\"}]}\n\ndata: [DONE]\n\n", 200, provider.KindTransport, "broke"},
		{"openrouter", "data: {\"error\":{\"code\":502,\"message\":\"upstream died\"},\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\"}]}\n\n", 200, provider.KindTransport, "upstream died"},
		{"generic", "data: not JSON\n\n", 200, provider.KindBadRequest, "not JSON"},
	}
	for _, test := range tests {
		host := &answering{answers: []answer{{test.status, test.body}}}
		reply := providertest.Check(t, newAPI(t, test.dialect, host).Stream(t.Context(), &provider.Request{Model: provider.Model{ID: "m"}, Messages: []provider.Message{providertest.User("Hi")}}))
		e, ok := errors.AsType[*provider.Error](reply.Err)
		if !ok || e.Kind != test.kind || !strings.Contains(e.Error(), test.says) {
			t.Errorf("%s %s: error %v, want one of kind %s with %q", test.dialect, test.body, reply.Err, test.kind, test.says)
		}
	}
}

// A dialect that cannot stream with tools asks for the whole answer, and says that its deltas are made up.
func TestNotStreamedWithTools(t *testing.T) {
	dialect, err := chat.ParseDialect([]byte(strings.Replace(record, `"force_stream":false`, `"no_stream_tools":true`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	host := &answering{answers: []answer{{200, `{"choices":[{"index":0,"finish_reason":"stop","message":{"content":"ok"}}]}`}}}
	api := chat.New(exchange.Config{Provider: "example", BaseURL: "http://localhost/v1", Client: exchange.NewClient(host)}, dialect)
	reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: provider.Model{ID: "m"}, Messages: []provider.Message{providertest.User("Hi")}, Tools: readTool}))
	if reply.Err != nil || len(reply.Notices) != 1 || reply.Notices[0].Kind != provider.NoticeNonStreaming {
		t.Errorf("error %v, notices %+v", reply.Err, reply.Notices)
	}
	if body := gjson.ParseBytes(host.sent[0]); body.Get("stream").Bool() || body.Get("stream_options").Exists() {
		t.Errorf("sent %s", body)
	}
}

// A prompt that opens the thinking is learnt from the first answer: the second is read right from its start.
func TestOpenedByPrompt(t *testing.T) {
	stream := "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Let me</think>Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	skipped := "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"No need.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	host := &answering{answers: []answer{{200, stream}, {200, stream}, {200, skipped}}}
	api := newAPI(t, "generic", host)
	for i, want := range []string{"text:Let me text:Hi", "thinking:Let me text:Hi", "thinking:No need. text:No need."} {
		reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: provider.Model{ID: "m"}, Messages: []provider.Message{providertest.User("Hi")}}))
		var got []string
		for _, b := range reply.Blocks {
			switch b := b.(type) {
			case provider.Text:
				got = append(got, "text:"+b.Text)
			case provider.Thinking:
				got = append(got, "thinking:"+b.Text)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("answer %d: %s, want %s", i, strings.Join(got, " "), want)
		}
	}
}

// The first call of a step without anything of the host's own gets what the host documents in its place.
func TestCallPlaceholder(t *testing.T) {
	host := &answering{answers: []answer{{200, fine}}}
	call := func(id string) provider.ToolCall {
		return provider.ToolCall{ID: id, Name: "read", Input: json.RawMessage(`{}`)}
	}
	result := func(id string) provider.ToolResult {
		return provider.ToolResult{CallID: id, Blocks: provider.Blocks{provider.Text{Text: "x"}}}
	}
	req := &provider.Request{Model: provider.Model{ID: "gemini-3.8-flash"}, Messages: []provider.Message{
		providertest.User("One"), {Role: provider.Assistant, Blocks: provider.Blocks{call("a")}}, {Role: provider.User, Blocks: provider.Blocks{result("a")}},
		providertest.User("Two"), {Role: provider.Assistant, Blocks: provider.Blocks{call("b"), call("c")}}, {Role: provider.User, Blocks: provider.Blocks{result("c"), result("b")}},
	}}
	if reply := providertest.Check(t, newAPI(t, "gemini", host).Stream(t.Context(), req)); reply.Err != nil {
		t.Fatal(reply.Err)
	}
	messages := gjson.GetBytes(host.sent[0], "messages")
	const at = ".extra_content.google.thought_signature"
	for path, want := range map[string]string{"1.tool_calls.0": "", "4.tool_calls.0": "skip_thought_signature_validator", "4.tool_calls.1": ""} {
		if got := messages.Get(path + at).Str; got != want {
			t.Errorf("%s: signature %q, want %q", path, got, want)
		}
	}
	if order := messages.Get("5.tool_call_id").Str + messages.Get("6.tool_call_id").Str; order != "bc" {
		t.Errorf("results in the order %s, want that of the calls", order)
	}
}

// Without a key there is no call. No error contains any part of the key.
func TestNoKey(t *testing.T) {
	api := chat.New(exchange.Config{Provider: "deepseek", BaseURL: "https://api.deepseek.com", KeyVar: "DEEPSEEK_API_KEY"}, named(t, "deepseek"))
	reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: provider.Model{ID: "m"}}))
	e, ok := errors.AsType[*provider.Error](reply.Err)
	if !ok || e.Kind != provider.KindAuth || !strings.Contains(e.Error(), "DEEPSEEK_API_KEY") {
		t.Errorf("error %v", reply.Err)
	}
}

func BenchmarkStream(b *testing.B) {
	var stream strings.Builder
	for range 2000 {
		stream.WriteString("data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"deepseek-v4-pro\",\"system_fingerprint\":\"fp\",\"choices\":[{\"index\":0,\"delta\":{\"content\":null,\"reasoning_content\":\" some words\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n")
	}
	stream.WriteString(fine)
	api := newAPI(b, "deepseek", &answering{answers: []answer{{200, stream.String()}}})
	for b.Loop() {
		for _, err := range api.Stream(b.Context(), &provider.Request{Model: provider.Model{ID: "m"}, Messages: []provider.Message{providertest.User("Hi")}}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2000, "ns/delta")
}
