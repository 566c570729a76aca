package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
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
			check(t, "end", b.turn(id, prompt).End.StopReason, "end_turn")
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
		check(t, "end after a refusal", b.turn(id, "one").End.StopReason, "error")
		check(t, "learned", learned, []provider.Learned{{Retired: true}})

		use(registry.Provider{Refreshed: []provider.Model{row(passed)}, Lessons: []registry.Lesson{{Model: "old", AsOf: "2000-01-01", Learned: learned[0]}}})
		end := b.turn(id, "two").End
		check(t, "end without a call", end.StopReason, "error")
		check(t, "why", end.Error.Message, "shop: old is retired: so says the refusal of shop on 2000-01-01. Its successor is new.")
	})
}
