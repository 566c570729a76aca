package messages_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/messages"
	"github.com/thinkd/thinkd/provider/providertest"
)

const done = "data: {\"type\":\"message_stop\"}\n\n"

func row(kind provider.ControlKind, off provider.OffForm, def provider.Level) provider.Model {
	return provider.Model{ID: "m", Known: true, Thinking: provider.Capability{Control: kind, Off: off, Default: def,
		Display: []provider.Display{provider.Summarized, provider.Omitted, provider.Updates}}}
}

var (
	effort = row(provider.ControlEffort, provider.OffFull, provider.High)
	always = row(provider.ControlEffort, provider.OffNever, provider.High)
	front  = row(provider.ControlEffort, provider.OffUpFront, provider.High)
	budget = row(provider.ControlBudget, provider.OffFull, provider.Off)
	none   = row(provider.ControlNone, provider.OffNever, provider.Off)
)

func said(blocks ...provider.Block) []provider.Message {
	ask := providertest.User("ask")
	if len(blocks) == 0 {
		return []provider.Message{ask}
	}
	return []provider.Message{ask, {Role: provider.Assistant, Blocks: blocks}, ask}
}

// own is thinking that the API takes back; data is its JSON.
func own(data string) provider.Thinking {
	return provider.Thinking{Text: "t", Kind: provider.ThinkingSummary, Signed: true, State: provider.State{
		Origin: provider.Origin{API: "messages", Vendor: "anthropic", Host: "other.example", Account: "other", Model: "claude-opus-4-5"},
		Data:   json.RawMessage(data)}}
}

