package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
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
