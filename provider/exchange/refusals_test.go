package exchange_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/sim"
	_ "github.com/thinkd/thinkd/provider/sim/faces"
	"github.com/thinkd/thinkd/provider/vendors"
)

// Ways to deal with a refusal.
const (
	impossible = "impossible" // the shape is never sent, and the simulator refuses it: By names the entry of breaches
	repaired   = "repaired"   // By: the adapter's repair, or lower, compact, retry
	reported   = "reported"   // the right kind of error; the session goes on with the next prompt
)

// refusalRow is a line of testdata/refusals.jsonl: a refusal that users of agents met, in the vendor's words.
type refusalRow struct {
	ID          string           `json:"id"`
	API         string           `json:"api"`
	Host        string           `json:"host"` // the dialect that is spoken to the host
	Status      int              `json:"status"`
	Body        string           `json:"body"`
	Class       string           `json:"class"`
	Kind        string           `json:"kind"` // of the error; of an answer of 200: stop:REASON, error:KIND, empty, any
	Subject     provider.Subject `json:"subject"`
	Disposition string           `json:"disposition"`
	By          string           `json:"by"`
	Note        string           `json:"note"`
}

func refusalRows(t *testing.T) (rows []refusalRow) {
	f, err := os.Open("testdata/refusals.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		dec := json.NewDecoder(strings.NewReader(lines.Text()))
		dec.DisallowUnknownFields()
		var r refusalRow
		if err := dec.Decode(&r); err != nil {
			t.Fatalf("line %d: %v", len(rows)+1, err)
		}
		rows = append(rows, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// refuser refuses the configured number of requests, then answers normally. It keeps all requests.
type refuser struct {
	row  refusalRow
	left int
	sent []string
	head []http.Header
}

// wellDone is an answer of each API.
var wellDone = map[string]string{
	"messages": "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"Hi\"}}\n\n" +
		"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":1}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
	"chat": "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":null}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
}

func (r *refuser) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.sent, r.head = append(r.sent, string(body)), append(r.head, req.Header)
	status, text := r.row.Status, r.row.Body
	if r.left--; r.left < 0 {
		status, text = 200, wellDone[r.row.API]
	}
	head := http.Header{}
	switch {
	case strings.HasPrefix(text, "data:"), strings.HasPrefix(text, "event:"):
		head.Set("Content-Type", "text/event-stream")
	case status == 200 && r.row.API == "ollama":
		head.Set("Content-Type", "application/x-ndjson")
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "["):
		head.Set("Content-Type", "application/json")
	}
	return &http.Response{StatusCode: status, Request: req, Header: head, Body: io.NopCloser(strings.NewReader(text))}, nil
}

func (r *refuser) adapter(t *testing.T) provider.Provider {
	cfg := exchange.Config{Provider: "p", Vendor: cmp.Or(map[string]string{"messages": "anthropic", "responses": "openai"}[r.row.API], r.row.API),
		BaseURL: "https://host.test", Key: provider.NewSecret("key-0123456789"), Account: "acc", Client: &http.Client{Transport: r}}
	if r.row.API == "messages" {
		cfg.Headers = map[string]string{"anthropic-beta": "context-1m-2025-08-07,context-management-2025-06-27"}
		cfg.Context = json.RawMessage(`{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}`)
	}
	api, ok := vendors.APINamed(r.row.API)
	if !ok {
		t.Fatalf("no API is named %q", r.row.API)
	}
	adapter, err := api.New(cfg, r.row.Host, nil)
	if err != nil {
		t.Fatal(err)
	}
	return adapter
}

