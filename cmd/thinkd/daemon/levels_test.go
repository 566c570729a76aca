package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/provider/vendors"
	"github.com/thinkd/thinkd/rpc"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session/mem"
)

// levelTables is what Anthropic's models get for each level that can be asked for. It is written by hand from the
// vendor's pages (docs: thinking, effort, extended-thinking, whats-new), and knows nothing of the catalog: per group of
// models one line for each level, with a cell for each of the policies downgrade, off, provider_default and error, or
// one cell for all of them. A cell has the level in effect, what goes on the wire, and the reason if it is not
// as_requested; 1010 means that the level is refused.
var levelTables = map[string]string{
	// Thinking cannot be switched off; effort is high unless said.
	"claude-fable-5-2 claude-mythos-5-2 claude-fable-5-1 claude-mythos-5-1 claude-fable-5 claude-mythos-5": `
		off     | low adaptive+low off_not_supported   | low adaptive+low off_not_supported   | auto adaptive off_not_supported   | 1010
		none    | low adaptive+low off_not_supported   | low adaptive+low off_not_supported   | auto adaptive off_not_supported   | 1010
		minimal | low adaptive+low level_not_supported | low adaptive+low level_not_supported | auto adaptive level_not_supported | 1010
		auto    | auto adaptive
		on      | high adaptive+high
		low     | low adaptive+low
		medium  | medium adaptive+medium
		high    | high adaptive+high
		xhigh   | xhigh adaptive+xhigh
		max     | max adaptive+max`,

	// The same, with medium as its default.
	"claude-opus-5-5": `
		off     | low adaptive+low off_not_supported   | low adaptive+low off_not_supported   | auto adaptive off_not_supported   | 1010
		none    | low adaptive+low off_not_supported   | low adaptive+low off_not_supported   | auto adaptive off_not_supported   | 1010
		minimal | low adaptive+low level_not_supported | low adaptive+low level_not_supported | auto adaptive level_not_supported | 1010
		auto    | auto adaptive
		on      | medium adaptive+medium
		low     | low adaptive+low
		medium  | medium adaptive+medium
		high    | high adaptive+high
		xhigh   | xhigh adaptive+xhigh
		max     | max adaptive+max`,

	// On unless switched off. No effort goes out beside disabled: xhigh and max would be refused there.
	"claude-opus-5 claude-sonnet-5": `
		off     | off disabled
		none    | off disabled
		minimal | low adaptive+low level_not_supported | off disabled level_not_supported | auto adaptive level_not_supported | 1010
		auto    | auto adaptive
		on      | high adaptive+high
		low     | low adaptive+low
		medium  | medium adaptive+medium
		high    | high adaptive+high
		xhigh   | xhigh adaptive+xhigh
		max     | max adaptive+max`,
	"claude-haiku-5-5": `
		off     | off disabled
		none    | off disabled
		minimal | low adaptive+low level_not_supported | off disabled level_not_supported | auto adaptive level_not_supported | 1010
		auto    | auto adaptive
		on      | medium adaptive+medium
		low     | low adaptive+low
		medium  | medium adaptive+medium
		high    | high adaptive+high
		xhigh   | xhigh adaptive+xhigh
		max     | max adaptive+max`,

	// Only the thinking before the answer can be switched off.
	"claude-sonnet-5-5": `
		off     | off between_tools off_up_front_only
		none    | off between_tools off_up_front_only
		minimal | low adaptive+low level_not_supported | off between_tools level_not_supported | auto adaptive level_not_supported | 1010
		auto    | auto adaptive
		on      | high adaptive+high
		low     | low adaptive+low
		medium  | medium adaptive+medium
		high    | high adaptive+high
		xhigh   | xhigh adaptive+xhigh
		max     | max adaptive+max`,

	// Off unless switched on: auto says nothing.
	"claude-opus-4-8 claude-opus-4-7": `
		off     | off disabled
		none    | off disabled
		minimal | low adaptive+low level_not_supported | off disabled level_not_supported | auto nothing level_not_supported | 1010
		auto    | auto nothing
		on      | medium adaptive+medium
		low     | low adaptive+low
		medium  | medium adaptive+medium
		high    | high adaptive+high
		xhigh   | xhigh adaptive+xhigh
		max     | max adaptive+max`,

	// No xhigh.
	"claude-opus-4-6 claude-sonnet-4-6": `
		off     | off disabled
		none    | off disabled
		minimal | low adaptive+low level_not_supported   | off disabled level_not_supported | auto nothing level_not_supported | 1010
		auto    | auto nothing
		on      | medium adaptive+medium
		low     | low adaptive+low
		medium  | medium adaptive+medium
		high    | high adaptive+high
		xhigh   | high adaptive+high level_not_supported | off disabled level_not_supported | auto nothing level_not_supported | 1010
		max     | max adaptive+max`,

	// A budget, and the effort of the same name beside it.
	"claude-opus-4-5-20251101": `
		off     | off disabled
		none    | off disabled
		minimal | low 4096+low level_not_supported     | off disabled level_not_supported | auto nothing level_not_supported | 1010
		auto    | auto nothing
		on      | medium 10000+medium
		low     | low 4096+low
		medium  | medium 10000+medium
		high    | high 32000+high
		xhigh   | high 32000+high level_not_supported  | off disabled level_not_supported | auto nothing level_not_supported | 1010
		max     | high 32000+high level_not_supported  | off disabled level_not_supported | auto nothing level_not_supported | 1010`,

	// A budget alone: effort would be refused.
	"claude-sonnet-4-5-20250929 claude-haiku-4-5-20251001": `
		off     | off disabled
		none    | off disabled
		minimal | low 4096 level_not_supported    | off disabled level_not_supported | auto nothing level_not_supported | 1010
		auto    | auto nothing
		on      | medium 10000
		low     | low 4096
		medium  | medium 10000
		high    | high 32000
		xhigh   | high 32000 level_not_supported  | off disabled level_not_supported | auto nothing level_not_supported | 1010
		max     | high 32000 level_not_supported  | off disabled level_not_supported | auto nothing level_not_supported | 1010`,
}

