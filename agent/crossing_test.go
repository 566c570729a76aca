package agent

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/agent/transcript"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
)

// ride is a session's log that goes from seat to seat, with one simulator behind all of them.
type ride struct {
	view   session.View
	server *sim.Server
	line   *http.Transport
	n      int
}

// on begins a ride with what was said before, at a simulator of its own, which end ends.
func on(before []*session.Turn) (r *ride, end func() error) {
	server := sim.New(sim.Config{})
	listener := server.Listen()
	return &ride{view: session.View{Turns: slices.Clone(before)}, server: server, line: listener.Transport(), n: 100 * len(before)}, listener.Close
}

var picture = provider.Media{Type: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}

// prompt begins a turn.
func (r *ride) prompt(p placed, blocks ...provider.Block) *session.Turn {
	t := &session.Turn{ID: session.TurnID(fmt.Sprint("T", len(r.view.Turns))),
		Start: &session.TurnStart{Model: session.ModelRef{Provider: p.row.Provider, ID: p.row.ID}, Reasoning: p.decision}}
	t.Messages = []*session.Message{r.message(provider.User, blocks...)}
	r.view.Turns = append(r.view.Turns, t)
	return t
}

func (r *ride) message(role provider.Role, blocks ...provider.Block) *session.Message {
	r.n++
	m := &session.Message{ID: session.MessageID(fmt.Sprint("M", r.n)), Role: role}
	for i, b := range blocks {
		m.Parts = append(m.Parts, session.Part{Number: i, Block: b})
	}
	return m
}

func (r *ride) request(p placed) *provider.Request {
	to := transcript.Recipient{View: &r.view, Model: session.ModelRef{Provider: p.row.Provider, ID: p.row.ID}}
	req := &provider.Request{Model: p.row, System: "Be brief.", Messages: to.Messages(p.row, p.decision), Decision: p.decision}
	req.Opening, req.Changed = to.Effort(p.row, p.decision)
	if p.row.Tools {
		req.Tools = []provider.Tool{{Name: "read", Description: "read a file",
			Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)}}
	}
	return req
}

// call lets a seat answer with these parts, thinking first, and puts the answer into the log.
func (r *ride) call(ctx context.Context, p placed, t *session.Turn, parts ...sim.Part) (*session.Message, error) {
	if p.thinks() {
		thoughts := []sim.Part{{Kind: sim.Thinking, Text: fmt.Sprintf("It is thought number %d of %s. Both dates count.", r.n, p)}}
		if p.row.API == "messages" {
			thoughts = append(thoughts, sim.Part{Kind: sim.Redacted, Text: "withheld"})
		}
		parts = append(thoughts, parts...)
	}
	r.server.Script(sim.Answer{Parts: parts})
	req, api := r.request(p), p.open(r.line)
	foretold, err := api.(provider.Converter).Convert(req)
	if err != nil {
		return nil, err
	}
	reply, err := providertest.Collect(api.Stream(ctx, req))
	if err = errors.Join(err, reply.Err); err != nil {
		return nil, err
	}
	got := slices.DeleteFunc(slices.Clone(reply.Notices), func(n provider.Notice) bool { return n.Kind != provider.NoticeConverted })
	if want := foretold.Notices(); len(want)+len(got) > 0 && !reflect.DeepEqual(want, got) { // cmp alone takes a tenth of this test's time
		return nil, fmt.Errorf("conversion (-want +got):\n%s", cmp.Diff(want, got))
	}
	m := r.message(provider.Assistant)
	m.End = &session.MessageEnd{StopReason: session.StopReason(reply.Stop.Reason), Model: reply.Stop.Model, State: reply.Stop.State}
	for i, b := range reply.Blocks {
		if b, err = logged(b); err != nil {
			return nil, err
		}
		m.Parts = append(m.Parts, session.Part{Number: i, Block: b})
	}
	t.Messages = append(t.Messages, m)
	return m, nil
}