func TestWire(t *testing.T) {
	tests := []struct {
		name    string
		model   provider.Model
		control provider.Control
		repairs []provider.Repair
		tools   bool
		replay  bool
		want    string
		betas   string
		max     int
	}{
		{name: "omit", model: effort, control: provider.Control{Mode: provider.ModeOmit}, want: `{}`, max: 32000},
		{name: "zero decision", model: effort, want: `{}`, max: 32000},
		{name: "off", model: effort, control: provider.Control{Mode: provider.ModeOff}, want: `{"thinking":{"type":"disabled"}}`, max: 32000},
		{name: "off up front", model: front, control: provider.Control{Mode: provider.ModeOff}, want: `{"thinking":{"type":"between_tools"}}`, max: 32000},
		{name: "off where there is none", model: none, control: provider.Control{Mode: provider.ModeOff}, want: `{}`, max: 32000},
		{name: "off without a row", control: provider.Control{Mode: provider.ModeOff}, want: `{"thinking":{"type":"disabled"}}`, max: 32000},
		{name: "on", model: always, control: provider.Control{Mode: provider.ModeOn}, want: `{"thinking":{"type":"adaptive","display":"summarized"}}`, max: 32000},
		{name: "effort", model: effort, control: provider.Control{Mode: provider.ModeEffort, Effort: provider.XHigh},
			want: `{"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"xhigh"}}`, max: 32000},
		{name: "effort, omitted", model: effort, control: provider.Control{Mode: provider.ModeEffort, Effort: provider.Low, Display: provider.Omitted},
			want: `{"thinking":{"type":"adaptive","display":"omitted"},"output_config":{"effort":"low"}}`, betas: "thinking-token-count-2026-05-13", max: 32000},
		{name: "effort, updates", model: effort, control: provider.Control{Mode: provider.ModeEffort, Effort: provider.Max, Display: provider.Updates}, tools: true,
			want: `{"thinking":{"type":"adaptive","display":"updates"},"output_config":{"effort":"max"}}`, betas: "thinking-display-updates-2026-08-18", max: 32000},
		{name: "effort, drop_block", model: effort, control: provider.Control{Mode: provider.ModeEffort, Effort: provider.High}, repairs: []provider.Repair{messages.DropBlock},
			want:  `{"thinking":{"type":"adaptive","display":"summarized","block_binding":{"prefix_mismatch_behavior":"drop_block"}},"output_config":{"effort":"high"}}`,
			betas: "thinking-binding-controls-2026-08-01", max: 32000},
		{name: "off, drop_block", model: effort, control: provider.Control{Mode: provider.ModeOff}, repairs: []provider.Repair{messages.DropBlock},
			want: `{"thinking":{"type":"disabled"}}`, max: 32000},
		{name: "effort, replay", model: effort, control: provider.Control{Mode: provider.ModeEffort, Effort: provider.High}, replay: true,
			want:  `{"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"}}`,
			betas: "thinking-binding-controls-2026-08-01", max: 32000},
		{name: "budget", model: budget, control: provider.Control{Mode: provider.ModeBudget, Budget: 4096},
			want: `{"thinking":{"type":"enabled","budget_tokens":4096,"display":"summarized"}}`, max: 4096 + 8192},
		{name: "budget and effort, tools", model: budget, control: provider.Control{Mode: provider.ModeBudget, Budget: 10000, Effort: provider.Medium}, tools: true,
			want:  `{"thinking":{"type":"enabled","budget_tokens":10000,"display":"summarized"},"output_config":{"effort":"medium"}}`,
			betas: "interleaved-thinking-2025-05-14", max: 10000 + 8192},
		{name: "budget, drop_block", model: budget, control: provider.Control{Mode: provider.ModeBudget, Budget: 4096}, repairs: []provider.Repair{messages.DropBlock},
			want: `{"thinking":{"type":"enabled","budget_tokens":4096,"display":"summarized"}}`, max: 4096 + 8192},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := &providertest.Host{Body: done}
			api := newAPI(a)
			req := &provider.Request{Model: test.model, Messages: said(), Repairs: test.repairs, Decision: provider.Decision{Control: test.control}}
			if test.tools {
				req.Tools = []provider.Tool{{Name: "t"}}
			}
			if test.replay {
				req.Messages = said(own(`{"type":"thinking","thinking":"t","signature":"s"}`), provider.Text{Text: "b"})
			}
			wire, err := api.Wire(req)
			if err != nil {
				t.Fatal(err)
			}
			if string(wire) != test.want {
				t.Errorf("Wire: %s, want %s", wire, test.want)
			}
			if reply := providertest.Check(t, api.Stream(t.Context(), req)); reply.Err != nil {
				t.Fatal(reply.Err)
			}
			sent := gjson.ParseBytes(a.Sent)
			parts := map[string]json.RawMessage{}
			for _, name := range []string{"thinking", "output_config"} {
				if v := sent.Get(name); v.Exists() {
					parts[name] = json.RawMessage(v.Raw)
				}
			}
			body, err := json.Marshal(parts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := providertest.DiffJSON(wire, body); diff != "" {
				t.Errorf("Wire and what was sent differ (-Wire +sent):\n%s", diff)
			}
			if got := a.SentHeader.Get("anthropic-beta"); got != test.betas {
				t.Errorf("betas %q, want %q", got, test.betas)
			}
			if got := sent.Get("max_tokens").Int(); got != int64(test.max) {
				t.Errorf("max_tokens %d, want %d", got, test.max)
			}
		})
	}
	if wire, err := newAPI(nil).Wire(&provider.Request{Decision: provider.Decision{Control: provider.Control{Mode: "x"}}}); err == nil {
		t.Errorf("an unknown mode gives %s", wire)
	}
}

func TestMaxTokens(t *testing.T) {
	tests := []struct{ asked, row, budget, want int }{
		{100, 128000, 0, 100},
		{0, 128000, 0, 64000},
		{0, 8192, 0, 8192},
		{0, 0, 0, 32000},
		{0, 64000, 32000, 64000},
		{0, 128000, 32000, 96000},
		{0, 32768, 32000, 32768},
		{0, 0, 32000, 40192},
		{5000, 64000, 32000, 5000},
	}
	for _, test := range tests {
		a := &providertest.Host{Body: done}
		req := &provider.Request{Model: provider.Model{ID: "m", Known: test.row > 0, MaxOutput: test.row}, Messages: said(), Options: provider.Options{MaxOutput: test.asked}}
		if test.budget > 0 {
			req.Decision.Control = provider.Control{Mode: provider.ModeBudget, Budget: test.budget}
		}
		providertest.Check(t, newAPI(a).Stream(t.Context(), req))
		if got := gjson.GetBytes(a.Sent, "max_tokens").Int(); got != int64(test.want) {
			t.Errorf("%+v: max_tokens %d", test, got)
		}
	}
}

