package session

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session/tool"
)

// samples has a full body of every kind.
func samples() map[string]Body {
	state := provider.State{
		Origin: provider.Origin{API: "messages", Vendor: "anthropic", Host: "h", Account: "a", Model: "m"},
		Data:   json.RawMessage(`{"signature":"EqQBCkYI…+/=","n":1.50}`),
	}
	level, policy, display, title, reasoning := provider.High, provider.Refuse, provider.Omitted, "a <b> & \u2028", 7
	usage := provider.Usage{Input: 1, Output: 2, Reasoning: &reasoning, Cached: 3, CacheWrite: 4, Estimated: true,
		Context: &provider.Context{Used: 5, Window: 6}}
	model := ModelRef{"anthropic", "claude"}
	return map[string]Body{
		"prompt": Prompt{Message: msgA, Content: provider.Blocks{provider.Text{Text: "say\x00 \"é\""}, provider.Media{Type: "image/png", Data: []byte{0, 255}}},
			Override: Override{Model: &model, Level: provider.Max, Display: provider.Updates},
			Stamp:    &Stamp{"", []byte{0, 255}}, Queued: true, Steer: true},
		"turn_start": TurnStart{Model: model, Reasoning: provider.Decision{Source: provider.SourceTurn, Requested: provider.Max,
			Effective: provider.High, Fallback: provider.Downgrade, Reason: provider.LevelNotSupported,
			Supported: []provider.Level{provider.Low, provider.High}, KnownModel: true, Wire: json.RawMessage(`{"thinking":{}}`)}},
		"steered":    Steered{turnB},
		"verdict":    Verdict{Confirm: "c", Tool: "t", Action: AllowOnce, By: "client", Grant: &tool.Grant{ID: "c", Text: "Commands that begin with `ls`", Scope: tool.PrefixScope, Tool: "t", Prefix: []string{"ls"}}},
		"tool_start": ToolStart{msgA, 2},
		"tool_end": ToolEnd{Message: msgB, Number: 1, Reply: msgA, CallID: "call_1", Failed: true, DurationMS: 7,
			Content: provider.Blocks{provider.Text{Text: "no"}, provider.Media{Type: "image/png", Data: []byte{1}}}},
		"block": Sealed{msgA, 3, provider.Thinking{Text: "hm", Kind: provider.ThinkingFull, Signed: true, Tokens: 9, Estimated: true,
			Duration: 412 * time.Millisecond, State: state}},
		"message_end": MessageEnd{Message: msgA, StopReason: "end_turn", Raw: "stop", Model: "claude-1", RequestID: "req", Usage: usage,
			RawUsage: json.RawMessage(`{"a":1}`), State: state, Incomplete: CutOff},
		"retry": Retry{msgA, []int{0, 2}, usage},
		"setting": Setting{Model: &model, Level: &level, Fallback: &policy, Display: &display, Title: &title,
			Metadata: map[string]json.RawMessage{"a": json.RawMessage("null"), "b": json.RawMessage(`{"c":[1]}`)}},
		"repair":     Repair{"messages", provider.Repair("drop_block")},
		"left_out":   LeftOut{Model: model, Messages: []MessageID{msgA}, Emptied: []MessageID{msgB}, Why: "400"},
		"compaction": Compaction{Upto: msgA, Summary: "what was said", Model: model, Usage: usage, InTurn: true},
		"turn_end": TurnEnd{StopReason: "limit", Limit: "bytes", Usage: usage, DurationMS: 12,
			Error: &Failure{Kind: "auth", Message: "no key", Status: 401, RetryAfterMS: 5, RequestID: "r", Ref: "x"}},
	}
}

func TestEntryRoundTrip(t *testing.T) {
	all := samples()
	for kind := range bodies {
		body, ok := all[kind]
		if !ok {
			t.Errorf("kind %q has no sample here: add one", kind)
			continue
		}
		want := Entry{Seq: 1<<63 + 1, Time: -5, Turn: turnA, Body: body}
		data, err := json.Marshal(want)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		kept, err := want.encode()
		if err != nil || string(kept) != string(data) { // what encoding/json makes of it is valid and compact
			t.Errorf("%s is kept as %s (%v), want %s", kind, kept, err, data)
		}
		var got Entry
		if err := json.Unmarshal(data, &got); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
	for kind, body := range all {
		if bodies[kind] == nil || body.kind() != kind {
			t.Errorf("%T calls itself %q, and is kept as %q", body, body.kind(), kind)
		}
	}
}

func TestEntryRefused(t *testing.T) {
	for _, data := range []string{
		``, `null`, `{}`, `[]`, `{"kind":"prompt"}`, `{"kind":"from the future","body":{}}`, `{"kind":"block","body":{}}`,
		`{"kind":"block","body":{"block":{"type":"hologram"}}}`, `{"kind":"turn_end","body":{"duration_ms":"long"}}`,
		`{"kind":"prompt","body":{"content":[{"type":"text"}]}}`, `{"seq":-1,"kind":"retry","body":{}}`,
	} {
		var e Entry
		if err := json.Unmarshal([]byte(data), &e); err == nil {
			t.Errorf("%s was taken as %v", data, e)
		}
	}
	if data, err := json.Marshal(Entry{}); err == nil {
		t.Errorf("an entry without a body was written as %s", data)
	}
}

func FuzzEntry(f *testing.F) {
	for _, body := range samples() {
		data, err := json.Marshal(Entry{Seq: 1, Time: 2, Turn: turnA, Body: body})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var first, second Entry
		if json.Unmarshal(data, &first) != nil {
			return
		}
		once, err := json.Marshal(first)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if err := json.Unmarshal(once, &second); err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, once)
		}
		twice, err := json.Marshal(second)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("written twice, it differs: %v\n%s\n%s", err, once, twice)
		}
	})
}