// logged is a block as it comes back from the log.
func logged(b provider.Block) (provider.Block, error) {
	data, err := provider.MarshalBlock(b)
	if err != nil {
		return nil, err
	}
	return provider.UnmarshalBlock(data)
}

var answered = sim.Part{Kind: sim.Text, Text: "The second one is later."}

// twoCalls has ids that are the same in each turn, and not to everybody's liking, where that is the habit.
func (p placed) twoCalls() []sim.Part {
	parts := []sim.Part{{Kind: sim.Text, Text: "Both."}, {Kind: sim.Call, Name: "read", Input: json.RawMessage(`{"path": "a"}`)},
		{Kind: sim.Call, Name: "read", Input: json.RawMessage(`{"path": "b"}`)}}
	if p.row.API == "ollama" || p.row.API == "chat" && p.row.Dialect != "mistral" {
		parts[1].ID, parts[2].ID = "functions.read:0", "functions.read:1"
	}
	return parts
}

// results answers the last n calls of a message; one failed, one with an image.
func (r *ride) results(p placed, t *session.Turn, m *session.Message, n int) {
	answer := r.message(provider.User)
	answer.Answers = m.ID
	calls := m.Calls()
	for i, c := range calls {
		if i < len(calls)-n {
			continue
		}
		result := provider.ToolResult{CallID: c.ID, Failed: i == 0, Blocks: provider.Blocks{provider.Text{Text: "package a"}}}
		if p.sees() && !result.Failed {
			result.Blocks = append(result.Blocks, picture)
		}
		answer.Parts = append(answer.Parts, session.Part{Number: i, Block: result})
	}
	t.Messages = append(t.Messages, answer)
}

// loop is a whole turn: an image where the model takes it, two calls at once, and an answer.
func (r *ride) loop(ctx context.Context, p placed) error {
	prompt := []provider.Block{provider.Text{Text: "Which date is later?"}}
	if p.sees() {
		prompt = append(prompt, picture)
	}
	t := r.prompt(p, prompt...)
	if p.row.Tools {
		m, err := r.call(ctx, p, t, p.twoCalls()...)
		if err != nil {
			return fmt.Errorf("the calls: %w", err)
		}
		r.results(p, t, m, 2)
	}
	if _, err := r.call(ctx, p, t, answered); err != nil {
		return fmt.Errorf("after the results: %w", err)
	}
	t.End = &session.TurnEnd{StopReason: "end_turn"}
	return nil
}

// cut is three turns that were interrupted: in the text, after the thinking, and among the results of the calls.
func (r *ride) cut(ctx context.Context, p placed) error {
	end := func(t *session.Turn, m *session.Message) {
		m.End = &session.MessageEnd{StopReason: session.StopCancelled, Incomplete: session.Cancelled}
		t.End = &session.TurnEnd{StopReason: session.StopCancelled}
	}
	t := r.prompt(p, provider.Text{Text: "And then?"})
	m, err := r.call(ctx, p, t, answered)
	if err != nil {
		return err
	}
	for i, part := range m.Parts {
		if _, ok := part.Block.(provider.Text); ok {
			m.Parts = append(m.Parts[:i], session.Part{Number: i, Block: provider.Text{Text: "The sec"}},
				session.Part{Number: i + 1, Block: provider.Thinking{Text: "was cut of", Kind: provider.ThinkingSummary}})
			break
		}
	}
	end(t, m)

	t = r.prompt(p, provider.Text{Text: "Go on."})
	if m, err = r.call(ctx, p, t, answered); err != nil {
		return err
	}
	m.Parts = slices.DeleteFunc(m.Parts, func(part session.Part) bool {
		_, ok := part.Block.(provider.Thinking)
		return !ok
	})
	end(t, m)

	if !p.row.Tools {
		return nil
	}
	t = r.prompt(p, provider.Text{Text: "Read them again."})
	if m, err = r.call(ctx, p, t, p.twoCalls()...); err != nil {
		return err
	}
	r.results(p, t, m, 1)
	t.End = &session.TurnEnd{StopReason: session.StopCancelled}
	return nil
}