// expected is a cell of a table.
type expected struct {
	level, reason string
	wire          any
	refused       bool
}

func readCell(cell string) expected {
	words := strings.Fields(cell)
	if words[0] == "1010" {
		return expected{refused: true}
	}
	e := expected{level: words[0], reason: "as_requested", wire: wireOf(words[1])}
	if len(words) > 2 {
		e.reason = words[2]
	}
	return e
}

// wireOf is the part of a body that a cell's word stands for.
func wireOf(word string) any {
	form, effort, _ := strings.Cut(word, "+")
	wire := map[string]any{}
	switch form {
	case "nothing":
	case "adaptive":
		wire["thinking"] = map[string]any{"type": "adaptive", "display": "summarized"}
	case "disabled", "between_tools":
		wire["thinking"] = map[string]any{"type": form} // display beside it is refused
	default:
		budget, err := strconv.ParseFloat(form, 64)
		if err != nil {
			panic(err) // a typing error in the table
		}
		wire["thinking"] = map[string]any{"type": "enabled", "budget_tokens": budget, "display": "summarized"}
	}
	if effort != "" {
		wire["output_config"] = map[string]any{"effort": effort}
	}
	return wire
}

// TestLevelsOnTheWire prompts each of Anthropic's models at each level under each policy. A level for which the table has one cell, since all policies
// lead to the same, is tried under one of them only, another one for each level, unless -allpairs is set. The decision that clients get, and the
// body that reaches the vendor, have to match the table.
func TestLevelsOnTheWire(t *testing.T) {
	t.Parallel()
	one := 1
	policies := []string{"downgrade", "off", "provider_default", "error"}
	covered := 0
	for models, table := range levelTables {
		for model := range strings.FieldsSeq(models) {
			covered++
			t.Run(model, func(t *testing.T) {
				t.Parallel()
				vendor, env := proof.Simulator(t, sim.Config{})
				vendor.ScriptFunc(func(sim.Request) *sim.Answer { return &sim.Answer{Thinking: &one, Text: &one} })
				c := inProcess(t, env)
				for column, policy := range policies {
					s := newConversation(t, c, "anthropic/"+model)
					lines := strings.Split(strings.TrimSpace(table), "\n")
					if len(lines) != 10 {
						t.Fatalf("the table has %d levels", len(lines))
					}
					for i, line := range lines {
						cells := strings.Split(line, "|")
						cell := cells[1]
						if len(cells) == 2 && i%len(policies) != column && !*allPairs {
							continue
						}
						if len(cells) > 2 {
							cell = cells[1+column]
						}
						s.tryLevel(vendor, strings.TrimSpace(cells[0]), policy, readCell(cell))
					}
				}
				if r := vendor.Refusals(); len(r) > 0 {
					t.Errorf("refused: %+v", r)
				}
			})
		}
	}
	c, err := config.Parse("", nil, proof.Environment())
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := vendors.Catalog(c.Providers, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range catalog.Models() {
		known := slices.ContainsFunc(slices.Collect(maps.Keys(levelTables)), func(models string) bool {
			return slices.Contains(strings.Fields(models), m.ID)
		})
		if m.Provider == "anthropic" && !known {
			t.Errorf("model %s is in the catalog and in no table here: write down what its levels have to be", m.ID)
		}
	}
	if covered != 18 {
		t.Errorf("the tables have %d models", covered)
	}
}

// conversation is a session of a client inside the process.
type conversation struct {
	t         *testing.T
	link      *door.Link
	id        string
	model     string // without its provider
	first     string // the effort of the first turn that had one
	changed   bool   // a later one had another
	preferred string // the level that was accepted last
	starts    []json.RawMessage
	ended     string // the turn that ended last
}

func newConversation(t *testing.T, link *door.Link, model string) *conversation {
	t.Helper()
	s := &conversation{t: t, link: link, model: model[strings.Index(model, "/")+1:]}
	var made struct {
		ID string `json:"session_id"`
	}
	s.call("session/new", present("model_id", model), &made)
	s.id = made.ID
	link.Notify = func(m door.Notification) error {
		switch m.Method {
		case "turn_start":
			s.starts = append(s.starts, m.Params)
		case "turn_end":
			var end struct {
				Turn  string `json:"turn_id"`
				Stop  string `json:"stop_reason"`
				Error any
			}
			if err := json.Unmarshal(m.Params, &end); err != nil {
				return err
			}
			s.ended = end.Turn
			if end.Stop != "end_turn" {
				t.Errorf("the turn ends with %s: %v", end.Stop, end.Error)
			}
		}
		return nil
	}
	return s
}

func (s *conversation) call(method string, params map[string]any, result any) {
	s.t.Helper()
	if s.id != "" {
		params["session_id"] = s.id
	}
	if err := s.link.Call(method, params, result); err != nil {
		s.t.Fatalf("%s: %v", method, err)
	}
}

// say prompts and waits for the end.
func (s *conversation) say(text string) {
	s.t.Helper()
	s.prompt(map[string]any{"text": text})
}

func (s *conversation) prompt(params map[string]any) {
	s.t.Helper()
	var receipt struct {
		Turn string `json:"turn_id"`
	}
	s.call("session/prompt", params, &receipt)
	for s.ended != receipt.Turn {
		s.next()
	}
}

// next takes in a notification.
func (s *conversation) next() {
	s.t.Helper()
	n, err := s.link.Next()
	if err == nil {
		err = s.link.Notify(n)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *conversation) tryLevel(vendor *sim.Server, level, policy string, want expected) {
	t := s.t
	t.Helper()
	name := level + " with " + policy
	params := map[string]any{"session_id": s.id, "level": level, "fallback": policy}
	var got proof.LevelAnswer
	err := s.link.Call("thinking/set", params, &got)
	if want.refused {
		refused, ok := errors.AsType[*conn.Error](err)
		if !ok || refused.Code != 1010 {
			t.Errorf("%s: %v, want error 1010", name, err)
		}
		var state struct {
			Session struct {
				Preferred string `json:"preferred_thinking_level"`
			}
		}
		s.call("session/state", map[string]any{}, &state)
		if state.Session.Preferred != s.preferred {
			t.Errorf("%s: the preferred level is %q after the refusal, want %q as before", name, state.Session.Preferred, s.preferred)
		}
		return
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	asked := level
	if level == "none" {
		asked = "off"
	}
	s.preferred = asked
	effort, form := s.inPlace(&want)
	decision := proof.Reasoning{Source: "session", Requested: asked, Effective: want.level, Fallback: policy, Reason: want.reason, Wire: want.wire}
	if diff := cmp.Diff(proof.LevelAnswer{Level: want.level, Preferred: asked, Reasoning: decision}, got); diff != "" {
		t.Errorf("%s: thinking/set (-want +got):\n%s", name, diff)
	}
	before := len(s.starts)
	s.say("Which date is later?")
	var start struct {
		Model struct {
			Level string `json:"thinking_level"`
		}
		Reasoning proof.Reasoning
	}
	if err := json.Unmarshal(s.starts[before], &start); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decision, start.Reasoning); diff != "" || start.Model.Level != want.level {
		t.Errorf("%s: turn_start has the level %q, and (-want +got):\n%s", name, start.Model.Level, diff)
	}
	requests := vendor.Requests()
	body := bodyOf(t, requests[len(requests)-1])
	sent := map[string]any{}
	for _, member := range []string{"thinking", "output_config"} {
		if v, ok := body[member]; ok {
			sent[member] = v
		}
	}
	if form != nil {
		want.wire = form
		if got := currentEffort(body); got != effort {
			t.Errorf("%s: the effort in effect on the wire is %q, want %q", name, got, effort)
		}
	}
	if diff := cmp.Diff(want.wire, any(sent)); diff != "" {
		t.Errorf("%s: on the wire (-want +got):\n%s", name, diff)
	}
	// At xhigh and max the vendor wants room for 64,000 tokens or more. (docs: effort)
	if most := body["max_tokens"].(float64); (want.level == "xhigh" || want.level == "max") && most < 64000 {
		t.Errorf("%s: max_tokens is %v", name, most)
	}
}

// takesChanges are the models that take another effort inside of the conversation (docs: effort).
const takesChanges = "claude-fable-5-2 claude-fable-5-1 claude-mythos-5-1 claude-opus-5-5 claude-opus-5 claude-sonnet-5-5 claude-haiku-5-5"

// inPlace is what a decision with an effort is on those models: the session's first effort stays at the top, and a change
// goes in front of the prompt. It returns the effort, and what of the top of the body is to be sent; nil if nothing is
// special.
func (s *conversation) inPlace(want *expected) (effort string, top map[string]any) {
	output, ok := want.wire.(map[string]any)["output_config"].(map[string]any)
	if !ok || !slices.Contains(strings.Fields(takesChanges), s.model) {
		return "", nil
	}
	effort = output["effort"].(string)
	if s.first == "" {
		s.first = effort
	}
	top = maps.Clone(want.wire.(map[string]any))
	top["output_config"] = map[string]any{"effort": s.first}
	s.changed = s.changed || effort != s.first
	if want.wire = any(top); s.changed {
		wire := maps.Clone(top)
		wire["messages"] = []any{map[string]any{"role": "system", "content": []any{}, "output_config": map[string]any{"effort": effort}}}
		want.wire = wire
	}
	return effort, top
}

// currentEffort is the last that a body says: at its top, or in front of a message.
func currentEffort(body map[string]any) string {
	say := func(in map[string]any, was string) string {
		if output, ok := in["output_config"].(map[string]any); ok {
			return output["effort"].(string)
		}
		return was
	}
	effort := say(body, "")
	for _, m := range body["messages"].([]any) {
		effort = say(m.(map[string]any), effort)
	}
	return effort
}

func bodyOf(t *testing.T, r sim.Request) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatal(err)
	}
	return body
}

