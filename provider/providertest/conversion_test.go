package providertest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/vendors"
)

// silent answers every request with nothing and keeps its body.
type silent struct{ body string }

func (s *silent) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	s.body = string(body)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}, err
}

// conversionTest is what becomes of thinking in the history of an API.
type conversionTest struct {
	name    string
	model   string
	own     provider.Origin
	thought string // the state of a thought
	answer  string // the state of what the first one led to; empty: it has none
	want    provider.Conversion
	sent    string // which thoughts are in the body
}

// TestConversion gives each API a history in which thinking stands at the beginning of an answer, at its end and alone,
// is another vendor's, and was cut off. What may go back is for the API to say: Convert tells it, the notice tells the
// same, and the body has that and no more.
func TestConversion(t *testing.T) {
	const (
		alone    = "nothing was said with it"
		ends     = "an answer must not end in thinking here"
		useless  = "its host does not take it back"
		follower = "what it led to is not there"
	)
	tests := []conversionTest{
		{name: "messages", own: provider.Origin{API: "messages", Vendor: "anthropic"}, model: "claude-opus-5",
			thought: `{"type":"thinking","thinking":"%[1]s","signature":"S"}`,
			want:    provider.Conversion{Kept: 1, Dropped: 4, Why: []string{ends, provider.WhyForeign, provider.WhyUnsealed}}, sent: "first"},
		{name: "responses", own: provider.Origin{API: "responses", Vendor: "openai", Host: "host"}, model: "gpt-5.5",
			thought: `{"type":"reasoning","id":"rs_%[1]s","summary":[{"type":"summary_text","text":"%[1]s"}],"encrypted_content":"E"}`,
			answer:  `{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"a"}]}`,
			want:    provider.Conversion{Kept: 1, Dropped: 4, Why: []string{follower, provider.WhyForeign, provider.WhyUnsealed}}, sent: "first"},
		{name: "chat, its own thinking", own: provider.Origin{API: "chat", Vendor: "zai"}, model: "glm-5.2",
			thought: `{"reasoning_content":"%[1]s"}`,
			want:    provider.Conversion{Kept: 2, Dropped: 3, Why: []string{alone, provider.WhyForeign, provider.WhyUnsealed}}, sent: "first last"},
		{name: "chat, any thinking", own: provider.Origin{API: "chat", Vendor: "vllm"}, model: "qwen",
			thought: `{"reasoning":"%[1]s"}`,
			want:    provider.Conversion{Kept: 2, Dropped: 2, AsText: 1, Why: []string{alone, provider.WhyAsText, provider.WhyUnsealed}}, sent: "first last foreign"},
		{name: "chat, none", own: provider.Origin{API: "chat", Vendor: "xai"}, model: "grok-4.3",
			thought: `{"reasoning_content":"%[1]s"}`,
			want:    provider.Conversion{Dropped: 5, Why: []string{useless, alone, provider.WhyForeign, provider.WhyUnsealed}}},
		{name: "gemini", own: provider.Origin{API: "gemini", Model: "gemini-3.5-flash"}, model: "gemini-3.8-flash",
			thought: `[{"text":"%[1]s","thought":true,"thoughtSignature":"S"}]`,
			want:    provider.Conversion{Kept: 3, Dropped: 2, Why: []string{provider.WhyForeign, provider.WhyUnsealed}}, sent: "first last only"},
		{name: "ollama", own: provider.Origin{API: "ollama"}, model: "qwen3", thought: `{}`,
			want: provider.Conversion{Kept: 2, Dropped: 2, AsText: 1, Why: []string{alone, provider.WhyAsText, provider.WhyUnsealed}}, sent: "first last foreign"},
		{name: "converse", own: provider.Origin{API: "converse", Vendor: "bedrock", Model: "us.amazon.nova-2-lite-v1:0"}, model: "amazon.nova-2-lite-v1:0",
			thought: `{"reasoningContent":{"reasoningText":{"text":"%[1]s"}}}`,
			want:    provider.Conversion{Kept: 1, Dropped: 4, Why: []string{ends, alone, provider.WhyForeign, provider.WhyUnsealed}}, sent: "first"},
		{name: "cohere", own: provider.Origin{API: "cohere"}, model: "command-x", thought: `{"thinking":"%[1]s"}`,
			want: provider.Conversion{Dropped: 5, Why: []string{"the model takes none without calls of tools", alone, provider.WhyForeign, provider.WhyUnsealed}}},
		{name: "converse, refused", own: provider.Origin{API: "converse", Vendor: "bedrock", Model: "deepseek.v3.2"}, model: "deepseek.v3.2",
			thought: `{"reasoningContent":{"reasoningText":{"text":"%[1]s"}}}`,
			want:    provider.Conversion{Dropped: 5, Why: []string{"the model does not take its own thinking back", provider.WhyForeign, provider.WhyUnsealed}}},
	}
	for _, api := range vendors.APIs {
		if !slices.ContainsFunc(tests, func(tt conversionTest) bool { return tt.own.API == api.Name }) {
			t.Errorf("no row for the API %s", api.Name)
		}
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			thought := func(text string) provider.Block {
				return provider.Thinking{Text: text, Kind: provider.ThinkingSummary, Signed: true,
					State: provider.State{Origin: tt.own, Data: json.RawMessage(fmt.Sprintf(tt.thought, text))}}
			}
			foreign := provider.Thinking{Text: "foreign", Kind: provider.ThinkingFull, Signed: true,
				State: provider.State{Origin: provider.Origin{API: "elsewhere"}, Data: json.RawMessage(`{}`)}}
			said := func(role provider.Role, blocks ...provider.Block) provider.Message {
				return provider.Message{Role: role, Blocks: blocks}
			}
			answer := provider.Text{Text: "a"}
			if tt.answer != "" {
				answer.State = provider.State{Origin: tt.own, Data: json.RawMessage(tt.answer)}
			}
			words := func(s string) provider.Block { return provider.Text{Text: s} }
			req := &provider.Request{Model: provider.Model{ID: tt.model}, Messages: []provider.Message{
				said(provider.User, words("One")), said(provider.Assistant, thought("first"), answer),
				said(provider.User, words("Two")), said(provider.Assistant, words("b"), thought("last")),
				said(provider.User, words("Three")), said(provider.Assistant, thought("only")),
				said(provider.User, words("Four")), said(provider.Assistant, foreign, provider.Thinking{Text: "cut"}, words("c")),
				said(provider.User, words("Five")),
			}}
			wire := &silent{}
			api, _ := vendors.APINamed(tt.own.API)
			dialect := ""
			if tt.own.API == "chat" {
				dialect = tt.own.Vendor
			}
			p, err := api.New(exchange.Config{Vendor: tt.own.Vendor, BaseURL: "http://host", Client: exchange.NewClient(wire)}, dialect, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.(provider.Converter).Convert(req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("converted (-want +got):\n%s", diff)
			}
			if wire.body != "" {
				t.Errorf("to tell is not to send: %s", wire.body)
			}
			reply := providertest.Check(t, p.Stream(t.Context(), req))
			if diff := cmp.Diff(got.Notices(), reply.Notices[:min(1, len(reply.Notices))]); diff != "" {
				t.Errorf("notices (-Convert +Stream):\n%s", diff)
			}
			for _, text := range []string{"first", "last", "only", "foreign", "cut"} {
				if want, got := strings.Contains(tt.sent, text), strings.Contains(wire.body, `"`+text+`"`) || strings.Contains(wire.body, text+`\n`); want != got {
					t.Errorf("the thought %q is in the body: %v, want %v: %s", text, got, want, wire.body)
				}
			}
		})
	}
}