func TestSampling(t *testing.T) {
	tests := []struct {
		rule  provider.SamplingRule
		def   provider.Level
		mode  provider.Mode
		top   float64
		stays string
		told  string
	}{
		{provider.SamplingFree, provider.High, provider.ModeEffort, 0.5, "temperature top_p top_k", ""},
		{provider.SamplingNever, provider.High, provider.ModeOff, 0.99, "", "temperature, top_p, top_k left out: m does not take it"},
		{provider.SamplingNotInThinking, provider.Off, provider.ModeOff, 0.5, "temperature top_p top_k", ""},
		{provider.SamplingNotInThinking, provider.Off, provider.ModeOmit, 0.5, "temperature top_p top_k", ""},
		{provider.SamplingNotInThinking, provider.High, provider.ModeOmit, 0.5, "", "temperature, top_p, top_k left out: m does not take it"},
		{provider.SamplingNotInThinking, provider.Off, provider.ModeBudget, 0.95, "top_p", "temperature, top_k left out: m does not take it"},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.rule, test.def, test.mode), func(t *testing.T) {
			a := &providertest.Host{Body: done}
			model := row(provider.ControlBudget, provider.OffFull, test.def)
			model.Sampling = test.rule
			temperature, k := 0.3, 40
			reply := providertest.Check(t, newAPI(a).Stream(t.Context(), &provider.Request{Model: model, Messages: said(),
				Options: provider.Options{Temperature: &temperature, TopP: &test.top, TopK: &k}, Decision: provider.Decision{Control: provider.Control{Mode: test.mode, Budget: 1024}}}))
			var stays []string
			for _, name := range []string{"temperature", "top_p", "top_k"} {
				if gjson.GetBytes(a.Sent, name).Exists() {
					stays = append(stays, name)
				}
			}
			if got := strings.Join(stays, " "); got != test.stays {
				t.Errorf("sent %q, want %q", got, test.stays)
			}
			told := ""
			for _, n := range reply.Notices {
				told += n.Text
			}
			if told != test.told {
				t.Errorf("told %q, want %q", told, test.told)
			}
		})
	}
}

func TestRepairs(t *testing.T) {
	const (
		damaged = "messages.1.content.0: Invalid `signature` in `thinking` block"
		moved   = damaged + ": this block is bound to a different conversation; set prefix_mismatch_behavior to drop_block"
		edited  = "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified"
	)
	adaptive := provider.Control{Mode: provider.ModeEffort, Effort: provider.High}
	off := provider.Control{Mode: provider.ModeOff}
	drop, strip := messages.DropBlock, messages.StripThinking
	tests := []struct {
		name    string
		text    string
		control provider.Control
		force   []provider.Repair
		want    provider.Repair
	}{
		{"prefix, adaptive", moved, adaptive, nil, drop},
		{"prefix, adaptive, dropped already", moved, adaptive, []provider.Repair{drop}, strip},
		{"prefix, off", moved, off, nil, strip},
		{"signature", damaged, adaptive, nil, strip},
		{"signature, dropped already", damaged, adaptive, []provider.Repair{drop}, strip},
		{"edited", edited, adaptive, nil, strip},
		{"edited, stripped already", edited, adaptive, []provider.Repair{strip}, ""},
		{"prefix, all done", moved, adaptive, []provider.Repair{drop, strip}, ""},
		{"something else", "max_tokens: required", adaptive, nil, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			body, err := json.Marshal(map[string]any{"type": "error", "error": map[string]string{"type": "invalid_request_error", "message": test.text}})
			if err != nil {
				t.Fatal(err)
			}
			a := &providertest.Host{Status: 400, Body: string(body)}
			req := &provider.Request{Model: effort, Messages: said(own(`{"type":"thinking","thinking":"t","signature":"s"}`)), Repairs: test.force,
				Decision: provider.Decision{Control: test.control}}
			reply := providertest.Check(t, newAPI(a).Stream(t.Context(), req))
			e, ok := errors.AsType[*provider.Error](reply.Err)
			if !ok || e.Kind != provider.KindBadRequest || e.Repair != test.want {
				t.Errorf("error %v with repair %q, want %q", reply.Err, e.Repair, test.want)
			}
			if len(reply.Events) > 0 {
				t.Errorf("events before the refusal: %v", reply.Events)
			}
		})
	}
	a := &providertest.Host{Body: done}
	redacted := own(`{"type":"redacted_thinking","data":"d"}`)
	redacted.Kind = provider.ThinkingRedacted
	reply := providertest.Check(t, newAPI(a).Stream(t.Context(), &provider.Request{Model: effort, Repairs: []provider.Repair{strip},
		Messages: said(own(`{"type":"thinking","thinking":"t","signature":"s"}`), redacted, provider.Text{Text: "b"})}))
	if got, want := gjson.GetBytes(a.Sent, "messages.1.content").Raw, `[{"type":"text","text":"b"}]`; got != want {
		t.Errorf("stripped: %s, want %s", got, want)
	}
	if len(reply.Notices) != 1 || string(reply.Notices[0].Data) != `{"kept":0,"dropped":2,"as_text":0}` {
		t.Errorf("notices %+v", reply.Notices)
	}
}