// TestClampLeavesThePreference goes through models that lack the level that the user chose, and back.
func TestClampLeavesThePreference(t *testing.T) {
	t.Parallel()
	one := 1
	vendor, env := proof.Simulator(t, sim.Config{})
	vendor.ScriptFunc(func(sim.Request) *sim.Answer { return &sim.Answer{Thinking: &one, Text: &one} })
	s := newConversation(t, inProcess(t, env), "anthropic/claude-opus-5")
	s.call("thinking/set", map[string]any{"level": "xhigh"}, nil)
	for _, step := range []struct{ model, cell string }{
		{"claude-opus-4-6", "high adaptive+high level_not_supported"},
		{"claude-haiku-4-5-20251001", "high 32000 level_not_supported"},
		{"claude-opus-5-5", "xhigh adaptive+xhigh"},
		{"claude-sonnet-4-6", "high adaptive+high level_not_supported"},
		{"claude-opus-5", "xhigh adaptive+xhigh"},
	} {
		want := readCell(step.cell)
		var got proof.LevelAnswer
		s.call("model/set", map[string]any{"model_id": "anthropic/" + step.model}, &got)
		decision := proof.Reasoning{Source: "session", Requested: "xhigh", Effective: want.level, Fallback: "downgrade", Reason: want.reason, Wire: want.wire}
		if diff := cmp.Diff(proof.LevelAnswer{Level: want.level, Preferred: "xhigh", Reasoning: decision}, got); diff != "" {
			t.Errorf("%s: model/set (-want +got):\n%s", step.model, diff)
		}
		s.say("Which date is later?")
		var state struct{ Session proof.LevelAnswer }
		s.call("session/state", map[string]any{}, &state)
		if got := state.Session; got.Preferred != "xhigh" || got.Level != want.level {
			t.Errorf("%s: after a turn the level is %q and the preferred one %q", step.model, got.Level, got.Preferred)
		}
		requests := vendor.Requests()
		if body := bodyOf(t, requests[len(requests)-1]); body["model"] != step.model {
			t.Errorf("the request is for %v, want %s", body["model"], step.model)
		}
	}
	if r := vendor.Refusals(); len(r) > 0 {
		t.Errorf("refused: %+v", r)
	}
}