// request has something of all that a refusal may be about: an image, thinking with its state, a call and its result, a
// tool, an effort, sampling.
func (r *refuser) request() *provider.Request {
	vendor := map[string]string{"messages": "anthropic", "responses": "openai", "gemini": "google", "ollama": "ollama"}[r.row.API]
	made := cmp.Or(map[string]string{"converse": "anthropic.m"}[r.row.API], "m") // whose rules apply
	state := func(data string) provider.State {
		return provider.State{Origin: provider.Origin{API: r.row.API, Vendor: cmp.Or(vendor, r.row.Host), Host: "host.test", Account: "acc", Model: made}, Data: json.RawMessage(data)}
	}
	thought := map[string]string{
		"messages":  `{"type":"thinking","thinking":"T.","signature":"c2ln"}`,
		"responses": `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}`,
		"cohere":    `{"thinking":"T."}`,
		"converse":  `{"reasoningContent":{"reasoningText":{"text":"T.","signature":"c2ln"}}}`,
		"chat":      `{"reasoning_details":[{"type":"reasoning.text","text":"T.","signature":"c2ln","format":"anthropic-claude-v1","index":0}]}`,
	}[r.row.API]
	called := map[string]string{
		"messages":  `{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"a"},"caller":{"type":"direct"}}`,
		"responses": `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"read","arguments":"{\"path\":\"a\"}"}`,
		"gemini":    `[{"functionCall":{"name":"read","args":{"path":"a"}},"thoughtSignature":"c2ln"}]`,
	}[r.row.API]
	call := provider.ToolCall{ID: "call_1", Name: "read", Input: json.RawMessage(`{"path":"a"}`)}
	if called != "" {
		call.State = state(called)
	}
	answer := provider.Blocks{provider.Text{Text: "Reading."}, call}
	if r.row.API == "responses" {
		answer = provider.Blocks{call} // directly behind its reasoning
	}
	if r.row.Host == "lmstudio" {
		thought = `{"reasoning_content":"T."}`
	}
	if thought != "" {
		answer = append(provider.Blocks{provider.Thinking{Text: "T.", Kind: provider.ThinkingFull, Signed: true, State: state(thought)}}, answer...)
	}
	temperature := 0.5
	req := &provider.Request{
		Model:  provider.Model{Provider: "p", ID: "m", As: made, Known: true, Window: 100_000, MaxOutput: 64_000, Tools: true, Thinking: provider.Capability{Control: provider.ControlEffort, Levels: []provider.Level{provider.Off, provider.Low, provider.High, provider.XHigh}, Default: provider.High, Off: provider.OffFull, Display: []provider.Display{provider.Summarized}}},
		System: "Be brief.", Input: 50_000, Options: provider.Options{Temperature: &temperature},
		Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeEffort, Effort: provider.High, Display: provider.Summarized}},
		Tools:    []provider.Tool{{Name: "read", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}},
		Messages: []provider.Message{
			{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "Look."}, provider.Media{Type: "image/png", Data: []byte("\x89PNG\r\n\x1a\n0")}}},
			{Role: provider.Assistant, Blocks: answer},
			{Role: provider.User, Blocks: provider.Blocks{provider.ToolResult{CallID: "call_1", Blocks: provider.Blocks{provider.Text{Text: "package a"}}}}},
		},
	}
	switch {
	case r.row.By == "converse/apart@m":
		last := &req.Messages[len(req.Messages)-1]
		last.Blocks = append(last.Blocks, provider.Text{Text: "Go on."})
	case r.row.By == "converse/plain_names":
		req.Tools[0].Name = "read-file"
	case r.row.By == "converse/adaptive@m":
		req.Decision.Control = provider.Control{Mode: provider.ModeBudget, Budget: 4096}
	case r.row.By == "chat/strip_opaque":
		req.Messages = append(req.Messages, provider.Message{Role: provider.Assistant, Blocks: provider.Blocks{provider.Text{Text: "Read."}}},
			provider.Message{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "And?"}}})
	case r.row.By == "messages/without:top_p@m":
		req.Options.TopP = &temperature
	case r.row.By == "messages/adaptive:m":
		req.Decision.Control = provider.Control{Mode: provider.ModeBudget, Budget: 4096}
	case r.row.ID == "provider-400-before-window":
		req.Input = 95_000
	}
	if strings.Contains(r.row.By, "reasoning_effort") && r.row.Host == "kimi" {
		req.Decision.Control.Mode = provider.ModeOn
	}
	return req
}