// sent is the body of the last request.
func (r *ride) sent() string {
	all := r.server.Requests()
	return string(all[len(all)-1].Body)
}

// states lists what a seat's vendor left in the log: the strings of it that are found in a body, and say something.
func (r *ride) states(body string) map[string]bool {
	var wire strings.Builder
	eachString(gjson.Parse(body), func(s string) { wire.WriteString(s + "\n") })
	all := wire.String()
	found := map[string]bool{}
	for _, t := range r.view.Turns {
		for _, m := range t.Messages {
			states := []provider.State{}
			if m.End != nil {
				states = append(states, m.End.State)
			}
			for _, part := range m.Parts {
				states = append(states, provider.StateOf(part.Block))
			}
			for _, s := range states {
				eachString(gjson.ParseBytes(s.Data), func(s string) {
					const telling = 10 // as long as the mark in place of reasoning that some vendors send
					if len(s) >= telling && strings.Contains(all, s) {
						found[s] = true
					}
				})
			}
		}
	}
	return found
}

func eachString(v gjson.Result, f func(string)) {
	if v.Type == gjson.String {
		f(v.Str)
	}
	if v.IsObject() || v.IsArray() {
		v.ForEach(func(_, inner gjson.Result) bool { eachString(inner, f); return true })
	}
}

var crossAll = flag.Bool("crossall", false, "have TestCrossing, TestTakeover and TestPoisonedHistories try every pair of models, not a few, and TestPinsOverTenSummaries every model")

// TestCrossing goes from every model to every other and back, in one session with all that a history may hold. The
// strict stand-ins of the vendors refuse nothing, and on the way back the first model has all of its own on the wire
// that it would have had without the switch. The short form tries 88 pairs: each model is left and entered at least once.
func TestCrossing(t *testing.T) {
	t.Parallel()
	catalog := registry.Default()
	var list []placed
	for _, s := range seats {
		list = append(list, s.place(t, catalog))
	}
	cells := make([][]string, len(list))
	t.Run("from", func(t *testing.T) {
		for i, from := range list {
			cells[i] = make([]string, len(list))
			t.Run(from.String(), func(t *testing.T) {
				t.Parallel()
				past, own := before(t, from)
				for j, to := range list {
					if i != j && (*crossAll || (i+j)%45 == 0) {
						cells[i][j] = there(t, past, own, from, to)
					}
				}
			})
		}
	})
	var b strings.Builder
	fmt.Fprintf(&b, "from each row to each column and back: = all of its own is on the wire again, o it has none to give back, X failed\n%38s", "")
	for j := range list {
		fmt.Fprintf(&b, "%3d", j+1)
	}
	for i, from := range list {
		fmt.Fprintf(&b, "\n%2d %-35s", i+1, from)
		for j := range list {
			fmt.Fprintf(&b, "%3s", cells[i][j])
		}
	}
	t.Log(b.String())
}

// before is a model's own past, and what of it is on the wire of its next call.
func before(t *testing.T, p placed) ([]*session.Turn, map[string]bool) {
	t.Helper()
	r, end := on(nil)
	defer end()
	if err := r.loop(t.Context(), p); err != nil {
		t.Fatalf("alone: %v", err)
	}
	if err := r.cut(t.Context(), p); err != nil {
		t.Fatalf("alone, interrupted: %v", err)
	}
	past := slices.Clone(r.view.Turns)
	if err := r.loop(t.Context(), p); err != nil {
		t.Fatalf("alone, after the interruptions: %v", err)
	}
	r.view.Turns = past
	if body := r.sent(); p.mark != "" && !strings.Contains(body, p.mark) {
		t.Errorf("alone: nothing like %s is on the wire: %s", p.mark, body)
	}
	for _, refusal := range r.server.Refusals() {
		t.Errorf("alone: refused: %+v", refusal)
	}
	own := r.states(r.sent())
	if p.mark != "" && len(own) == 0 {
		t.Errorf("alone: nothing that its vendor left is on the wire")
	}
	return past, own
}

