package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/agent/transcript"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
)

// poison is what a model says, or a tool returns, that vendors refuse to see in a history.
type poison struct {
	name    string
	answer  func(placed) []sim.Part
	results provider.Blocks // of its calls
	failed  bool
	cut     bool // the user speaks before the model answers the results
	twice   bool // the user speaks twice
}

func partOf(id, name string) sim.Part {
	return sim.Part{Kind: sim.Call, ID: id, Name: name, Input: json.RawMessage(`{"path":"a"}`)}
}

func says(parts ...sim.Part) func(placed) []sim.Part {
	return func(placed) []sim.Part { return parts }
}

var poisons = []poison{
	{name: "spaces before a call", answer: says(sim.Part{Kind: sim.Text, Text: "\n\n"}, partOf("", "read")), results: provider.Blocks{provider.Text{Text: "A"}}},
	{name: "spaces and nothing else", answer: says(sim.Part{Kind: sim.Text, Text: " \n"})},
	{name: "control tokens in a name", answer: says(partOf("", "read_file<|channel|>commentary")), results: provider.Blocks{provider.Text{Text: "none"}}, failed: true},
	{name: "a name space", answer: says(partOf("", "functions.read")), results: provider.Blocks{provider.Text{Text: "none"}}, failed: true},
	{name: "spaces in a name", answer: says(partOf("", "read the file!")), results: provider.Blocks{provider.Text{Text: "none"}}, failed: true},
	{name: "a long name", answer: says(partOf("", strings.Repeat("read", 50))), results: provider.Blocks{provider.Text{Text: "none"}}, failed: true},
	{name: "a digit in front", answer: says(partOf("", "1st")), results: provider.Blocks{provider.Text{Text: "none"}}, failed: true},
	{name: "a long id", answer: func(p placed) []sim.Part {
		id := "call_" + strings.Repeat("0123456789", 5)
		if p.row.Dialect == "mistral" {
			id = "" // it makes its own
		}
		return []sim.Part{partOf(id, "read")}
	}, results: provider.Blocks{provider.Text{Text: "A"}}},
	{name: "an id twice", answer: func(p placed) []sim.Part {
		id := "functions.read:0"
		switch {
		case p.row.Dialect == "mistral":
			id = "abcdefghi"
		case p.row.API == "messages":
			id = "toolu_1"
		}
		return []sim.Part{partOf(id, "read"), partOf(id, "read")}
	}, results: provider.Blocks{provider.Text{Text: "A"}}},
	{name: "a failure without a word", answer: says(partOf("", "read")), failed: true},
	{name: "a failure of spaces", answer: says(partOf("", "read")), results: provider.Blocks{provider.Text{Text: "\n"}}, failed: true},
	{name: "a result of nothing", answer: says(partOf("", "read"))},
	{name: "a failure with an image", answer: says(partOf("", "read")), results: provider.Blocks{picture}, failed: true},
	{name: "an image, and the user speaks", answer: says(partOf("", "read")), results: provider.Blocks{picture}, cut: true},
	{name: "the user speaks after a tool", answer: says(partOf("", "read")), results: provider.Blocks{provider.Text{Text: "A"}}, cut: true},
	{name: "the user speaks twice", answer: says(answered), twice: true},
}

