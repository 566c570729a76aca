package registry

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/provider/testgo"
)

// A file in the forms that were written before there was an override_mode, and with thinking_level alone, means what it
// meant; written anew it says the same in full.
func TestOldSettings(t *testing.T) {
	text, err := os.ReadFile("testdata/settings_2025.json")
	if err != nil {
		t.Fatal(err)
	}
	kept := durable.NewMemory(text)
	s, err := OpenSettings(nil, nil, kept)
	if err != nil {
		t.Fatal(err)
	}
	want := []Agent{
		{Name: "both", Reasoning: Override{Custom, provider.Max, provider.Downgrade}},
		{Name: "fallback-alone", Reasoning: Override{Custom, provider.High, provider.ProviderDefault}},
		{Name: "inherits", System: "Be brief.", Reasoning: Override{Mode: Inherit}},
		{Name: "level-alone", Model: "anthropic/claude-opus-5", Reasoning: Override{Custom, provider.Medium, provider.Downgrade}},
		{Name: "level-none", Reasoning: Override{Custom, provider.Off, provider.Downgrade}},
		{Name: "nothing", System: "Be brief.", Reasoning: Override{Mode: Inherit}},
		{Name: "reasoning-alone", Reasoning: Override{Custom, provider.XHigh, provider.FallOff}},
		{Name: "reasoning-bare", Reasoning: Override{Custom, provider.High, provider.Downgrade}},
		{Name: "reasoning-none", Reasoning: Override{Custom, provider.Off, provider.Downgrade}},
	}
	check := func(s *Settings) {
		t.Helper()
		if diff := cmp.Diff(want, s.Agents()); diff != "" {
			t.Errorf("agents (-want +got):\n%s", diff)
		}
		if got := s.Defaults("anthropic"); got != (Defaults{Level: provider.Minimal}) {
			t.Errorf("anthropic's defaults are %+v", got)
		}
		if got := s.Defaults("deepseek"); got != (Defaults{Policy: provider.Refuse}) {
			t.Errorf("deepseek's defaults are %+v", got)
		}
	}
	check(s)
	if err := s.RemoveAgent("nosuch"); err != nil {
		t.Fatal(err)
	}
	saved, err := kept.Get()
	if err != nil || bytes.Equal(saved, text) {
		t.Fatalf("it was not written anew, %v", err)
	}
	again, err := OpenSettings(nil, nil, kept)
	if err != nil {
		t.Fatalf("what was saved: %v\n%s", err, saved)
	}
	check(again)
}

// thinking_level is written for custom overrides alone, as the nearest of its four words.
func TestOverrideState(t *testing.T) {
	coarse := map[provider.Level]provider.Level{"": "", provider.Off: provider.Off, provider.Auto: "", provider.On: "", provider.Minimal: provider.Low,
		provider.Low: provider.Low, provider.Medium: provider.Medium, provider.High: provider.High, provider.XHigh: provider.High, provider.Max: provider.High}
	for _, effort := range append(provider.AllLevels(), "") {
		o := Override{Mode: Custom, Level: effort, Policy: provider.FallOff}
		stated, level := o.State()
		if want, ok := coarse[effort]; !ok || level != want {
			t.Errorf("%q is written with the thinking_level %q, want %q", effort, level, want)
		}
		if back, err := ReadOverride(&stated, string(level)); err != nil || back != o {
			t.Errorf("%+v comes back as %+v, %v", o, back, err)
		}
		if stated, level := (Override{Mode: Inherit, Level: effort}).State(); stated != (OverrideText{Mode: "inherit"}) || level != "" {
			t.Errorf("inherit is written as %+v and %q", stated, level)
		}
	}
}

