package responses_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/responses"
)

const done = "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n"

func row(kind provider.ControlKind, display ...provider.Display) provider.Model {
	return provider.Model{ID: "m", Known: true, Thinking: provider.Capability{Control: kind, Default: provider.Medium, Display: display}}
}

func TestWire(t *testing.T) {
	plain, shown := row(provider.ControlEffort), row(provider.ControlEffort, provider.Summarized, provider.Omitted)
	recalls := shown
	recalls.Thinking.AllTurns = true
	silent, always := row(provider.ControlNone), row(provider.ControlAlways)
	free, calm := shown, shown
	free.Sampling, calm.Sampling = provider.SamplingFree, provider.SamplingNotInThinking
	silent.Thinking.Default = provider.Off
	tests := []struct {
		name    string
		model   provider.Model
		control provider.Control
		repairs []provider.Repair
		want    string
		include bool
		sampled bool // temperature goes out
		fails   bool
	}{
		{name: "omit", model: shown, control: provider.Control{Mode: provider.ModeOmit}, want: `{}`, include: true, sampled: true},
		{name: "zero decision", model: shown, want: `{}`, include: true, sampled: true},
		{name: "off", model: calm, control: provider.Control{Mode: provider.ModeOff}, want: `{"reasoning":{"effort":"none"}}`, include: true, sampled: true},
		{name: "off where there is none", model: silent, control: provider.Control{Mode: provider.ModeOff}, want: `{}`, sampled: true},
		{name: "omit where there is none", model: silent, control: provider.Control{Mode: provider.ModeOmit}, want: `{}`, sampled: true},
		{name: "off without a row", control: provider.Control{Mode: provider.ModeOff}, want: `{"reasoning":{"effort":"none"}}`, include: true, sampled: true},
		{name: "on", model: shown, control: provider.Control{Mode: provider.ModeOn, Display: provider.Summarized}, want: `{"reasoning":{"summary":"auto"}}`, include: true, sampled: true},
		{name: "on, nothing to show", model: always, control: provider.Control{Mode: provider.ModeOn}, want: `{}`, include: true, sampled: true},
		{name: "on without a row", control: provider.Control{Mode: provider.ModeOn}, want: `{"reasoning":{"summary":"auto"}}`, include: true, sampled: true},
		{name: "effort", model: calm, control: provider.Control{Mode: provider.ModeEffort, Effort: provider.XHigh, Display: provider.Summarized}, want: `{"reasoning":{"effort":"xhigh","summary":"auto"}}`, include: true},
		{name: "effort, omitted", model: shown, control: provider.Control{Mode: provider.ModeEffort, Effort: provider.Low, Display: provider.Omitted}, want: `{"reasoning":{"effort":"low"}}`, include: true, sampled: true},
		{name: "effort, no display", model: plain, control: provider.Control{Mode: provider.ModeEffort, Effort: provider.Minimal}, want: `{"reasoning":{"effort":"minimal"}}`, include: true, sampled: true},
		{name: "effort, all turns", model: recalls, control: provider.Control{Mode: provider.ModeEffort, Effort: provider.Max, Display: provider.Summarized}, want: `{"reasoning":{"effort":"max","summary":"auto","context":"all_turns"}}`, include: true, sampled: true},
		{name: "effort, no summary", model: recalls, control: provider.Control{Mode: provider.ModeEffort, Effort: provider.Max, Display: provider.Summarized}, repairs: []provider.Repair{responses.NoSummary}, want: `{"reasoning":{"effort":"max","context":"all_turns"}}`, include: true, sampled: true},
		{name: "effort without a row", control: provider.Control{Mode: provider.ModeEffort, Effort: provider.High}, want: `{"reasoning":{"effort":"high","summary":"auto"}}`, include: true, sampled: true},
		{name: "default that thinks", model: calm, control: provider.Control{Mode: provider.ModeOmit}, want: `{}`, include: true},
		{name: "budget", model: shown, control: provider.Control{Mode: provider.ModeBudget, Budget: 4096}, fails: true},
		{name: "no mode", model: shown, control: provider.Control{Mode: "loud"}, fails: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := &providertest.Host{Body: done}
			api := newAPI("openai", a)
			warm := 0.5
			req := &provider.Request{Model: test.model, Messages: []provider.Message{providertest.User("ask")}, Repairs: test.repairs, Decision: provider.Decision{Control: test.control}, Options: provider.Options{Temperature: &warm}}
			wire, err := api.Wire(req)
			reply := providertest.Check(t, api.Stream(t.Context(), req))
			if test.fails {
				if e, ok := errors.AsType[*provider.Error](reply.Err); err == nil || !ok || e.Kind != provider.KindBadRequest || a.Sent != nil {
					t.Errorf("wire %v, stream %v, sent %s", err, reply.Err, a.Sent)
				}
				return
			}
			if err != nil || reply.Err != nil {
				t.Fatalf("wire %v, stream %v", err, reply.Err)
			}
			if string(wire) != test.want {
				t.Errorf("wire %s, want %s", wire, test.want)
			}
			var want map[string]json.RawMessage
			if err := json.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			if got := gjson.GetBytes(a.Sent, "reasoning").Raw; got != string(want["reasoning"]) {
				t.Errorf("sent %s, want %s", got, want["reasoning"])
			}
			if got := gjson.GetBytes(a.Sent, "include").Exists(); got != test.include {
				t.Errorf("include %v in %s", got, a.Sent)
			}
			if got := gjson.GetBytes(a.Sent, "temperature").Exists(); got != test.sampled {
				t.Errorf("temperature %v in %s", got, a.Sent)
			}
			if gjson.GetBytes(a.Sent, "store").Raw != "false" || gjson.GetBytes(a.Sent, "stream").Raw != "true" {
				t.Errorf("body %s", a.Sent)
			}
		})
	}
}

