package ollama_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/ollama"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/sim"
	_ "github.com/thinkd/thinkd/provider/sim/faces"
)

// simulated is the adapter in front of the simulator, which refuses what the server refuses.
func simulated(t *testing.T) (*ollama.API, *sim.Server) {
	t.Helper()
	server := sim.New(sim.Config{})
	client := providertest.Simulated(t, server)
	return ollama.New(exchange.Config{Provider: "sim", Vendor: "ollama", BaseURL: "http://simulator",
		Client: client}), server
}

// rows are those that the server's list gives.
func rows(t *testing.T, api *ollama.API) map[string]provider.Model {
	t.Helper()
	list, err := api.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]provider.Model{}
	for _, m := range list {
		byID[m.ID] = m
	}
	return byID
}

// What is installed is listed with what it can.
func TestModels(t *testing.T) {
	api, server := simulated(t)
	byID := rows(t, api)
	if len(byID) != 10 || len(server.Refusals()) > 0 {
		t.Fatalf("%d models, refusals %+v", len(byID), server.Refusals())
	}
	want := provider.Model{Provider: "sim", ID: "gpt-oss:20b", Name: "gpt-oss:20b", Known: true, Source: provider.FromLive, Window: 131_072, Tools: true,
		Input: []string{"text"}, Thinking: provider.Capability{Control: provider.ControlEffort, Default: provider.Medium,
			Levels: []provider.Level{provider.Low, provider.Medium, provider.High}}}
	if diff := cmp.Diff(want, byID["gpt-oss:20b"]); diff != "" {
		t.Errorf("gpt-oss:20b (-want +got):\n%s", diff)
	}
	for id, control := range map[string]provider.ControlKind{"qwen3.5:9b": provider.ControlToggle, "qwen3.8:14b": provider.ControlEffort,
		"llama3.2:3b": provider.ControlNone, "deepseek-r1:8b": provider.ControlToggle} {
		if got := byID[id].Thinking.Control; got != control {
			t.Errorf("%s is controlled by %s, want %s", id, got, control)
		}
	}
	if input := byID["qwen3.5:9b"].Input; len(input) != 2 {
		t.Errorf("qwen3.5:9b takes %v, want images too", input)
	}
}

// A response that is no list is an error. A model that disappears while the list is read is left out.
func TestModelsBroken(t *testing.T) {
	tests := []struct {
		tags, show string
		want       string // in the error; empty: no models and none
	}{
		{`{"models":[{"name":"a"}]}`, "", ""},
		{`{"models":[]}`, "", ""},
		{`{"object":"list"}`, "", "no list of models"},
		{`<html>`, "", "HTML"},
		{`{"models":[`, "", "not JSON"},
		{`{"models":[{"name":"a"}]}`, `{"capabilities"`, "model a"},
	}
	for _, test := range tests {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			body := test.tags
			if r.URL.Path == "/api/show" {
				if body = test.show; body == "" {
					w.WriteHeader(http.StatusNotFound)
					body = `{"error":"model 'a' not found"}`
				}
			}
			fmt.Fprint(w, body)
		}))
		api := ollama.New(exchange.Config{Provider: "ollama", Vendor: "ollama", BaseURL: server.URL})
		list, err := api.Models(t.Context())
		server.Close()
		switch {
		case test.want == "" && (err != nil || len(list) > 0):
			t.Errorf("%s: %v, error %v", test.tags, list, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: error %v, want one with %q", test.tags, err, test.want)
		}
	}
}

