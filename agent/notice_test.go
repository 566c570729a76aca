package agent

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
)

// The answer is compared with the decision. Each row has the model, the requested level, the answer, and the notice, "" for none.
func TestCheckControl(t *testing.T) {
	can := map[string]provider.Capability{
		"effort": {Control: provider.ControlEffort, Levels: []provider.Level{"off", "low", "high"}, Default: "off", Off: provider.OffFull},
		"steady": {Control: provider.ControlEffort, Levels: []provider.Level{"low", "high"}, Default: "low",
			Display: []provider.Display{provider.Summarized, provider.Omitted}},
		"always": {Control: provider.ControlAlways, Levels: []provider.Level{"on"}, Default: "on"},
		"toggle": {Control: provider.ControlToggle, Levels: []provider.Level{"off", "on"}, Default: "on", Off: provider.OffFull},
		"budget": {Control: provider.ControlBudget, Levels: []provider.Level{"off", "high"}, Default: "off", Off: provider.OffFull,
			BudgetMin: 1024, BudgetMax: 32000, Budgets: map[provider.Level]int{"high": 32000}},
		"none":     {Control: provider.ControlNone, Levels: []provider.Level{"off"}, Default: "off"},
		"up_front": {Control: provider.ControlEffort, Levels: []provider.Level{"off", "high"}, Default: "high", Off: provider.OffUpFront},
	}
	nothing, counted, zero := outcome{}, outcome{tokens: new(70)}, outcome{tokens: new(0)}
	shown, sealed := outcome{thinking: true, visible: true, tokens: new(70)}, outcome{thinking: true, tokens: new(70)}
	for _, tc := range []struct {
		row   string // "": there is none
		level provider.Level
		came  outcome
		want  string
	}{
		{"effort", "off", nothing, ""},
		{"effort", "off", zero, ""},
		{"effort", "off", counted, "warning control_not_honoured"},
		{"effort", "off", shown, "warning control_not_honoured"},
		{"effort", "", shown, "warning control_not_honoured"}, // off is the row's default, and is sent
		{"effort", "high", nothing, "info no_thinking_seen"},  // its vendor may decide
		{"effort", "high", shown, ""},
		{"effort", "high", counted, "info hidden_thinking"},
		{"effort", "high", sealed, "info hidden_thinking"},
		{"effort", "auto", shown, ""},
		{"effort", "auto", nothing, ""},
		{"effort", "auto", counted, "info hidden_thinking"},
		{"steady", "high", nothing, "info no_thinking_seen"},
		{"steady", "high", zero, "info no_thinking_seen"},
		{"steady", "off", nothing, "info no_thinking_seen"}, // the level in effect is low
		{"steady", "auto", nothing, ""},
		{"steady", "high", shown, ""},
		{"always", "high", nothing, "info no_thinking_seen"}, // nothing can be said to it, and it should think
		{"always", "off", shown, ""},
		{"none", "high", nothing, ""},
		{"none", "high", shown, "warning control_not_honoured"},
		{"up_front", "off", shown, ""}, // between tool calls, as the decision says
		{"up_front", "off", counted, ""},
		{"", "off", shown, "warning control_not_honoured"},
		{"", "high", nothing, "info no_thinking_seen"},
		{"toggle", "on", nothing, "warning no_thinking_seen"}, // it has to obey
		{"toggle", "on", shown, ""},
		{"toggle", "off", nothing, ""},
		{"budget", "high", nothing, "warning no_thinking_seen"},
		{"budget", "high", shown, ""},
		{"", "high", counted, "info hidden_thinking"},
		{"", "", shown, ""},
	} {
		m := provider.Model{Provider: "p", ID: "m", Known: tc.row != "", Thinking: can[tc.row]}
		got := checked(t, m, registry.Ask{Level: tc.level, Source: provider.SourceTurn}, tc.came)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s asked for %q, %+v (-want +got):\n%s", tc.row, tc.level, tc.came, diff)
		}
	}
	m := provider.Model{Provider: "p", ID: "m", Known: true, Thinking: can["steady"]}
	if got := checked(t, m, registry.Ask{Level: "high", Display: provider.Omitted}, sealed); got != "" {
		t.Errorf("thinking that was not to be shown is not shown: %s", got)
	}
}

type outcome struct {
	thinking, visible bool
	tokens            *int // nil: the vendor counts none
}

func checked(t *testing.T, m provider.Model, ask registry.Ask, came outcome) (told string) {
	t.Helper()
	d, err := registry.Resolve(ask, m)
	if err != nil {
		t.Fatal(err)
	}
	r := turn{Turn: &session.Turn{}, choice: choice{model: m, decision: d}}
	m1 := reply{thinking: came.thinking, visible: came.visible}
	for _, f := range r.check(m1, provider.Usage{Reasoning: came.tokens}) {
		n := f.event.(feed.Notice)
		told += string(n.Severity) + " " + n.Kind
	}
	if again := r.check(m1, provider.Usage{Reasoning: came.tokens}); len(again) > 0 {
		t.Errorf("told twice in a turn: %+v", again)
	}
	return told
}

// A model that always thinks need not think in each call of a turn, nor before it calls a tool.
func TestCheckControlOverCalls(t *testing.T) {
	m := provider.Model{Provider: "p", ID: "m", Known: true, Thinking: provider.Capability{
		Control: provider.ControlEffort, Levels: []provider.Level{"low", "high"}, Default: "low"}}
	d, err := registry.Resolve(registry.Ask{Level: "high"}, m)
	if err != nil {
		t.Fatal(err)
	}
	calls := reply{calls: map[string]bool{"1": true}}
	for _, tc := range []struct {
		name    string
		replies []reply
		want    int
	}{
		{"thinks first", []reply{{thinking: true, visible: true}, {}}, 0},
		{"thinks after the tool", []reply{calls, {thinking: true, visible: true}}, 0},
		{"thinks after a pause", []reply{{paused: true}, {thinking: true, visible: true}}, 0},
		{"pauses, and never thinks", []reply{{paused: true}, {}}, 1},
		{"never thinks", []reply{calls, calls, {}}, 1},
		{"never thinks, and says so twice", []reply{{}, {}}, 1},
	} {
		r := turn{Turn: &session.Turn{}, choice: choice{model: m, decision: d}}
		got := 0
		for _, said := range tc.replies {
			got += len(r.check(said, provider.Usage{}))
		}
		if got != tc.want {
			t.Errorf("%s: %d notices, want %d", tc.name, got, tc.want)
		}
	}
}

// The notice that no thinking was seen is sent once for each model of a session.
func TestNoThinkingIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.close()
		b.fake.judge = func(*provider.Request, script) script { return events(concat(say("Say."), []any{ended})...) }
		id := b.session("sim/claude", provider.High)
		sub, err := b.agent(id).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.turn(id, "one")
		b.turn(id, "two")
		check(t, "told", notices(sub), []string{noticeNoThinking})
		other := session.ModelRef{Provider: "anthropic", ID: "claude"}
		if _, err := b.agent(id).Set(t.Context(), Change{Model: &other}); err != nil {
			t.Fatal(err)
		}
		b.turn(id, "three")
		if told := notices(sub); !slices.Contains(told, noticeNoThinking) {
			t.Errorf("of another model: %q", told)
		}
	})
}