// TestRefusalTable walks through every refusal of the wire APIs that was met in the wild. Each is impossible, repaired or
// reported; none is an unknown 400.
func TestRefusalTable(t *testing.T) {
	rows := refusalRows(t)
	seen := map[string]bool{}
	counts := map[string]int{}
	for _, row := range rows {
		if seen[row.ID] {
			t.Errorf("%s is there twice", row.ID)
		}
		seen[row.ID] = true
		counts[row.Disposition]++
		t.Run(row.ID, func(t *testing.T) {
			r := &refuser{row: row, left: 100}
			api := r.adapter(t)
			switch row.Disposition {
			case impossible:
				if rule, ok := breaches[row.By]; row.By != "" && !ok {
					t.Errorf("there is no breach %q", row.By)
				} else if row.By == "" && row.Note == "" {
					t.Error("nothing says why it is impossible")
				} else if ok {
					rule.try(t)
				}
			case repaired:
				if row.By == "" {
					t.Error("nothing says what repairs it")
				}
			case reported:
			default:
				t.Fatalf("disposition %q", row.Disposition)
			}
			if row.By == "lower" {
				r.lowered(t, api)
				return
			}
			reply := providertest.Check(t, api.Stream(t.Context(), r.request()))
			if row.Status == 200 {
				r.judge(t, reply)
				return
			}
			e, ok := errors.AsType[*provider.Error](reply.Err)
			if !ok {
				t.Fatalf("error %v", reply.Err)
			}
			if row.Kind == string(provider.KindBadRequest) && row.By == "compact" {
				row.Kind, row.Subject = string(provider.KindTooLong), provider.SubjectSize // by the length of the request
			}
			if string(e.Kind) != row.Kind || e.Subject != row.Subject {
				t.Errorf("kind %s, subject %q; want %s, %q: %v", e.Kind, e.Subject, row.Kind, row.Subject, e)
			}
			if row.Body != "" && e.Message == "" || strings.HasPrefix(e.Message, "{") {
				t.Errorf("message %q", e.Message)
			}
			switch {
			case row.Disposition == reported && e.Repair != "":
				t.Errorf("repair %s, want none", e.Repair)
			case row.Disposition != repaired:
			case row.By == "compact":
				if e.Kind != provider.KindTooLong {
					t.Error("nothing is compacted for it")
				}
			case row.By == "retry":
				if e.Hint != provider.HintRetry && !e.Passing() {
					t.Error("it is not tried again")
				}
			case !strings.HasPrefix(string(e.Repair), row.By):
				t.Errorf("repair %q, want %q: %v", e.Repair, row.By, e)
			default:
				again := r.request()
				again.Repairs = []provider.Repair{e.Repair}
				second, ok := errors.AsType[*provider.Error](providertest.Check(t, api.Stream(t.Context(), again)).Err)
				if !ok || second.Repair == e.Repair {
					t.Errorf("the second refusal is %v with repair %q", second, second.Repair)
				}
				last := len(r.sent) - 1
				if r.sent[0] == r.sent[last] && r.head[0].Get("Anthropic-Beta") == r.head[last].Get("Anthropic-Beta") {
					t.Errorf("the repair changes nothing: %s", r.sent[last])
				}
			}
		})
	}
	if len(rows) != 226 {
		t.Errorf("%d refusals, want 226", len(rows))
	}
	t.Logf("%d impossible, %d repaired, %d reported", counts[impossible], counts[repaired], counts[reported])
}