// A conversation over models, levels and tool rounds: nothing that goes back is refused, and all thinking goes back.
func TestConversation(t *testing.T) {
	api, server := simulated(t)
	byID := rows(t, api)
	effort := func(l provider.Level) provider.Control {
		return provider.Control{Mode: provider.ModeEffort, Effort: l}
	}
	on, off := provider.Control{Mode: provider.ModeOn}, provider.Control{Mode: provider.ModeOff}
	steps := []struct {
		model   string
		control provider.Control
		say     string
		thinks  bool
	}{
		{"qwen3.5:9b", on, "Which date is later?", true},
		{"qwen3.5:9b", off, "Read it. [[sim: tool=read rounds=2]]", false},
		{"gpt-oss:20b", effort(provider.High), "Go on. [[sim: tool=read]]", true},
		{"gpt-oss:120b-cloud", effort(provider.Low), "And you?", true},
		{"qwen3.8:14b", effort(provider.High), "With a level", true},
		{"llama3.2:3b", off, "Without [[sim: tool=read]]", false},
		{"ollama-leaking", off, "Leaking [[sim: tool=read]]", true},
		{"ollama", provider.Control{Mode: provider.ModeOmit}, "As you like", true},
	}
	var history []provider.Message
	thoughts := 0
	for i, step := range steps {
		row, ok := byID[step.model]
		if !ok {
			t.Fatalf("no model %s", step.model)
		}
		before := len(history)
		history = providertest.Turn(t, api, provider.Request{Model: row, System: "Be brief.", Tools: providertest.ReadTool,
			Messages: history, Decision: provider.Decision{Control: step.control}}, step.say)
		thought := false
		for _, m := range history[before:] {
			for _, b := range m.Blocks {
				if _, ok := b.(provider.Thinking); ok {
					thought = true
					thoughts++
				}
			}
		}
		if thought != step.thinks {
			t.Errorf("step %d, %s: thinking %t, want %t", i, step.model, thought, step.thinks)
		}
	}
	if refused := server.Refusals(); len(refused) > 0 {
		t.Errorf("refused: %+v", refused)
	}
	list := server.Requests()
	last := string(list[len(list)-1].Body)
	if n := strings.Count(last, `"thinking":"`); n != thoughts-1 || strings.Contains(last, "<think>") {
		t.Errorf("%d messages with thinking in the last request, want %d, and no tags", n, thoughts-1)
	}
}

// A model whose text begins with thinking is known after the first time; when it then has none, its answer is said.
func TestLeakIsLearned(t *testing.T) {
	api, server := simulated(t)
	ask := func() provider.Blocks {
		t.Helper()
		req := provider.Request{Model: provider.Model{ID: "deepseek-r1:8b"}, Messages: []provider.Message{providertest.User("Which date is later?")},
			Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeOff}}}
		reply := providertest.Check(t, api.Stream(t.Context(), &req))
		if reply.Err != nil {
			t.Fatal(reply.Err)
		}
		return reply.Blocks
	}
	kinds := func(list provider.Blocks) (s []provider.BlockKind) {
		for _, b := range list {
			s = append(s, provider.KindOf(b))
		}
		return s
	}
	text, thinking := provider.KindText, provider.KindThinking
	first := ask()
	if diff := cmp.Diff([]provider.BlockKind{text, text}, kinds(first)); diff != "" {
		t.Errorf("the first time (-want +got):\n%s", diff)
	}
	second := ask()
	if diff := cmp.Diff([]provider.BlockKind{thinking, text}, kinds(second)); diff != "" {
		t.Errorf("the second time (-want +got):\n%s", diff)
	}
	server.Script(sim.Answer{Parts: []sim.Part{{Kind: sim.Text, Text: "The second one is."}}})
	third := ask()
	if diff := cmp.Diff([]provider.BlockKind{thinking, text}, kinds(third)); diff != "" {
		t.Fatalf("without a tag (-want +got):\n%s", diff)
	}
	if got := third[1].(provider.Text).Text; got != "The second one is." || !provider.StateOf(third[0]).IsZero() {
		t.Errorf("without a tag the answer is %q, and what was shown as thinking has the state %s", got, provider.StateOf(third[0]).Data)
	}
}