// A session's name stays what it is while the conversation grows, and another conversation has another.
func TestCacheKey(t *testing.T) {
	key := func(system string, messages ...provider.Message) string {
		a := &providertest.Host{Body: done}
		providertest.Check(t, newAPI("openai", a).Stream(t.Context(), &provider.Request{System: system, Messages: messages}))
		return gjson.GetBytes(a.Sent, "prompt_cache_key").Str
	}
	first := key("s", providertest.User("a"))
	if again := key("s", providertest.User("a"), providertest.User("b")); again != first || len(first) < 10 || len(first) > 64 {
		t.Errorf("keys %q and %q", first, again)
	}
	if other := key("t", providertest.User("a")); other == first {
		t.Errorf("two conversations are called %q", other)
	}
}

func TestTools(t *testing.T) {
	for schema, want := range map[string]string{
		``:                  `{"type":"object","properties":{}}`,
		`{"type":"object"}`: `{"type":"object","properties":{}}`,
		`{}`:                `{"type":"object","properties":{}}`,
		`{"type":"object","properties":{"a":{}},"required":["a"]}`: `{"type":"object","properties":{"a":{}},"required":["a"]}`,
	} {
		a := &providertest.Host{Body: done}
		req := &provider.Request{Tools: []provider.Tool{{Name: "t", Schema: json.RawMessage(schema)}}}
		if reply := providertest.Check(t, newAPI("openai", a).Stream(t.Context(), req)); reply.Err != nil {
			t.Errorf("%q: %v", schema, reply.Err)
		}
		if got := gjson.GetBytes(a.Sent, "tools.0.parameters").Raw; got != want {
			t.Errorf("%q becomes %s, want %s", schema, got, want)
		}
	}
	a := &providertest.Host{Body: done}
	req := &provider.Request{Tools: []provider.Tool{{Name: "t", Schema: json.RawMessage(`[]`)}}}
	reply := providertest.Check(t, newAPI("openai", a).Stream(t.Context(), req))
	if got := gjson.GetBytes(a.Sent, "tools.0.parameters").Raw; got != `{"type":"object","properties":{}}` || len(reply.Notices) == 0 || reply.Notices[0].Kind != provider.NoticeSchema {
		t.Errorf("a list becomes %s, with %v", got, reply.Notices)
	}
}