// lowered expects a second request with a lower limit on output, which goes well.
func (r *refuser) lowered(t *testing.T, api provider.Provider) {
	r.left = 1
	reply := providertest.Check(t, api.Stream(t.Context(), r.request()))
	if reply.Err != nil || len(r.sent) != 2 {
		t.Fatalf("after %d requests: %v", len(r.sent), reply.Err)
	}
	limit := func(body string) int64 {
		return cmp.Or(gjson.Get(body, "max_tokens").Int(), gjson.Get(body, "max_completion_tokens").Int())
	}
	if first, second := limit(r.sent[0]), limit(r.sent[1]); second >= first || second < 1024 {
		t.Errorf("the limit went from %d to %d", first, second)
	}
	if !slices.ContainsFunc(reply.Notices, func(n provider.Notice) bool { return strings.Contains(n.Text, "limit on output") }) {
		t.Errorf("no notice names the limit: %v", reply.Notices)
	}
	if reply := providertest.Check(t, api.Stream(t.Context(), r.request())); reply.Err != nil {
		t.Error(reply.Err)
	}
	if first, third := limit(r.sent[0]), limit(r.sent[2]); third >= first {
		t.Errorf("the next call has the limit %d again", third)
	}
}

// judge is for answers of 200 that are failures.
func (r *refuser) judge(t *testing.T, reply providertest.Reply) {
	e, _ := errors.AsType[*provider.Error](reply.Err)
	want, detail, _ := strings.Cut(r.row.Kind, ":")
	switch {
	case want == "stop" && (reply.Stop == nil || string(reply.Stop.Reason) != detail):
		t.Errorf("stop %v, error %v; want %s", reply.Stop, reply.Err, r.row.Kind)
	case want == "error" && (e == nil || string(e.Kind) != detail):
		t.Errorf("stop %v, error %v; want %s", reply.Stop, reply.Err, r.row.Kind)
	case want == "empty" && (reply.Stop == nil || string(reply.Stop.Reason) != detail):
		t.Errorf("stop %v, error %v; want %s", reply.Stop, reply.Err, r.row.Kind)
	case want == "empty" && slices.ContainsFunc(reply.Blocks, func(b provider.Block) bool {
		return provider.KindOf(b) != provider.KindThinking
	}):
		t.Errorf("blocks %v, want nothing but thinking", reply.Blocks)
	case !slices.Contains([]string{"stop", "error", "empty"}, want):
		t.Errorf("no ending %q", r.row.Kind)
	case want == "error" && r.row.By == "retry" && !e.Passing():
		t.Errorf("it is not tried again: %v", e)
	}
}

// breach is a request that breaks a rule, and what the simulator says of it.
type breach struct{ path, body, says string }

