package responses_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
)

func TestModels(t *testing.T) {
	server, api := simulated(t)
	list, err := api("chatgpt", "sk").Models(t.Context())
	if err != nil || len(server.Refusals()) > 0 {
		t.Fatalf("%v, refusals %+v", err, server.Refusals())
	}
	got := map[string]provider.Capability{}
	for _, m := range list {
		got[m.ID] = m.Thinking
		if m.Window != 372_000 || m.Source != provider.FromRefreshed || len(m.Input) != 2 {
			t.Errorf("%+v", m)
		}
	}
	for id, want := range map[string]provider.Capability{
		"gpt-6.1-sol": {Control: "effort", Default: "medium", Levels: []provider.Level{"low", "medium", "high", "xhigh", "max"}}, // and no ultra
		"gpt-5.6-sol": {Control: "effort", Default: "medium", Off: "full", Levels: []provider.Level{"off", "low", "medium", "high", "xhigh", "max"}},
		"gpt-5.4":     {Control: "effort", Default: "off", Off: "full", Levels: []provider.Level{"off", "low", "medium", "high", "xhigh"}},
		"gpt-4.1":     {Control: "none"},
	} {
		if diff := cmp.Diff(want, got[id]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
	list, err = api("openai", "sk").Models(t.Context())
	if err != nil || !slices.ContainsFunc(list, func(m provider.Model) bool {
		return m.ID == "gpt-6.1-sol" && m.Lifecycle.State == provider.LifecycleCurrent
	}) ||
		!slices.ContainsFunc(list, func(m provider.Model) bool { return m.ID == "gpt-5" && m.Lifecycle.Retires == "2026-12-11" }) {
		t.Errorf("a list of names and dates: %+v, %v", list, err)
	}
	if _, err := api("azure", "sk").Models(t.Context()); !errors.Is(err, provider.ErrNoList) {
		t.Errorf("no list: %v", err)
	}
}