// The same call id of two answers, and one without any, become ids of their own; results follow their call.
func TestMintedIDs(t *testing.T) {
	call := func(id string) provider.Message {
		return provider.Message{Role: provider.Assistant, Blocks: provider.Blocks{provider.ToolCall{ID: id, Name: "t", Input: json.RawMessage(`{}`)}}}
	}
	result := func(id string) provider.Message {
		return provider.Message{Role: provider.User, Blocks: provider.Blocks{provider.ToolResult{CallID: id}}}
	}
	a := &providertest.Host{Body: done}
	req := &provider.Request{Messages: []provider.Message{providertest.User("a"), call("call_0"), result("call_0"), call("call_0"), result("call_0"), call(""), result("")}}
	if reply := providertest.Check(t, newAPI("openai", a).Stream(t.Context(), req)); reply.Err != nil {
		t.Fatal(reply.Err)
	}
	var ids []string
	for _, id := range gjson.GetBytes(a.Sent, "input.#.call_id").Array() {
		ids = append(ids, id.Str)
	}
	if len(ids) != 6 || ids[0] != "call_0" || ids[0] != ids[1] || ids[2] != ids[3] || ids[4] != ids[5] || ids[2] == ids[0] || ids[4] == "" {
		t.Errorf("ids %q", ids)
	}
}

func TestAddress(t *testing.T) {
	a := &providertest.Host{Body: done}
	api := responses.New(exchange.Config{Provider: "azure", Vendor: "openai", BaseURL: "https://r.example.com/openai/",
		Key: provider.NewSecret("sk-1"), Client: exchange.NewClient(a)}, responses.Host{Version: "2026-10-01&x"})
	providertest.Check(t, api.Stream(t.Context(), &provider.Request{}))
	if want := "https://r.example.com/openai/responses?api-version=2026-10-01%26x"; a.URL != want {
		t.Errorf("address %s, want %s", a.URL, want)
	}
	api = responses.New(exchange.Config{Provider: "openai", BaseURL: "https://api.example.com/v1", KeyVar: "OPENAI_API_KEY", Client: exchange.NewClient(a)}, responses.Host{})
	reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{}))
	if e, ok := errors.AsType[*provider.Error](reply.Err); !ok || e.Kind != provider.KindAuth || !strings.Contains(e.Message, "OPENAI_API_KEY") {
		t.Errorf("without a key: %v", reply.Err)
	}
}