// A settings file that is not one is refused whole, with the member that is wrong.
func TestDamagedSettings(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "EOF",
		"{":                              "unexpected EOF",
		"{} {}":                          "more after",
		"\x00\x00":                       "invalid character",
		`{"a":1}`:                        `unknown field "a"`,
		`{"agents":{"x":{"model":"y"}}}`: `unknown field "model"`,
		`{"agents":{"x y":{}}}`:          `agents: "x y": an agent's name has`,
		`{"agents":{"x":{"thinking_level":"xhigh"}}}`:                 `agents.x.thinking_level: unknown thinking level "xhigh"; known: off, low, medium, high`,
		`{"agents":{"x":{"reasoning":{"effort":"wild"}}}}`:            `agents.x.reasoning.effort: unknown thinking level "wild"`,
		`{"agents":{"x":{"reasoning":{"fallback":"wild"}}}}`:          `agents.x.reasoning.fallback: unknown fallback "wild"`,
		`{"agents":{"x":{"reasoning":{"override_mode":"wild"}}}}`:     `agents.x.reasoning.override_mode: unknown mode "wild"`,
		`{"providers":{"x":{"reasoning_defaults":{"effort":"y"}}}}`:   `providers.x.reasoning_defaults.effort: unknown thinking level "y"`,
		`{"providers":{"x":{"reasoning_defaults":{"fallback":"y"}}}}`: `providers.x.reasoning_defaults.fallback: unknown fallback "y"`,
	} {
		if _, err := OpenSettings(nil, nil, durable.NewMemory([]byte(text))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", text, err, want)
		}
	}
}

// putting is a value that does something else with what it should keep.
type putting struct {
	durable.Memory
	put func([]byte) error
}

func (p *putting) Put(text []byte) error { return p.put(text) }

// A change that cannot be saved does not apply. A change whose function returns an error is not saved.
func TestSettingsChange(t *testing.T) {
	broken, saves := errors.New("no room"), 0
	var fail error
	s, err := OpenSettings([]Agent{{Name: "a", Model: "file"}}, map[string]Defaults{"p": {Level: provider.Low}},
		&putting{put: func([]byte) error { saves++; return fail }})
	if err != nil {
		t.Fatal(err)
	}
	named := func(model string) func(*Agent) error {
		return func(a *Agent) error { a.Model = model; return nil }
	}
	model := func() string { a, _ := s.Agent("a"); return a.Model }
	fail = broken
	if err := s.SetAgent("a", named("x")); !errors.Is(err, broken) || model() != "file" {
		t.Errorf("after a save that failed (%v) the model is %q", err, model())
	}
	if err := s.SetDefaults("p", &Defaults{Level: provider.Max}); !errors.Is(err, broken) || s.Defaults("p").Level != provider.Low {
		t.Errorf("after a save that failed (%v) the defaults are %+v", err, s.Defaults("p"))
	}
	fail, saves = nil, 0
	if err := s.SetAgent("a", func(*Agent) error { return broken }); !errors.Is(err, broken) || saves != 0 {
		t.Errorf("a refused change: %v, %d saves", err, saves)
	}
	if err := s.SetAgent("a", func(a *Agent) error { a.System = strings.Repeat("x", 1<<20); return nil }); !errors.Is(err, ErrSettingsFull) || saves != 0 {
		t.Errorf("a change beyond all bounds: %v, %d saves", err, saves)
	}
	if err := s.SetAgent("a", named("x")); err != nil || model() != "x" || saves != 1 {
		t.Errorf("a change: %v, the model is %q after %d saves", err, model(), saves)
	}
	if err := s.RemoveAgent("a"); err != nil || model() != "file" {
		t.Errorf("a removal: %v, the model is %q, want the file's", err, model())
	}
	if err := s.SetDefaults("p", &Defaults{}); err != nil || s.Defaults("p") != (Defaults{}) {
		t.Errorf("empty defaults over the file's: %v, %+v", err, s.Defaults("p"))
	}
	if err := s.SetDefaults("p", nil); err != nil || s.Defaults("p").Level != provider.Low {
		t.Errorf("the file's defaults again: %v, %+v", err, s.Defaults("p"))
	}
}

