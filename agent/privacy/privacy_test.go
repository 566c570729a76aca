package privacy_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/agent/privacy"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
)

// What each wire API and dialect allows, by models of the catalog.
func TestChoices(t *testing.T) {
	catalog := registry.Default()
	for ref, want := range map[string]string{
		"anthropic/claude-opus-5-5":            "full opaque none",
		"anthropic/claude-haiku-4-5-20251001":  "full opaque", // a budget
		"openai/gpt-5.5":                       "full opaque none",
		"openai/gpt-4.1":                       "full opaque none", // does not think
		"chatgpt/gpt-6-sol":                    "full opaque none",
		"copilot/claude-sonnet-5":              "full opaque none",
		"copilot/claude-haiku-4.5":             "full opaque",
		"copilot/kimi-k3":                      "full",
		"gemini/gemini-2.5-pro":                "full",
		"deepseek/deepseek-flash":              "full",
		"moonshot/kimi-k3":                     "full",
		"groq/openai/gpt-oss-120b":             "full none",
		"openrouter/anthropic/claude-sonnet-5": "full none",
		"sim/claude":                           "full opaque none",
		"sim/gpt":                              "full opaque none",
		"sim/ollama":                           "full none",
		"openai/a-model-without-a-row":         "full",
	} {
		vendor, id, _ := strings.Cut(ref, "/")
		m := catalog.Model(vendor, id)
		var got []string
		for _, s := range privacy.Choices(m) {
			got = append(got, string(s))
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", ref, diff)
		}
		for _, s := range []provider.ThinkingStorage{"", provider.StoreFull, provider.StoreOpaque, provider.StoreNone} {
			refused, _ := errors.AsType[*provider.StorageError](privacy.Check(s, m))
			if ok := s == "" || slices.Contains(got, string(s)); ok != (refused == nil) {
				t.Errorf("%s, %q: %v", ref, s, refused)
			}
			if refused != nil && (refused.Model != ref || !strings.Contains(refused.Error(), string(s)) || len(refused.Valid) != len(got)) {
				t.Errorf("%s, %q: %v", ref, s, refused)
			}
		}
	}
}

const text = "the readable text"

var (
	signed   = provider.State{Origin: provider.Origin{API: "messages"}, Data: json.RawMessage(`{"signature":"sealed"}`)}
	item     = provider.State{Origin: provider.Origin{API: "responses"}, Data: json.RawMessage(`{"id":"msg_1"}`)}
	thinking = provider.Thinking{Text: text, Kind: provider.ThinkingSummary, Signed: true, Tokens: 7, Duration: time.Second, State: signed}
)

func TestKept(t *testing.T) {
	sealed := func(b provider.Block) session.Body { return session.Sealed{Message: "M", Number: 1, Block: b} }
	bare := provider.Thinking{Kind: provider.ThinkingOmitted, Tokens: 7, Duration: time.Second}
	opaque := bare
	opaque.Signed, opaque.State = true, signed
	call := provider.ToolCall{ID: "c", Name: "read", Input: json.RawMessage(`{}`), State: item}
	for _, tt := range []struct {
		name         string
		in           session.Body
		opaque, none session.Body
	}{
		{"thinking", sealed(thinking), sealed(opaque), sealed(bare)},
		{"redacted", sealed(provider.Thinking{Kind: provider.ThinkingRedacted, Signed: true, State: signed}),
			sealed(provider.Thinking{Kind: provider.ThinkingRedacted, Signed: true, State: signed}), sealed(provider.Thinking{Kind: provider.ThinkingRedacted})},
		{"text of Messages", sealed(provider.Text{Text: "said", State: signed}), sealed(provider.Text{Text: "said", State: signed}), sealed(provider.Text{Text: "said", State: signed})},
		{"call of Responses", sealed(call), sealed(call), sealed(provider.WithoutState(call))},
		{"end", session.MessageEnd{Message: "M", State: item}, session.MessageEnd{Message: "M", State: item}, session.MessageEnd{Message: "M"}},
		{"prompt", session.Prompt{Content: provider.Blocks{provider.Text{Text: "x"}}}, session.Prompt{Content: provider.Blocks{provider.Text{Text: "x"}}}, session.Prompt{Content: provider.Blocks{provider.Text{Text: "x"}}}},
	} {
		for s, want := range map[provider.ThinkingStorage]session.Body{"": tt.in, provider.StoreFull: tt.in, provider.StoreOpaque: tt.opaque, provider.StoreNone: tt.none} {
			if diff := cmp.Diff(want, privacy.Kept(s, tt.in)); diff != "" {
				t.Errorf("%s, %q (-want +got):\n%s", tt.name, s, diff)
			}
		}
	}
	if thinking.Text != text {
		t.Error("the block was changed")
	}
}

func TestCheckpointed(t *testing.T) {
	for _, s := range []provider.ThinkingStorage{"", provider.StoreFull, provider.StoreOpaque, provider.StoreNone} {
		if !privacy.Checkpointed(s, provider.KindText) {
			t.Errorf("%q: text is not checkpointed", s)
		}
		if got := privacy.Checkpointed(s, provider.KindThinking); got != (s == "" || s == provider.StoreFull) {
			t.Errorf("%q: thinking is checkpointed: %v", s, got)
		}
	}
	if d := privacy.Display(provider.StoreOpaque, provider.Summarized); d != provider.Omitted {
		t.Errorf("opaque asks for %q", d)
	}
}