// What the vendor's words mean.
func TestRefusals(t *testing.T) {
	own := provider.State{Origin: provider.Origin{API: "responses", Vendor: "openai", Host: "api.example.com", Account: "acct_1", Model: "m"},
		Data: json.RawMessage(`{"type":"message","id":"msg_1","role":"assistant","content":[]}`)}
	object := func(code, message string) string {
		return fmt.Sprintf(`{"error":{"message":%q,"type":"invalid_request_error","param":null,"code":%q}}`, message, code)
	}
	tests := []struct {
		name   string
		status int
		body   string
		head   http.Header
		kind   provider.Kind
		repair string // its beginning
		hint   provider.Hint
		after  time.Duration
	}{
		{name: "encrypted content", status: 400, body: object("invalid_encrypted_content", "The encrypted content for item rs_1 could not be verified."), kind: provider.KindBadRequest, repair: responses.DropReasoning},
		{name: "pair", status: 400, body: object("", "Item 'rs_1' of type 'reasoning' was provided without its required following item."), kind: provider.KindBadRequest, repair: responses.DropReasoning},
		{name: "reverse pair", status: 400, body: object("", "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'."), kind: provider.KindBadRequest, repair: responses.DropReasoning},
		{name: "not stored", status: 404, body: object("", "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."), kind: provider.KindBadRequest, repair: responses.DropReasoning},
		{name: "summary", status: 400, body: object("unsupported_value", "Your organization must be verified to generate reasoning summaries."), kind: provider.KindBadRequest, repair: string(responses.NoSummary)},
		{name: "effort", status: 400, body: object("unsupported_value", "Unsupported value: 'none' is not supported with the 'gpt-6.1-sol' model."), kind: provider.KindBadRequest},
		{name: "too long", status: 400, body: object("context_length_exceeded", "Your input exceeds the context window of this model."), kind: provider.KindTooLong},
		{name: "copilot: too long", status: 400, body: object("model_max_prompt_tokens_exceeded", "prompt token count of 9 exceeds the limit of 8"), kind: provider.KindTooLong},
		{name: "rate", status: 429, body: object("rate_limit_exceeded", "Rate limit reached. Please try again in 20ms."), kind: provider.KindRateLimit, after: 20 * time.Millisecond},
		{name: "rate, header", status: 429, body: object("rate_limit_exceeded", "Please try again in 20ms."), head: http.Header{"Retry-After": {"3"}}, kind: provider.KindRateLimit, after: 3 * time.Second},
		{name: "slow down", status: 429, body: object("slow_down", "Slow down."), kind: provider.KindRateLimit},
		{name: "slow down, overloaded", status: 503, body: object("slow_down", "Slow down."), kind: provider.KindOverloaded},
		{name: "quota", status: 429, body: object("insufficient_quota", "You exceeded your current quota."), kind: provider.KindQuota, hint: provider.HintFinal},
		{name: "credit", status: 429, body: object("credit_balance_exhausted", "No credit."), kind: provider.KindQuota, hint: provider.HintFinal},
		{name: "plan", status: 429, body: `{"error":{"type":"usage_not_included","message":"Upgrade."}}`, kind: provider.KindQuota, hint: provider.HintFinal},
		{name: "policy", status: 400, body: object("cyber_policy", "Stopped."), kind: provider.KindRefused},
		{name: "violation", status: 400, body: object("misalignment_policy_violation", "Stopped."), kind: provider.KindRefused},
		{name: "prompt", status: 400, body: object("invalid_prompt", "Flagged."), kind: provider.KindRefused},
		{name: "key", status: 401, body: object("invalid_api_key", "Incorrect API key provided."), kind: provider.KindAuth},
		{name: "xai", status: 400, body: `{"code":"Client specified an invalid argument","error":"Model grok-4 does not support parameter reasoningEffort."}`, kind: provider.KindBadRequest},
		{name: "server", status: 500, body: object("server_error", "The server had an error."), kind: provider.KindTransport},
		{name: "bare text", status: 400, body: "bad request: missing Editor-Version header", kind: provider.KindBadRequest},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			api := newAPI("openai", &providertest.Host{Status: test.status, Body: test.body, Type: "application/json", Header: test.head})
			req := &provider.Request{Messages: []provider.Message{providertest.User("a"), {Role: provider.Assistant, Blocks: provider.Blocks{provider.Text{State: own}}}, providertest.User("b")},
				Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeOn}}}
			reply := providertest.Check(t, api.Stream(t.Context(), req))
			e, ok := errors.AsType[*provider.Error](reply.Err)
			if !ok {
				t.Fatalf("error %v", reply.Err)
			}
			if e.Kind != test.kind || e.Hint != test.hint || e.RetryAfter != test.after || e.RequestID != "req_1" {
				t.Errorf("kind %s, hint %q, after %s, request %s: %v", e.Kind, e.Hint, e.RetryAfter, e.RequestID, e)
			}
			if (e.Repair == "") != (test.repair == "") || !strings.HasPrefix(string(e.Repair), test.repair) {
				t.Errorf("repair %q, want %q", e.Repair, test.repair)
			}
			if e.Repair == "" {
				return
			}
			req.Repairs = []provider.Repair{e.Repair}
			again, ok := errors.AsType[*provider.Error](providertest.Check(t, api.Stream(t.Context(), req)).Err)
			if !ok || again.Repair != "" {
				t.Errorf("with the repair: %v, repair %q", again, again.Repair)
			}
		})
	}
	plan := newAPI("chatgpt", &providertest.Host{Status: 429, Type: "application/json",
		Body: fmt.Sprintf(`{"error":{"type":"usage_limit_reached","plan_type":"plus","resets_at":%d}}`, time.Now().Add(time.Hour).Unix())})
	e, ok := errors.AsType[*provider.Error](providertest.Check(t, plan.Stream(t.Context(), &provider.Request{})).Err)
	if !ok || e.Kind != provider.KindQuota || e.RetryAfter < 50*time.Minute || e.RetryAfter > time.Hour {
		t.Errorf("a used up plan: %+v", e)
	}
}

