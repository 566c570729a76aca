package messages_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/messages"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/registry"
)

func newHost(dialect string, rt http.RoundTripper) *messages.API {
	return messages.New(exchange.Config{
		Provider: dialect, Vendor: dialect, BaseURL: "https://api.example.com/anthropic",
		Key: provider.NewSecret("sk-fixture"), Client: exchange.NewClient(rt),
	}, messages.HostNamed(dialect))
}

func TestHostFixtures(t *testing.T) {
	for _, dialect := range []string{"deepseek", "minimax", "cloud"} {
		t.Run(dialect, func(t *testing.T) {
			providertest.Run(t, providertest.Suite{
				Over:   suite().Over,
				Glob:   "testdata/" + dialect + "/*.txtar",
				New:    func(rt http.RoundTripper) provider.Provider { return newHost(dialect, rt) },
				Type:   "text/event-stream",
				Split:  providertest.SplitBlankLines,
				Noise:  []byte(": comment\n\nevent: novelty\ndata: {\"type\":\"novelty\",\"index\":0}\n\n"),
				Update: *update,
			})
		})
	}
}

// strict is a host that does not sign: it refuses a signature, Anthropic's own headers and members, and an answer with
// tool calls without thinking.
type strict struct{ asked int }

func (s *strict) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	s.asked++
	respond := func(status int, kind, text string) *http.Response {
		return &http.Response{StatusCode: status, Request: req, Header: http.Header{"Content-Type": {kind}},
			Body: io.NopCloser(strings.NewReader(text))}
	}
	if why := s.refuses(req, gjson.ParseBytes(body)); why != "" {
		return respond(http.StatusBadRequest, "application/json", fmt.Sprintf(`{"error":{"message":%q}}`, why)), nil
	}
	answer := fmt.Sprintf(`{"type":"message","role":"assistant","model":"m","stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1},`+
		`"content":[{"type":"thinking","thinking":"Thought %[1]d."},{"type":"tool_use","id":"c%[1]d","name":"read","input":{}}]}`, s.asked)
	return respond(http.StatusOK, "application/json", answer), nil
}

func (s *strict) refuses(req *http.Request, body gjson.Result) string {
	switch {
	case req.Header.Get("anthropic-beta") != "":
		return "unknown beta"
	case body.Get("thinking.display").Exists():
		return "unknown display"
	}
	for _, m := range body.Get("messages").Array() {
		thought, calls := false, false
		for _, b := range m.Get("content").Array() {
			if b.Get("signature").Exists() {
				return "a signature"
			}
			thought = thought || b.Get("type").Str == "thinking"
			calls = calls || b.Get("type").Str == "tool_use"
		}
		if calls && !thought {
			return "thinking must be passed back"
		}
	}
	return ""
}

func TestThinkingWithoutASignatureGoesBack(t *testing.T) {
	row := provider.Model{ID: "m", Known: true, Tools: true, Thinking: provider.Capability{Control: provider.ControlToggle,
		Levels: []provider.Level{provider.Off, provider.On}, Default: provider.On, Off: provider.OffFull}}
	for _, dialect := range slices.DeleteFunc(messages.Hosts(), func(d string) bool { return !messages.HostNamed(d).Plain }) {
		t.Run(dialect, func(t *testing.T) {
			host := &strict{}
			api := newHost(dialect, host)
			history := []provider.Message{providertest.User("go")}
			for range 4 {
				req := &provider.Request{Model: row, Messages: history, Tools: []provider.Tool{{Name: "read", Schema: json.RawMessage(`{"type":"object"}`)}},
					Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeOn}}}
				reply := providertest.Check(t, api.Stream(t.Context(), req))
				if reply.Err != nil {
					t.Fatal(reply.Err)
				}
				thinking, _ := reply.Blocks[0].(provider.Thinking)
				if want := fmt.Sprintf("Thought %d.", host.asked); thinking.Text != want || thinking.Kind != provider.ThinkingFull || !thinking.Signed {
					t.Errorf("got %+v, want all of %q, to be sent back", thinking, want)
				}
				history = append(history, provider.Message{Role: provider.Assistant, Blocks: reply.Blocks},
					provider.Message{Role: provider.User, Blocks: provider.Blocks{provider.ToolResult{CallID: fmt.Sprintf("c%d", host.asked)}}})
			}
			if _, err := api.Models(t.Context()); !errors.Is(err, provider.ErrNoList) {
				t.Errorf("its list: %v", err)
			}
			count, err := api.Convert(&provider.Request{Model: row, Messages: history})
			if err != nil || count.Kept != 4 || count.Dropped != 0 {
				t.Errorf("of four blocks of thinking: %+v, %v", count, err)
			}
		})
	}
}