func (b breach) try(t *testing.T) {
	server := sim.New(sim.Config{})
	req := httptest.NewRequest(http.MethodPost, b.path, strings.NewReader(b.body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer key")
	req.Header.Set("Chatgpt-Account-Id", "acc")
	req.Header.Set("X-Goog-Api-Key", "key")
	req.Header.Set("Editor-Version", "e/1")
	if b.path == "/v1/messages" {
		req.Header.Del("Authorization")
		req.Header.Set("X-Api-Key", "key")
		req.Header.Set("Anthropic-Version", "2023-06-01")
	}
	w := httptest.NewRecorder()
	server.ServeHTTP(w, req)
	if len(server.Refusals()) != 1 || !strings.Contains(strings.ToLower(w.Body.String()), strings.ToLower(b.says)) {
		t.Errorf("the simulator does not refuse it, or not with %q: %d %.600s", b.says, w.Code, w.Body)
	}
}

func messagesBreach(members, says string) breach {
	return breach{"/v1/messages", `{"model":"claude-sonnet-4-5","max_tokens":2000,` + members + `}`, says}
}

func messagesTurns(turns, says string) breach {
	return messagesBreach(`"messages":[`+turns+`]`, says)
}

func chatBreach(host, model, members, says string) breach {
	return breach{"/" + host + "/chat/completions", `{"model":"` + model + `",` + members + `}`, says}
}

func responsesBreach(members, says string) breach {
	return breach{"/v1/responses", `{"model":"gpt-5.5","store":false,` + members + `}`, says}
}

func planBreach(members, says string) breach {
	return breach{"/backend-api/codex/responses", `{"model":"gpt-5.5","input":"hi",` + members + `}`, says}
}

// toolWith declares a tool with one property.
func toolWith(property string) string {
	return `"tools":[{"type":"function","function":{"name":"read","parameters":{"type":"object","properties":{"f":` + property + `}}}}]`
}

const (
	converseAddress = "/model/us.anthropic.claude-opus-4-6-v1/converse"
	converseHi      = `{"role":"user","content":[{"text":"hi"}]}`
	converseDone    = `{"toolResult":{"toolUseId":"a","content":[{"text":"x"}]}}`
)

func converseBreach(turns, says string) breach {
	return breach{converseAddress, `{"toolConfig":{"tools":[{"toolSpec":{"name":"read","inputSchema":{"json":{"type":"object"}}}}]},"messages":[` + turns + `]}`, says}
}

func geminiTool(property, says string) breach {
	return geminiBreach(`"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"read","parametersJsonSchema":{"type":"object","properties":{"f":`+property+`}}}]}]`, says)
}

func geminiBreach(members, says string) breach {
	return breach{"/v1beta/models/gemini-3.8-flash:generateContent", `{` + members + `}`, says}
}

const (
	hi       = `{"role":"user","content":"hi"}`
	toolUse  = `{"type":"tool_use","id":"a","name":"read","input":{}}`
	toolDone = `{"type":"tool_result","tool_use_id":"a","content":"x"}`
	chatUse  = `{"role":"assistant","content":"","tool_calls":[{"id":"aaaaaaaaa","type":"function","function":{"name":"read","arguments":"{}"}}]}`
	picture  = `{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}`
)

// breaches are the shapes that are never sent: the simulator refuses them, and no adapter's test against it is refused.
var breaches = map[string]breach{
	"messages/mark on empty text":       messagesTurns(`{"role":"user","content":[{"type":"text","text":"","cache_control":{"type":"ephemeral"}}]}`, "empty"),
	"messages/ttl order":                messagesBreach(`"tools":[{"name":"read","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]`, "must not come after a ttl='5m'"),
	"messages/mark on thinking":         messagesTurns(hi+`,{"role":"assistant","content":[{"type":"thinking","thinking":"T","signature":"s","cache_control":{"type":"ephemeral"}},{"type":"text","text":"a"}]},`+hi, "thinking.cache_control: Extra inputs"),
	"messages/empty content":            messagesTurns(hi+`,{"role":"assistant","content":[]},`+hi, "non-empty content"),
	"messages/whitespace":               messagesTurns(`{"role":"user","content":"\n\n"}`, "non-whitespace"),
	"messages/lone surrogate":           messagesTurns(`{"role":"user","content":"\ud83d"}`, "surrogate"),
	"messages/member of another block":  messagesTurns(hi+`,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"read","input":{},"text":""}]},{"role":"user","content":[`+toolDone+`]}`, "tool_use.text: Extra inputs"),
	"messages/result twice":             messagesTurns(hi+`,{"role":"assistant","content":[`+toolUse+`]},{"role":"user","content":[`+toolDone+`,`+toolDone+`]}`, "single result"),
	"messages/id twice":                 messagesTurns(hi+`,{"role":"assistant","content":[`+toolUse+`]},{"role":"user","content":[`+toolDone+`]},{"role":"assistant","content":[`+toolUse+`]},{"role":"user","content":[`+toolDone+`]}`, "ids must be unique"),
	"messages/unanswered call":          messagesTurns(hi+`,{"role":"assistant","content":[`+toolUse+`]},`+hi, "without `tool_result` blocks"),
	"messages/small budget":             messagesBreach(`"thinking":{"type":"enabled","budget_tokens":512},"messages":[`+hi+`]`, "greater than or equal to 1024"),
	"messages/budget over max_tokens":   messagesBreach(`"thinking":{"type":"enabled","budget_tokens":8192},"messages":[`+hi+`]`, "must be greater than `thinking.budget_tokens`"),
	"messages/trailing whitespace":      messagesTurns(hi+`,{"role":"assistant","content":"Sure \n"}`, "trailing whitespace"),
	"messages/first message":            messagesTurns(`{"role":"assistant","content":"a"},`+hi, "first message must use"),
	"messages/result of the assistant":  messagesTurns(hi+`,{"role":"assistant","content":[`+toolDone+`]},`+hi, "can only be in `user` messages"),
	"messages/tool name":                messagesBreach(`"tools":[{"name":"a b","input_schema":{"type":"object"}}],"messages":[`+hi+`]`, "should match pattern"),
	"messages/loop without thinking":    messagesBreach(`"thinking":{"type":"enabled","budget_tokens":1024},"messages":[`+hi+`,{"role":"assistant","content":[`+toolUse+`]},{"role":"user","content":[`+toolDone+`]}]`, "Expected `thinking`"),
	"responses/messages member":         responsesBreach(`"input":"hi","messages":[`+hi+`]`, "messages"),
	"responses/long call id":            responsesBreach(`"input":[`+hi+`,{"type":"function_call","call_id":"`+strings.Repeat("c", 116)+`","name":"read","arguments":"{}"},{"type":"function_call_output","call_id":"`+strings.Repeat("c", 116)+`","output":"x"}]`, "string too long"),
	"responses/unknown item":            responsesBreach(`"input":[`+hi+`,{"type":"context_compaction","id":"x"}]`, "context_compaction"),
	"responses/previous_response_id":    responsesBreach(`"input":"hi","previous_response_id":"resp_1"`, "not found"),
	"responses/input_text":              responsesBreach(`"input":[`+hi+`,{"role":"assistant","content":[{"type":"input_text","text":"x"}]},`+hi+`]`, "input_text"),
	"responses/generate_summary":        responsesBreach(`"input":"hi","reasoning":{"generate_summary":"concise"}`, "generate_summary"),
	"responses/orphan output":           responsesBreach(`"input":[`+hi+`,{"type":"function_call_output","call_id":"call_1","output":"x"}]`, "No tool call found"),
	"responses/output without call_id":  responsesBreach(`"input":[`+hi+`,{"type":"function_call_output","output":"x"}]`, "call_id"),
	"chatgpt/instructions":              planBreach(`"stream":true,"store":false`, "Instructions are required"),
	"chatgpt/store":                     planBreach(`"stream":true,"instructions":"x"`, "Store must be set to false"),
	"chatgpt/stream":                    planBreach(`"store":false,"instructions":"x"`, "Stream must be set to true"),
	"chat/unanswered call":              chatBreach("deepseek", "deepseek", `"messages":[`+hi+`,`+chatUse+`,`+hi+`]`, "tool_call"),
	"chat/orphan result":                chatBreach("deepseek", "deepseek", `"messages":[`+hi+`,{"role":"tool","tool_call_id":"aaaaaaaaa","content":"x"}]`, "tool"),
	"chat/unknown part":                 chatBreach("kimi", "kimi", `"messages":[{"role":"user","content":[{"type":"tool_reference","tool_name":"x"}]}]`, "part"),
	"chat/image for a blind host":       chatBreach("deepseek", "deepseek", `"messages":[{"role":"user","content":[`+picture+`]}]`, "image"),
	"chat/tool without a name":          chatBreach("copilot", "gemini-sim", `"messages":[`+hi+`],"tools":[{"type":"function","function":{"name":""}}]`, "name"),
	"chat/null content":                 chatBreach("openai", "gpt", `"messages":[{"role":"user","content":null}]`, "content"),
	"chat/image in a result":            chatBreach("openai", "gpt", `"messages":[`+hi+`,`+chatUse+`,{"role":"tool","tool_call_id":"aaaaaaaaa","content":[`+picture+`]}]`, "image"),
	"chat/image of the assistant":       chatBreach("openai", "gpt", `"messages":[`+hi+`,{"role":"assistant","content":[`+picture+`]},`+hi+`]`, "image"),
	"chat/developer role":               chatBreach("kimi", "kimi", `"messages":[{"role":"developer","content":"x"},`+hi+`]`, "developer"),
	"chat/part with two members":        chatBreach("zai", "glm", `"messages":[{"role":"user","content":[{"type":"image_url","text":"a","image_url":{"url":"data:image/png;base64,AAAA"}}]}]`, "invalid field"),
	"kimi/tool_choice":                  chatBreach("kimi", "kimi", `"messages":[`+hi+`],"tools":[{"type":"function","function":{"name":"read","parameters":{"type":"object"}}}],"tool_choice":"required"`, "tool_choice"),
	"mistral/extra member of a call":    chatBreach("mistral", "mistral", `"messages":[`+hi+`,{"role":"assistant","content":"","tool_calls":[{"id":"aaaaaaaaa","type":"function","name":null,"function":{"name":"read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"aaaaaaaaa","content":"x"}]`, "Extra inputs"),
	"mistral/extra member of a message": chatBreach("mistral", "mistral", `"messages":[{"role":"user","content":"hi","tool_calls":null}]`, "Extra inputs"),
	"mistral/call id":                   chatBreach("mistral", "mistral", `"messages":[`+hi+`,{"role":"assistant","content":"","tool_calls":[{"id":"turn1_0","type":"function","function":{"name":"read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"turn1_0","content":"x"}]`, "length of 9"),
	"mistral/reasoning_content":         chatBreach("mistral", "mistral", `"messages":[`+hi+`,{"role":"assistant","content":"x","reasoning_content":"T"},`+hi+`]`, "reasoning_content"),
	"ollama/truncate":                   {"/api/chat", `{"model":"qwen3.5:9b","truncate":false,"options":{"num_ctx":4},"messages":[{"role":"user","content":"` + strings.Repeat("long ", 90) + `"}]}`, "exceeds the context length"},
	"ollama/arguments":                  {"/api/chat", `{"model":"qwen3.5:9b","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}]}`, "cannot unmarshal string"},
	"cohere/ends with the model":        cohereBreach(`{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"}`, "message must be at least 1 token long"),
	"cohere/prompt behind results":      cohereBreach(`{"role":"user","content":"Hi"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"A"},{"role":"user","content":"Go on."}`, "cannot specify both message and tool_results"),
	"cohere/unknown member of a tool":   cohereBreach(`{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"read","parameters":{"type":"object"},"requires_confirmation":null}}`, "parameter 'requires_confirmation' is not a valid field"),
	"converse/no content":               converseBreach(converseHi+`,{"role":"assistant","content":[]}`, "is empty. Add a ContentBlock"),
	"converse/blank text":               converseBreach(converseHi+`,{"role":"assistant","content":[{"text":""},{"text":"a"}]}`, "is blank. Add text"),
	"converse/result without a call":    converseBreach(`{"role":"user","content":[`+converseDone+`]}`, "exceeds the number of toolUse blocks"),
	"converse/space at the end":         converseBreach(converseHi+`,{"role":"assistant","content":[{"text":"ok "}]}`, "trailing whitespace"),
	"converse/answer first":             converseBreach(`{"role":"assistant","content":[{"text":"ok"}]},`+converseHi, "must start with a user message"),
	"converse/arguments as a text":      converseBreach(converseHi+`,{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"read","input":"{bad"}}]},{"role":"user","content":[`+converseDone+`]}`, "toolUse.input is invalid"),
	"converse/history without tools":    breach{converseAddress, `{"messages":[` + converseHi + `,{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"read","input":{}}}]},{"role":"user","content":[` + converseDone + `]}]}`, "toolConfig field must be defined"},
	"gemini/call first":                 geminiBreach(`"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}]`, "function call turn comes immediately after"),
	"gemini/response count":             geminiBreach(`"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"g","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}]`, "number of function response parts"),
	"gemini/budget and level":           geminiBreach(`"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"thinkingConfig":{"thinkingBudget":4096,"thinkingLevel":"HIGH"}}`, "only set only one"),
	"gemini/ends with model":            geminiBreach(`"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"text":"a"}]}]`, "must be a user turn"),
	"gemini/tool name":                  geminiBreach(`"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"1 very long"}]}]`, "Invalid function name"),
	"gemini/cachedContent":              geminiBreach(`"contents":[{"role":"user","parts":[{"text":"hi"}]}],"cachedContent":"cachedContents/x"`, "cachedContent"),
	"gemini/no parts":                   geminiBreach(`"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[]},{"role":"user","parts":[{"text":"hi"}]}]`, "parts"),
	"messages/property keys":            messagesBreach(`"tools":[{"name":"read","input_schema":{"type":"object","properties":{"a[b]":{}}}}],"messages":[`+hi+`]`, "Property keys should match"),
	"messages/union at the top":         messagesBreach(`"tools":[{"name":"read","input_schema":{"type":"object","anyOf":[]}}],"messages":[`+hi+`]`, "at the top level"),
	"openai/array without items":        chatBreach("openai", "gpt", `"messages":[`+hi+`],`+toolWith(`{"type":"array"}`), "missing items"),
	"kimi/reference":                    chatBreach("kimi", "kimi", `"messages":[`+hi+`],`+toolWith(`{"$ref":"#/properties/x"}`), "reference can only point to"),
	"kimi/property without a type":      chatBreach("kimi", "kimi", `"messages":[`+hi+`],`+toolWith(`{"enum":["a"]}`), "type is not defined"),
	"mistral/user after tool":           chatBreach("mistral", "mistral", `"messages":[`+hi+`,`+chatUse+`,{"role":"tool","tool_call_id":"aaaaaaaaa","content":"x"},`+hi+`]`, "Unexpected role 'user' after role 'tool'"),
	"llamacpp/two users":                chatBreach("llamacpp", "llamacpp", `"messages":[`+hi+`,`+hi+`]`, "must alternate"),
	"vllm/two answers":                  chatBreach("vllm", "vllm", `"messages":[`+hi+`,{"role":"assistant","content":"a"},{"role":"assistant","content":"b"},`+hi+`]`, "must alternate"),
	"xai/empty message":                 chatBreach("xai", "grok", `"messages":[{"role":"system","content":""},`+hi+`]`, "empty message was provided"),
	"copilot/vision header":             chatBreach("copilot", "gemini-sim", `"messages":[{"role":"user","content":[`+picture+`]}]`, "Copilot-Vision-Request"),
	"ollama/properties":                 {"/api/chat", `{"model":"qwen3.5:9b","messages":[` + hi + `],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":[]}}}]}`, "cannot unmarshal array"},
	"gemini/choices":                    geminiTool(`{"type":"integer","enum":[1]}`, "only allowed for STRING type"),
	"gemini/formats":                    geminiTool(`{"type":"string","format":"uri"}`, "are supported for STRING type"),
	"gemini/items":                      geminiTool(`{"type":"array"}`, "missing field"),
	"gemini/types":                      geminiTool(`{"type":["string","null"]}`, "Proto field is not repeating"),
	"gemini/reference":                  geminiTool(`{"$ref":"#/properties/x"}`, "ref"),
}

// cohereBreach is a request for an answer to these messages.
func cohereBreach(messages, says string) breach {
	return breach{"/v2/chat", `{"model":"command-a-plus-05-2026","messages":[` + messages + `]}`, says}
}