// TestDisplayOnTheWire: how thinking is to be shown goes out as it was chosen, with the beta that it needs, and never
// beside a form that takes none.
func TestDisplayOnTheWire(t *testing.T) {
	t.Parallel()
	one := 1
	vendor, env := proof.Simulator(t, sim.Config{})
	vendor.ScriptFunc(func(sim.Request) *sim.Answer { return &sim.Answer{Thinking: &one, Text: &one} })
	s := newConversation(t, inProcess(t, env), "anthropic/claude-opus-5-5")
	for _, step := range []struct{ model, level, display, want string }{
		{"claude-opus-5-5", "high", "omitted", "omitted"},
		{"claude-opus-5-5", "high", "updates", "updates"},
		{"claude-opus-5", "high", "updates", "summarized"}, // it has no updates
		{"claude-opus-5", "off", "omitted", ""},
		{"claude-haiku-4-5-20251001", "low", "omitted", "omitted"},
		{"claude-haiku-4-5-20251001", "auto", "summarized", ""},
	} {
		s.call("model/set", map[string]any{"model_id": "anthropic/" + step.model}, nil)
		s.call("thinking/set", map[string]any{"level": step.level, "display": step.display}, nil)
		s.say("Which date is later?")
		requests := vendor.Requests()
		last := requests[len(requests)-1]
		thinking, _ := bodyOf(t, last)["thinking"].(map[string]any)
		got, _ := thinking["display"].(string)
		if got != step.want {
			t.Errorf("%+v: the display on the wire is %q", step, got)
		}
		beta := strings.Contains(last.Header.Get("anthropic-beta"), "thinking-display-updates-2026-08-18")
		if beta != (step.want == "updates") {
			t.Errorf("%+v: betas %q", step, last.Header.Get("anthropic-beta"))
		}
	}
	if r := vendor.Refusals(); len(r) > 0 {
		t.Errorf("refused: %+v", r)
	}
}

