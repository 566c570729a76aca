package responses_test

import (
	"errors"
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
	if _, err := api("openai", "sk").Models(t.Context()); !errors.Is(err, provider.ErrTellsNothing) {
		t.Errorf("a list of names: %v", err)
	}
}