// Changes at the same time are all made, and nobody reads half of one.
func TestSettingsTogether(t *testing.T) {
	s, err := OpenSettings(nil, nil, new(durable.Memory))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(testgo.Guard(t, func() {
			for range 50 {
				err := s.SetAgent("a", func(a *Agent) error { a.Model += "x"; a.System += "x"; return nil })
				if err != nil {
					t.Error(err)
				}
				if a, _ := s.Agent("a"); a.Model != a.System {
					t.Errorf("half a change: %+v", a)
				}
			}
		}))
	}
	all.Wait()
	if a, _ := s.Agent("a"); len(a.Model) != 400 {
		t.Errorf("%d changes are there, want 400", len(a.Model))
	}
}

func TestSourcesInOrder(t *testing.T) {
	all := Sources{Turn: provider.Max, Session: provider.XHigh, Agent: Override{Custom, provider.High, provider.FallOff}, Config: provider.Medium,
		Provider: Defaults{provider.Low, provider.ProviderDefault}, Policy: provider.Refuse, Display: provider.Omitted}
	want := []Ask{
		{provider.Max, provider.SourceTurn, provider.Refuse, provider.Omitted},
		{provider.XHigh, provider.SourceSession, provider.Refuse, provider.Omitted},
		{provider.High, provider.SourceAgent, provider.Refuse, provider.Omitted},
		{provider.Medium, provider.SourceConfig, provider.Refuse, provider.Omitted},
		{provider.Low, provider.SourceProvider, provider.Refuse, provider.Omitted},
		{"", "", provider.Refuse, provider.Omitted},
		{"", "", provider.FallOff, provider.Omitted},
		{"", "", provider.ProviderDefault, provider.Omitted},
		{"", "", "", provider.Omitted},
	}
	silence := []func(*Sources){
		func(s *Sources) { s.Turn = "" }, func(s *Sources) { s.Session = "" }, func(s *Sources) { s.Agent.Level = "" },
		func(s *Sources) { s.Config = "" }, func(s *Sources) { s.Provider.Level = "" }, func(s *Sources) { s.Policy = "" },
		func(s *Sources) { s.Agent.Policy = "" }, func(s *Sources) { s.Provider.Policy = "" },
	}
	for i, w := range want {
		if i > 0 {
			silence[i-1](&all)
		}
		if got := all.Ask(); got != w {
			t.Errorf("with %d silent: %+v, want %+v", i, got, w)
		}
	}
	inherits := Sources{Agent: Override{Inherit, provider.Max, provider.Refuse}, Provider: Defaults{Level: provider.Low}}
	if got, w := inherits.Ask(), (Ask{Level: provider.Low, Source: provider.SourceProvider}); got != w {
		t.Errorf("an agent that inherits: %+v, want %+v", got, w)
	}
}

// Whatever can be read can be written, and is read as the same.
func FuzzSettings(f *testing.F) {
	text, err := os.ReadFile("testdata/settings_2025.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"agents":{"a":{"reasoning":{"override_mode":"inherit"}}},"providers":{"":{"reasoning_defaults":{}}}}`))
	f.Add([]byte(`{"agents":{"a":null},"providers":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		kept := durable.NewMemory(text)
		s, err := OpenSettings(nil, nil, kept)
		if err != nil {
			return
		}
		if err := s.RemoveAgent("nosuch-"); err != nil {
			if errors.Is(err, ErrSettingsFull) {
				return
			}
			t.Fatal(err)
		}
		again, err := OpenSettings(nil, nil, kept)
		if err != nil {
			saved, _ := kept.Get()
			t.Fatalf("what was written: %v\n%s", err, saved)
		}
		if diff := cmp.Diff(s.Agents(), again.Agents()); diff != "" {
			t.Errorf("agents (-read +read again):\n%s", diff)
		}
		if diff := cmp.Diff(s.now.Load().providers, again.now.Load().providers); diff != "" {
			t.Errorf("providers (-read +read again):\n%s", diff)
		}
	})
}