// What is no answer is one clear error; what is odd in a stream breaks nothing.
func TestOddAnswers(t *testing.T) {
	tests := []struct {
		name string
		kind string
		body string
		want provider.Kind // empty: it is an answer
		says string
	}{
		{name: "html", kind: "text/html", body: "<html>", want: provider.KindBadRequest, says: "HTML"},
		{name: "empty", kind: "application/json", body: "", want: provider.KindBadRequest, says: "empty"},
		{name: "other json", kind: "application/json", body: `{"ok":true}`, want: provider.KindBadRequest, says: "no response"},
		{name: "list", kind: "application/json", body: `[1]`, want: provider.KindBadRequest, says: "no response"},
		{name: "not finished", kind: "application/json", body: `{"status":"queued","output":[]}`, want: provider.KindBadRequest, says: "queued"},
		{name: "half", kind: "application/json", body: `{"status":"comp`, want: provider.KindTransport},
		{name: "event that is no json", body: "data: oops\n\n" + done, want: provider.KindBadRequest, says: "not JSON"},
		{name: "bare error", body: "{\"error\":{\"message\":\"broke\",\"code\":\"server_error\"}}\n\n", want: provider.KindTransport, says: "broke"},
		{name: "no terminal event", body: "data: {\"type\":\"response.created\",\"response\":{}}\n\n", want: provider.KindTransport},
		{name: "only an end mark", body: "data: [DONE]\n\n", want: provider.KindTransport},
		{name: "end mark before the end", body: "data: [DONE]\n\n" + done},
		{name: "a response as an event", body: "data: {\"object\":\"response\",\"status\":\"completed\",\"output\":[]}\n\n"},
		{name: "types by name alone", body: "event: response.completed\ndata: {\"response\":{\"status\":\"completed\"}}\n\n"},
		{name: "no blank line at the end", body: strings.TrimSuffix(done, "\n\n")},
		{name: "items without a type", body: "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{}}\n\ndata: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{}}\n\n" + done},
		{name: "call without a name", body: "data: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":0,\"delta\":\"{}\"}\n\n" + done},
		{name: "delta that is no text", body: "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":{\"a\":1}}\n\n" + done},
		{name: "huge index", body: "data: {\"type\":\"response.output_text.delta\",\"output_index\":9e30,\"content_index\":-4,\"delta\":\"a\"}\n\n" + done},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			api := newAPI("openai", &providertest.Host{Body: test.body, Type: test.kind})
			reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{}))
			e, ok := errors.AsType[*provider.Error](reply.Err)
			if test.want == "" {
				if reply.Err != nil {
					t.Error(reply.Err)
				}
				return
			}
			if !ok || e.Kind != test.want || !strings.Contains(e.Error(), test.says) || e.RequestID != "req_1" {
				t.Errorf("error %v, want one of kind %s with %q", reply.Err, test.want, test.says)
			}
		})
	}
}

// Two items at one index are two items; all three calls of this stream arrive.
func TestIndexUsedTwice(t *testing.T) {
	item := func(id string) string {
		return fmt.Sprintf(`{"id":"fc_%s","type":"function_call","call_id":"call_%s","name":"t","arguments":"{}"}`, id, id)
	}
	var b strings.Builder
	for _, id := range []string{"a", "b", "c"} {
		fmt.Fprintf(&b, "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":%s}\n\n", item(id))
		fmt.Fprintf(&b, "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":%s}\n\n", item(id))
	}
	fmt.Fprintf(&b, "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[%s,%s,%s]}}\n\n", item("a"), item("b"), item("c"))
	reply := providertest.Check(t, newAPI("openai", &providertest.Host{Body: b.String()}).Stream(t.Context(), &provider.Request{}))
	if reply.Err != nil || len(reply.Blocks) != 3 {
		t.Errorf("%d blocks, error %v", len(reply.Blocks), reply.Err)
	}
}