// Claude at Copilot thinks, in tool rounds too, with an image and over a change of the model: nothing that goes there is
// refused, and each call says who made it.
func TestClaudeAtCopilot(t *testing.T) {
	server := sim.New(sim.Config{})
	client := providertest.Simulated(t, server)
	api := messages.New(exchange.Config{Provider: "copilot", Vendor: "copilot", BaseURL: "http://simulator/copilot",
		Context: json.RawMessage(`{"edits":[{"type":"clear_thinking_20251015"}]}`), Key: provider.NewSecret("tid=1"), Client: client}, messages.HostNamed("copilot"))
	catalog := registry.Default()
	tools := []provider.Tool{{Name: "read"}}
	var history []provider.Message
	for _, step := range []struct {
		model string
		level provider.Level
		say   provider.Message
		kind  provider.ThinkingKind
	}{
		{"claude-haiku-4.5", provider.High, providertest.User("Read it. [[sim: tool=read]]"), provider.ThinkingSummary},
		{"claude-haiku-4.5", provider.Low, provider.Message{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "What is it?"}, provider.Media{Type: "image/png", Data: pixel}}}, provider.ThinkingSummary},
		{"claude-sonnet-5", provider.Max, providertest.User("And now? [[sim: tool=read]]"), provider.ThinkingSummary},
		{"claude-opus-5.5", provider.Medium, providertest.User("And you? [[sim: tool=read]]"), provider.ThinkingSummary},
		{"claude-sonnet-4.6", provider.High, providertest.User("And you?"), provider.ThinkingSummary},
		{"claude-sonnet-5", provider.Off, providertest.User("Shortly."), ""},
	} {
		row := catalog.Model("copilot", step.model)
		if row.API != "messages" || row.Dialect != "copilot" {
			t.Errorf("%s is spoken to in %s/%s", step.model, row.API, row.Dialect)
		}
		decision, err := registry.Resolve(registry.Ask{Level: step.level, Source: provider.SourceTurn}, row)
		if err != nil {
			t.Fatal(err)
		}
		history = append(history, step.say)
		for round, who := 0, "user"; ; round, who = round+1, "agent" {
			reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: row, Tools: tools, Messages: history, Decision: decision}))
			if reply.Err != nil {
				t.Fatalf("%s at %s: %v", step.model, step.level, reply.Err)
			}
			sent := server.Requests()[len(server.Requests())-1]
			if got := sent.Header.Get("X-Initiator"); got != who {
				t.Errorf("%s, round %d: the initiator is %q, want %q", step.model, round, got, who)
			}
			if round == 0 {
				var kind provider.ThinkingKind
				if thought, ok := reply.Blocks[0].(provider.Thinking); ok {
					kind = thought.Kind
				}
				if kind != step.kind {
					t.Errorf("%s at %s: the thinking is %q, want %q", step.model, step.level, kind, step.kind)
				}
			}
			history = append(history, provider.Message{Role: provider.Assistant, Blocks: reply.Blocks})
			if reply.Stop.Reason != provider.StopToolUse {
				break
			}
			history = append(history, providertest.Results(reply.Blocks, "package a"))
		}
	}
	if refused := server.Refusals(); len(refused) > 0 {
		t.Errorf("refused: %+v", refused)
	}
}

var pixel = []byte("\x89PNG\r\n\x1a\n")