// inProcess is a client of a daemon inside the test, with a store in memory.
func inProcess(t *testing.T, env []string) *door.Link {
	t.Helper()
	p := Options{LogTo: io.Discard, Getenv: proof.Environment(append(env, proof.NobodyHere...)...), ConfigPath: proof.WriteConfig(t, ""),
		LogLevel: "warn", LogFormat: "text"}
	d, err := p.open(t.Context(), mem.New())
	if err != nil {
		t.Fatal(err)
	}
	return linked(t, d)
}

// linked is a client of a daemon, both of which end with the test.
func linked(t testing.TB, d *daemon) *door.Link {
	t.Helper()
	ours, theirs := net.Pipe()
	served := make(chan error, 1)
	testgo.Go(t, func() { // ends when the link is closed; the cleanup waits
		status := func(context.Context) (door.Status, error) { return door.Status{}, nil }
		served <- d.server.ServeLocal(context.WithoutCancel(t.Context()), theirs, &rpc.Local{Status: status})
	})
	link, err := door.Greet(t.Context(), ours)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := link.Close()
		if e := <-served; !errors.Is(e, io.ErrClosedPipe) { // a hang-up is none of the server's failures
			err = errors.Join(err, e)
		}
		if err := errors.Join(err, d.close()); err != nil {
			t.Error(err)
		}
	})
	return link
}
