package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

func TestRetirement(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		lifecycle *provider.Lifecycle
		want      string
	}{
		{nil, ""},
		{&provider.Lifecycle{State: provider.LifecycleCurrent}, ""},
		{&provider.Lifecycle{State: provider.LifecycleDeprecated, Retires: "2027-02-01"}, ""},
		{&provider.Lifecycle{State: provider.LifecycleDeprecated, Retires: "2027-01-21"}, "v/m retires on 2027-01-21. Choose another model."},
		{&provider.Lifecycle{State: provider.LifecycleDeprecated, Retires: "2026-12-01", ReplacedBy: "n"}, "v/m retires on 2026-12-01. Its successor is n."},
		{&provider.Lifecycle{State: provider.LifecycleDeprecated, Retires: "2026-12-01", ReplacedBy: "n", Redirects: true},
			"v/m retires on 2026-12-01. From that day n answers under its name, by its own rules: choose a model."},
		{&provider.Lifecycle{State: provider.LifecycleDeprecated, Retires: "2026-11-22"}, "v/m was retired on 2026-11-22. Choose another model."},
		{&provider.Lifecycle{State: provider.LifecycleRetired}, "v/m is retired. Choose another model."},
	} {
		if got := retirement(provider.Model{Provider: "v", ID: "m", Lifecycle: test.lifecycle}, now); got != test.want {
			t.Errorf("%+v: got %q, want %q", test.lifecycle, got, test.want)
		}
	}
}

// The warning comes once in a session, and the call is made.
func TestRetirementIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in the year 2000
		b := newBench(t, events(append(say("a"), stop(provider.Usage{Input: 1, Output: 1}))...), events(append(say("b"), stop(provider.Usage{Input: 1, Output: 1}))...))
		defer b.close()
		catalog, err := registry.New([]registry.Provider{{ID: "shop", API: "chat", Refreshed: []provider.Model{{ID: "old", Tools: true,
			Thinking:  provider.Capability{Control: provider.ControlNone},
			Lifecycle: &provider.Lifecycle{State: provider.LifecycleDeprecated, Retires: "2000-02-01"}}}}})
		if err != nil {
			t.Fatal(err)
		}
		b.group.Close()
		b.cfg.Catalog = catalog
		b.start()
		id := b.session("shop/old", "")
		_, sub, err := b.agent(id).Attach(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, prompt := range []string{"one", "two"} {
			check(t, "end", string(b.turn(id, prompt).End.StopReason), "end_turn")
		}
		check(t, "warnings", notices(sub), []string{noticeRetires})
		sub.Close()
	})
}

// A model that the vendor's list calls retired is not called: the turn ends, and the error names the successor. One that
// only a row of the catalog calls retired is called; its vendor's refusal is learned.
func TestRetiredModels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusal := &provider.Error{Provider: "shop", Kind: provider.KindBadRequest, Status: 404, Subject: provider.SubjectModel, Message: "no such model"}
		b := newBench(t, events(refusal), events(append(say("b"), stop(provider.Usage{Input: 1, Output: 1}))...))
		defer b.close()
		row := func(l provider.Lifecycle) provider.Model {
			return provider.Model{ID: "old", Tools: true, Thinking: provider.Capability{Control: provider.ControlNone}, Lifecycle: &l}
		}
		use := func(p registry.Provider) {
			p.ID, p.API = "shop", "chat"
			catalog, err := registry.New([]registry.Provider{p})
			if err != nil {
				t.Fatal(err)
			}
			b.cfg.Catalog = catalog
			b.group.Close()
			b.start()
		}
		var learned []provider.Learned
		b.cfg.Learned = func(m session.ModelRef, l provider.Learned) { learned = append(learned, l) }
		passed := provider.Lifecycle{State: provider.LifecycleDeprecated, Retires: "1999-12-31", ReplacedBy: "new"} // a bubble begins in the year 2000
		use(registry.Provider{Noted: []provider.Model{row(passed)}, Refreshed: []provider.Model{row(passed)}})
		id := b.session("shop/old", "")
		check(t, "end after a refusal", string(b.turn(id, "one").End.StopReason), "error")
		check(t, "learned", learned, []provider.Learned{{Retired: true}})

		use(registry.Provider{Refreshed: []provider.Model{row(passed)}, Lessons: []registry.Lesson{{Model: "old", AsOf: "2000-01-01", Learned: learned[0]}}})
		end := b.turn(id, "two").End
		check(t, "end without a call", string(end.StopReason), "error")
		check(t, "why", end.Error.Message, "shop: old is retired: so says the refusal of shop on 2000-01-01. Its successor is new.")
	})
}