// TestPoisonedHistories has each seat say what vendors refuse, and asks it and a seat of each API again: nothing is refused,
// and what was sent once is sent again byte for byte. The short form has each seat say a part of it, a sixth if its API has six seats: seats of one API follow
// each other, so that each API says all of it.
func TestPoisonedHistories(t *testing.T) {
	catalog := registry.Default()
	others := []seat{{model: "claude", level: provider.High}, {model: "claude-budget", level: provider.Medium}, {model: "gpt", level: provider.High},
		{model: "openai/gpt-5.5", level: provider.Low, api: "chat", dialect: "openai"}, {model: "mistral", level: provider.High},
		{model: "llamacpp", level: provider.On}, {model: "gemini", level: provider.High}, {model: "ollama", level: provider.On},
		{model: "amazon.nova", level: provider.High}, {model: "cohere", level: provider.High}}
	var there []placed
	for _, s := range others {
		there = append(there, s.place(t, catalog))
	}
	ofAPI := map[string]int{}
	for _, s := range seats {
		ofAPI[s.place(t, catalog).row.API]++
	}
	for n, s := range seats {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			p, first := s.place(t, catalog), n
			for i, poison := range poisons {
				if !*crossAll && (first+i)%min(6, ofAPI[p.row.API]) != 0 {
					continue
				}
				r, end := on(nil)
				if err := r.take(t, p, poison); err != nil {
					t.Errorf("%s: %v", poison.name, err)
				}
				for range 2 { // each poison comes to each of them
					n++
					next := there[(n+i)%len(there)]
					if err := r.ask(t, next); err != nil {
						t.Errorf("%s, and then %s: %v", poison.name, next, err)
					}
				}
				if err := end(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// take leads a seat through a poisoned turn, and asks it twice more.
func (r *ride) take(t *testing.T, p placed, poison poison) error {
	turn := r.prompt(p, provider.Text{Text: "One"})
	if poison.twice {
		r.prompt(p, provider.Text{Text: "One more"})
		turn = r.view.Turns[len(r.view.Turns)-1]
	}
	m, err := r.call(t.Context(), p, turn, poison.answer(p)...)
	if err != nil {
		return fmt.Errorf("at first: %w", err)
	}
	if calls := m.Calls(); len(calls) > 0 {
		result := r.message(provider.User)
		result.Answers = m.ID
		for i, c := range calls {
			result.Parts = append(result.Parts, session.Part{Number: i, Block: provider.ToolResult{CallID: c.ID, Blocks: poison.results, Failed: poison.failed}})
		}
		turn.Messages = append(turn.Messages, result)
		if !poison.cut {
			if _, err := r.call(t.Context(), p, turn, answered); err != nil {
				return fmt.Errorf("after the results: %w", err)
			}
		}
	}
	for range 2 {
		if err := r.ask(t, p); err != nil {
			return err
		}
	}
	return nil
}

// ask says something plain to a seat, and holds what is sent against what was sent before.
func (r *ride) ask(t *testing.T, p placed) error {
	before := r.bodies(p)
	turn := r.prompt(p, provider.Text{Text: "And?"})
	if _, err := r.call(t.Context(), p, turn, answered); err != nil {
		return fmt.Errorf("asked again: %w", err)
	}
	after := r.bodies(p)
	if len(before) == 0 || len(after) == 0 {
		return nil
	}
	last, now := before[len(before)-1], after[len(after)-1]
	for i, m := range last[:len(last)-1] {
		if i >= len(now) || !bytes.Equal(m, now[i]) {
			return fmt.Errorf("message %d was\n%s\nand is now\n%s", i, m, now[min(i, len(now)-1)])
		}
	}
	return nil
}

// bodies is the messages of each request to a seat's model by its API.
func (r *ride) bodies(p placed) (all [][]json.RawMessage) {
	member := map[string]string{"responses": "input", "gemini": "contents"}[p.row.API]
	if member == "" {
		member = "messages"
	}
	for _, req := range r.server.Requests() {
		body := gjson.ParseBytes(req.Body)
		if model := body.Get("model").Str; model != p.row.ID && (model != "" || !strings.Contains(req.Path, p.row.ID+":")) {
			continue
		}
		var list []json.RawMessage
		for _, m := range body.Get(member).Array() {
			list = append(list, unmarked(m.Raw))
		}
		if list != nil {
			all = append(all, list)
		}
	}
	return all
}

// marks are those of the cache, which move and count for nothing, and the form of a text that carries one.
var (
	marks  = regexp.MustCompile(`,"cache_control":\{[^}]*\}|"cache_control":\{[^}]*\},`)
	parted = regexp.MustCompile(`"content":\[\{"text":("(?:[^"\\]|\\.)*"),"type":"text"\}\]`)
)

func unmarked(message string) json.RawMessage {
	if !strings.Contains(message, "cache_control") { // the expressions take a tenth of the test's time
		return json.RawMessage(message)
	}
	bare := marks.ReplaceAllString(message, "")
	if bare == message {
		return json.RawMessage(message)
	}
	return json.RawMessage(parted.ReplaceAllString(bare, `"content":$1`))
}

// TestThinkingAfterLeavingOut has a model of which a result was left out, and another that is sent it: what the one thought
// after that goes to the other without thinking, and so the other way round, since providers bind thinking to all that
// stands before it.
func TestThinkingAfterLeavingOut(t *testing.T) {
	a, b := session.ModelRef{Provider: "p", ID: "a"}, session.ModelRef{Provider: "p", ID: "b"}
	n := 0
	turn := func(model session.ModelRef, first, second session.MessageID) *session.Turn {
		n++
		said := func(id session.MessageID, role provider.Role, blocks ...provider.Block) *session.Message {
			m := &session.Message{ID: id, Role: role}
			for i, block := range blocks {
				m.Parts = append(m.Parts, session.Part{Number: i, Block: block})
			}
			if role == provider.Assistant {
				m.End = &session.MessageEnd{StopReason: "end_turn"}
			}
			return m
		}
		return &session.Turn{ID: session.TurnID(fmt.Sprint("T", n)), Start: &session.TurnStart{Model: model},
			Messages: []*session.Message{said(first, provider.User, provider.Text{Text: "?"}, picture), said(second, provider.Assistant, signed("hm"), provider.Text{Text: "!"})}}
	}
	v := &session.View{Turns: []*session.Turn{turn(a, "1", "2"), turn(a, "3", "4"), turn(b, "5", "6")},
		LeftOut: []session.LeftOut{{Model: a, Emptied: []session.MessageID{"3"}}}}
	for model, want := range map[session.ModelRef]string{a: "true true false", b: "true false true"} {
		var got []string
		for _, m := range (transcript.Recipient{View: v, Model: model}).Messages(provider.Model{}, provider.Decision{}) {
			if m.Role == provider.Assistant {
				got = append(got, fmt.Sprint(provider.KindOf(m.Blocks[0]) == provider.KindThinking))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("to %s go answers with thinking: %v, want %s", model, got, want)
		}
	}
}