// What goes wrong on a real connection, by kind.
func TestFaultsOfSimulator(t *testing.T) {
	api, _ := simulated(t)
	req := provider.Request{Model: provider.Model{ID: "ollama"}, Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeOn}}}
	providertest.Faults(t, api, req, map[string]provider.Kind{
		"fault=rate_limit":           provider.KindRateLimit,
		"fault=overloaded":           provider.KindOverloaded,
		"fault=overloaded after=3":   provider.KindOverloaded,
		"fault=server_error after=3": provider.KindTransport,
		"fault=not_found":            provider.KindBadRequest,
		"fault=auth":                 provider.KindAuth,
		"fault=auth after=3":         provider.KindAuth,
		"fault=too_large":            provider.KindTooLong,
		"fault=cut after=3":          provider.KindTransport,
		"fault=end after=3":          provider.KindTransport,
		"fault=html":                 provider.KindBadRequest,
		"fault=json_error":           provider.KindTransport,
		"fault=empty":                provider.KindBadRequest,
		"fault=gzip":                 provider.KindBadRequest,
	})
	providertest.Stops(t, api, req, map[string]provider.StopReason{
		"fault=noise": provider.StopEndTurn, "fault=whole": provider.StopEndTurn, "stop=max_tokens": provider.StopMaxTokens,
	})
	req.Messages = []provider.Message{providertest.User(strings.Repeat("long ", 80_000))}
	reply := providertest.Check(t, api.Stream(t.Context(), &req))
	if e, ok := errors.AsType[*provider.Error](reply.Err); !ok || e.Kind != provider.KindTooLong {
		t.Errorf("a long prompt: error %v, want one of kind %s", reply.Err, provider.KindTooLong)
	}
}

// What goes on the wire for a decision, written by hand from docs: thinking.
func TestWire(t *testing.T) {
	known := func(c provider.ControlKind) provider.Model {
		return provider.Model{ID: "m", Known: true, Thinking: provider.Capability{Control: c}}
	}
	tests := []struct {
		model   provider.Model
		control provider.Control
		want    string
	}{
		{known(provider.ControlToggle), provider.Control{Mode: provider.ModeOmit}, `{}`},
		{known(provider.ControlToggle), provider.Control{Mode: provider.ModeOn}, `{"think":true}`},
		{known(provider.ControlToggle), provider.Control{Mode: provider.ModeOff}, `{"think":false}`},
		{known(provider.ControlNone), provider.Control{Mode: provider.ModeOff}, `{}`},
		{known(provider.ControlEffort), provider.Control{Mode: provider.ModeEffort, Effort: provider.Medium}, `{"think":"medium"}`},
		{provider.Model{ID: "m"}, provider.Control{Mode: provider.ModeEffort, Effort: provider.Max}, `{"think":"max"}`},
		{provider.Model{ID: "m"}, provider.Control{Mode: provider.ModeEffort, Effort: provider.Minimal}, `{"think":"low"}`},
		{provider.Model{ID: "m"}, provider.Control{Mode: provider.ModeBudget, Budget: 4096}, `{"think":true}`},
	}
	api, _ := simulated(t)
	for _, test := range tests {
		got, err := api.Wire(&provider.Request{Model: test.model, Decision: provider.Decision{Control: test.control}})
		if err != nil || string(got) != test.want {
			t.Errorf("%+v: %s, error %v; want %s", test.control, got, err, test.want)
		}
	}
	if _, err := api.Wire(&provider.Request{Decision: provider.Decision{Control: provider.Control{Mode: "loud"}}}); err == nil {
		t.Error("a mode that does not exist was taken")
	}
}

// Without a sign-in the cloud says where to go.
func TestSignIn(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		if err := json.NewEncoder(w).Encode(map[string]string{"error": "unauthorized", "signin_url": "https://ollama.com/connect?name=x"}); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	api := ollama.New(exchange.Config{Provider: "ollama", Vendor: "ollama", BaseURL: server.URL})
	reply := providertest.Check(t, api.Stream(context.Background(), &provider.Request{Model: provider.Model{ID: "gpt-oss:120b-cloud"}, Messages: []provider.Message{providertest.User("Hi")}}))
	e, ok := errors.AsType[*provider.Error](reply.Err)
	if !ok || e.Kind != provider.KindAuth || !strings.Contains(e.Message, "https://ollama.com/connect") {
		t.Errorf("error %v, want one of kind auth that tells the address", reply.Err)
	}
}