// A session that lives over the day on which its vendor redirects the model's name: it is warned before and on the day,
// and has the successor's rules from then on, within a running turn too.
func TestSessionOverARedirect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // from the first of January 2000
		slow := func(ctx context.Context, yield func(provider.Event, error) bool) {
			events(time.Minute)(ctx, yield)
			calls("a", `{"at":"1"}`)(ctx, yield)
		}
		end := func() script { return events(append(say("a"), stop(provider.Usage{Input: 1, Output: 1}))...) }
		b, _ := toolBench(t, &host{run: func(context.Context, provider.ToolCall, func(string)) provider.ToolResult { return said("x") }},
			end(), slow, end(), end())
		defer b.close()
		budget := provider.Capability{Control: provider.ControlBudget, Levels: []provider.Level{provider.Off, provider.Low, provider.High}, Default: provider.High, Off: provider.OffFull,
			BudgetMin: 1024, BudgetMax: 30_000}
		effort := provider.Capability{Control: provider.ControlEffort, Levels: []provider.Level{provider.Low, provider.Medium}, Default: provider.Medium}
		catalog, err := registry.New([]registry.Provider{{ID: "sim", API: "chat", Refreshed: []provider.Model{
			{ID: "old", Tools: true, Thinking: budget, Lifecycle: &provider.Lifecycle{State: provider.LifecycleDeprecated, Retires: "2000-01-02", ReplacedBy: "new", Redirects: true}},
			{ID: "new", Tools: true, Thinking: effort}}}})
		if err != nil {
			t.Fatal(err)
		}
		b.group.Close()
		b.cfg.Catalog = catalog
		b.start()
		s, err := b.group.For(session.Operator).Create(t.Context(), session.Session{Settings: session.Settings{Model: session.ModelRef{Provider: "sim", ID: "old"}, Level: provider.Off},
			Tools: []tool.Tool{{Tool: provider.Tool{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)}, Host: tool.MCP, Source: "files", Effect: tool.Read}}})
		if err != nil {
			t.Fatal(err)
		}
		_, sub, err := b.agent(s.ID).Attach(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		for _, prompt := range []string{"before", "over the day", "after"} {
			if prompt == "over the day" {
				time.Sleep(time.Until(time.Date(2000, 1, 1, 23, 59, 30, 0, time.UTC)))
			}
			check(t, prompt, string(b.turn(s.ID, prompt).End.StopReason), "end_turn")
		}
		var sent []string
		for _, req := range b.fake.requests {
			sent = append(sent, fmt.Sprintf("%s as %s %s %s", req.Model.ID, req.Model.As, req.Decision.Control.Mode, req.Decision.Effective))
		}
		check(t, "calls", sent, []string{"old as  off off", "old as  off off", "old as new effort low", "old as new effort low"})
		warned := slices.DeleteFunc(notices(sub), func(kind string) bool { return kind != noticeRetires })
		check(t, "warnings", len(warned), 2)
	})
}

// A row that moves to another API of its provider takes new sessions along. A session that has thinking of the old one
// goes on there.
func TestSessionKeepsItsAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spoken := func(api string) script {
			origin := provider.Origin{API: api, Vendor: "copilot", Model: "claude-sonnet-5"}
			return events(provider.End{Index: 0, Block: provider.Thinking{Text: "hm", Signed: true, State: provider.State{Origin: origin, Data: json.RawMessage(`{"a":1}`)}}},
				provider.End{Index: 1, Block: provider.Text{Text: "a"}}, stop(provider.Usage{Input: 1, Output: 1}))
		}
		b := newBench(t, spoken("chat"), spoken("chat"), spoken("messages"), spoken("messages"), spoken("chat"))
		defer b.close()
		catalog := func(api string) *registry.Catalog {
			c, err := registry.New([]registry.Provider{{ID: "hub", Vendor: "copilot", Refreshed: []provider.Model{{ID: "claude-sonnet-5", API: api, Dialect: "copilot", Tools: true}}}})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		use := func(api string) {
			b.group.Close()
			b.cfg.Catalog = registry.NewCurrent(catalog(api))
			b.start()
		}
		use("chat")
		old := b.session("hub/claude-sonnet-5", "")
		b.turn(old, "one")
		use("messages")
		b.turn(old, "two")
		fresh := b.session("hub/claude-sonnet-5", "")
		b.turn(fresh, "one")
		b.turn(fresh, "two")
		b.turn(old, "three")
		var sent []string
		for _, req := range b.fake.requests {
			sent = append(sent, req.Model.API+"/"+req.Model.Dialect)
		}
		check(t, "APIs", sent, []string{"chat/copilot", "chat/copilot", "messages/copilot", "messages/copilot", "chat/copilot"})
	})
}
