package registry

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/provider/testgo"
)

func openShared(t *testing.T, table durable.Table) *Settings {
	t.Helper()
	s, err := OpenTable([]Agent{{Name: "own", System: "of the config"}}, map[string]Defaults{"x": {Level: provider.Low}}, table)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A change at one node applies at the other, over the configuration of that, and so does its removal.
func TestSettingsOfTwoNodes(t *testing.T) {
	table := new(durable.MemoryTable)
	a, b := openShared(t, table), openShared(t, table)
	system := func(s *Settings, name, text string) {
		t.Helper()
		if err := s.SetAgent(name, func(a *Agent) error { a.System += text; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	system(a, "own", "+a")
	system(b, "own", "+b")
	system(b, "new", "b")
	if err := a.SetDefaults("x", &Defaults{Level: provider.High}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Settings{a, b, openShared(t, table)} {
		own, _ := s.Agent("own")
		if own.System != "of the config+a+b" || len(s.Agents()) != 2 || s.Defaults("x").Level != provider.High {
			t.Errorf("%+v, %d agents, %+v", own, len(s.Agents()), s.Defaults("x"))
		}
	}
	if err := errors.Join(b.RemoveAgent("own"), a.RemoveAgent("new"), b.SetDefaults("x", nil)); err != nil {
		t.Fatal(err)
	}
	own, _ := a.Agent("own")
	if rows, _ := table.Rows(); own.System != "of the config" || len(b.Agents()) != 1 || a.Defaults("x").Level != provider.Low || len(rows) != 0 {
		t.Errorf("after the removal: %+v, %d agents, %+v, %q", own, len(b.Agents()), a.Defaults("x"), rows)
	}
	refused := errors.New("refused")
	if err := a.SetAgent("own", func(*Agent) error { return refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
}

// The settings of all nodes have the limit of those of one, and a row that cannot be read is an error at the start.
func TestSharedSettingsLimits(t *testing.T) {
	table := new(durable.MemoryTable)
	a, b := openShared(t, table), openShared(t, table)
	var full error
	for i := 0; full == nil && i < 10; i++ {
		full = []*Settings{a, b}[i%2].SetAgent(strings.Repeat("n", i+1), func(a *Agent) error { a.System = strings.Repeat("x", 300_000); return nil })
	}
	if !errors.Is(full, ErrSettingsFull) || len(a.Agents()) != 4 {
		t.Errorf("%v, %d agents", full, len(a.Agents()))
	}
	if err := table.Change(t.Context(), "agent z", func([]byte) ([]byte, error) { return []byte(`{"later":1}`), nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenTable(nil, nil, table); err == nil {
		t.Error("a row of a later build is read")
	}
	if len(b.Agents()) != 4 {
		t.Errorf("%d agents", len(b.Agents()))
	}
}

// Who watches hears which provider has other defaults.
func TestWatchDefaults(t *testing.T) {
	table := new(durable.MemoryTable)
	a, b := openShared(t, table), openShared(t, table)
	heard := make(chan string)
	ctx, stop := context.WithCancel(t.Context())
	done := testgo.Go(t, func() { a.Watch(ctx, func(id string) { heard <- id }) })
	for i, d := range []*Defaults{{Level: provider.High}, nil} {
		from := []*Settings{b, a}[i%2]
		if err := from.SetDefaults("y", d); err != nil {
			t.Fatal(err)
		}
		if id := <-heard; id != "y" {
			t.Errorf("%s was changed", id)
		}
	}
	stop()
	<-done
}