// there and back again.
func there(t *testing.T, past []*session.Turn, own map[string]bool, from, to placed) string {
	r, end := on(past)
	defer end()
	if err := r.loop(t.Context(), to); err != nil {
		t.Errorf("to %s: %v", to, err)
		return "X"
	}
	if err := r.loop(t.Context(), from); err != nil {
		t.Errorf("to %s and back: %v", to, err)
		return "X"
	}
	cell := "o"
	back := r.states(r.sent())
	for s := range own {
		if cell = "="; !back[s] {
			t.Errorf("to %s and back: no more on the wire: %.100q", to, s)
			return "X"
		}
	}
	for _, refusal := range r.server.Refusals() {
		t.Errorf("to %s and back: refused: %+v", to, refusal)
		cell = "X"
	}
	return cell
}

// goOn is a turn whose answer broke off before it said anything, and one that goes on with it at another level.
func (r *ride) goOn(ctx context.Context, first, again placed) error {
	empty := r.prompt(first, provider.Text{Text: "Which date is later?"})
	empty.End = &session.TurnEnd{StopReason: session.StopError}
	t := r.prompt(again)
	t.Messages = nil
	t.Prompt.Continues = &session.Continuation{Turn: empty.ID}
	if _, err := r.call(ctx, again, t, answered); err != nil {
		return err
	}
	t.End = &session.TurnEnd{StopReason: "end_turn"}
	return nil
}

// TestChangeOfEffortBetweenModels: a user's message that says only that the effort changes goes to one model. The thinking that this
// model signs behind it is bound to it, so it goes to no other model, and neither does another model's behind such a message come back.
func TestChangeOfEffortBetweenModels(t *testing.T) {
	t.Parallel()
	catalog := registry.Default()
	at := func(model string, level provider.Level) placed {
		return seat{model: model, level: level}.place(t, catalog)
	}
	opus, other := at("vertex/claude-opus-5-5", provider.Low), at("claude-always", provider.Low)
	r, end := on(nil)
	defer end()
	if err := r.goOn(t.Context(), at("vertex/claude-opus-5-5", provider.Medium), opus); err != nil {
		t.Fatal(err)
	}
	if body := r.sent(); !strings.Contains(body, transcript.GoOn) {
		t.Errorf("no message carries the change of effort: %s", body)
	}
	for _, p := range []placed{opus, other, opus, other} {
		if err := r.loop(t.Context(), p); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
	for _, refusal := range r.server.Refusals() {
		t.Errorf("refused: %+v", refusal)
	}
}

// TestChangeOfEffortKeepsThinking: the model whose effort changed gets its own thinking back, whether its vendor takes changes or not.
func TestChangeOfEffortKeepsThinking(t *testing.T) {
	t.Parallel()
	catalog := registry.Default()
	for _, s := range []seat{
		{model: "vertex/claude-opus-5-5", mark: `"signature":"`},
		{model: "gpt", mark: `"encrypted_content":"gAAAAA`},
		{model: "gemini", mark: `"thoughtSignature":"`},
	} {
		t.Run(s.model, func(t *testing.T) {
			first := seat{model: s.model, level: provider.High}.place(t, catalog)
			again := seat{model: s.model, level: provider.Low}.place(t, catalog)
			r, end := on(nil)
			defer end()
			if err := r.goOn(t.Context(), first, again); err != nil {
				t.Fatal(err)
			}
			if err := r.loop(t.Context(), again); err != nil {
				t.Fatal(err)
			}
			if next := string(r.server.Requests()[1].Body); !strings.Contains(next, s.mark) {
				t.Errorf("nothing like %s of the first answer is on the wire: %s", s.mark, next)
			}
		})
	}
}