// What one reply brings goes back as it came, whatever model is asked next and however often it was stored between.
func TestRoundTrip(t *testing.T) {
	content := []string{
		`{"type":"thinking","thinking":"a <b> & \u2028 \ud83d\ude00 \"q\"","signature":"EqEWCkYI+/=="}`,
		`{"type":"redacted_thinking","data":"UkVE"}`,
		`{"type":"thinking","thinking":"","signature":"EqE="}`,
		`{"type":"text","text":"plain"}`,
		`{"type":"text","text":"cited","citations":[{"type":"x","n":1.50,"big":12345678901234567890}]}`,
		`{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":"<&>"}}`,
		`{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","url":"https://a.example/?x=<&>","title":"A","encrypted_content":"RU5D","page_age":null}]}`,
		`{"type":"novelty","deep":{"null":null,"list":[1e2]}}`,
		`{"type":"tool_use","id":"t","name":"read","input":{"z":1,"a":12345678901234567890}}`,
		`{"type":"tool_use","id":"u","name":"read","input":{},"caller":{"type":"direct"}}`,
	}
	message := `{"type":"message","model":"claude-opus-5-5","content":[` + strings.Join(content, ",") + `],"stop_reason":"tool_use","usage":{}}`
	reply := providertest.Check(t, newAPI(&providertest.Host{Body: message}).Stream(t.Context(), &provider.Request{Model: effort, Messages: said()}))
	if reply.Err != nil {
		t.Fatal(reply.Err)
	}
	for _, b := range reply.Blocks {
		if o := provider.StateOf(b).Origin; provider.StateOf(b).Data != nil && o != (provider.Origin{API: "messages", Vendor: "anthropic",
			Host: "api.example.com", Account: "org_1", Model: "claude-opus-5-5"}) {
			t.Errorf("origin %+v", o)
		}
	}
	blocks := reply.Blocks
	for range 3 {
		data, err := json.Marshal(blocks)
		if err != nil {
			t.Fatal(err)
		}
		blocks = nil
		if err := json.Unmarshal(data, &blocks); err != nil {
			t.Fatal(err)
		}
	}
	a := &providertest.Host{Body: done}
	providertest.Check(t, newAPI(a).Stream(t.Context(), &provider.Request{Model: budget, Messages: said(blocks...)}))
	sent := gjson.GetBytes(a.Sent, "messages.1.content").Array()
	if len(sent) != len(content) {
		t.Fatalf("%d blocks were sent of %d: %s", len(sent), len(content), a.Sent)
	}
	for i, want := range content {
		if diff := cmp.Diff(numbers(t, want), numbers(t, sent[i].Raw)); diff != "" {
			t.Errorf("block %d (-received +sent):\n%s", i, diff)
		}
	}
}

// numbers decodes JSON and leaves numbers as they are spelled.
func numbers(t *testing.T, text string) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestHeaders(t *testing.T) {
	a := &providertest.Host{Body: done}
	api := messages.New(exchange.Config{Provider: "x", Vendor: "anthropic", BaseURL: "https://h/base/", Key: provider.NewSecret("k-1234"),
		Headers: map[string]string{"Anthropic-Beta": "one-2026, two-2026", "x-team": "a", "User-Agent": "mine"}, Client: exchange.NewClient(a)}, messages.Host{})
	providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: effort, Messages: said(),
		Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeOn, Display: provider.Updates}}}))
	want := http.Header{"Accept": {"text/event-stream"}, "Accept-Encoding": {"identity"}, "Content-Type": {"application/json"}, "User-Agent": {"mine"},
		"Anthropic-Version": {"2023-06-01"}, "X-Api-Key": {"k-1234"}, "X-Team": {"a"}, "Anthropic-Beta": {"one-2026,thinking-display-updates-2026-08-18,two-2026"}}
	if diff := cmp.Diff(want, a.SentHeader); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

func TestNoKey(t *testing.T) {
	api := messages.New(exchange.Config{Provider: "anthropic", Vendor: "anthropic", BaseURL: "https://api.anthropic.com", KeyVar: "ANTHROPIC_API_KEY",
		Client: exchange.NewClient(&providertest.Host{Body: done})}, messages.Host{})
	reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: effort, Messages: said()}))
	e, ok := errors.AsType[*provider.Error](reply.Err)
	if !ok || e.Kind != provider.KindAuth || !strings.Contains(e.Error(), "ANTHROPIC_API_KEY") {
		t.Errorf("error %v", reply.Err)
	}
}

func TestUnsendable(t *testing.T) {
	for _, b := range []provider.Block{provider.Media{Type: "image/png"}, provider.ToolResult{CallID: "c", Blocks: provider.Blocks{provider.Media{Type: "image/png"}}}} {
		a := &providertest.Host{Body: done}
		req := &provider.Request{Model: effort, Messages: []provider.Message{{Role: provider.User, Blocks: provider.Blocks{b}}}}
		reply := providertest.Check(t, newAPI(a).Stream(t.Context(), req))
		e, ok := errors.AsType[*provider.Error](reply.Err)
		if !ok || e.Kind != provider.KindBadRequest || a.Sent != nil {
			t.Errorf("error %v, sent %s", reply.Err, a.Sent)
		}
	}
}

// With a budget, a round of calls that was interrupted is parted from what comes after it; without, nothing is put into
// the model's mouth.
func TestInterruptedRound(t *testing.T) {
	call := provider.ToolCall{ID: "c", Name: "read", Input: json.RawMessage(`{}`)}
	result := provider.ToolResult{CallID: "c", Blocks: provider.Blocks{provider.Text{Text: "r"}}}
	said := func(role provider.Role, b provider.Block) provider.Message {
		return provider.Message{Role: role, Blocks: provider.Blocks{b}}
	}
	for _, tt := range []struct {
		control provider.Control
		want    []string
		told    int
	}{
		// The second round is not over: the other notice says that thinking is off.
		{provider.Control{Mode: provider.ModeBudget, Budget: 2000}, []string{"user", "assistant", "user", "assistant", "user", "assistant", "user"}, 2},
		{provider.Control{Mode: provider.ModeOn}, []string{"user", "assistant", "user", "user", "assistant", "user"}, 0},
	} {
		a := &providertest.Host{Body: done}
		req := &provider.Request{Model: effort, Decision: provider.Decision{Control: tt.control}, Messages: []provider.Message{
			said(provider.User, provider.Text{Text: "One"}), said(provider.Assistant, call), said(provider.User, result),
			said(provider.User, provider.Text{Text: "Two"}), said(provider.Assistant, call), said(provider.User, result)}}
		reply := providertest.Check(t, newAPI(a).Stream(t.Context(), req))
		var roles []string
		for _, role := range gjson.GetBytes(a.Sent, "messages.#.role").Array() {
			roles = append(roles, role.Str)
		}
		if diff := cmp.Diff(tt.want, roles); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.control.Mode, diff)
		}
		if len(reply.Notices) != tt.told {
			t.Errorf("%s: notices %+v", tt.control.Mode, reply.Notices)
		}
	}
}
