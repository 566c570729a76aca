package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
)

// Agents of the config, in each form that was ever written.
func TestConfigAgents(t *testing.T) {
	doc := `
[agents.full]
model = "anthropic/claude-opus-5"
system_prompt = "Review."
reasoning = { override_mode = "custom", effort = "none", fallback = "off" }

[agents.level]
thinking_level = "medium"

[agents.bare]
reasoning = { effort = "max" }

[agents.both]
thinking_level = "low"
reasoning = { fallback = "error" }

[agents.inherits]
thinking_level = "low"
[agents.inherits.reasoning]
override_mode = "inherit"
effort = "max"

[agents.silent]
`
	c, err := loadConfig(writeConfig(t, doc), environment())
	if err != nil {
		t.Fatal(err)
	}
	custom := func(level provider.Level, policy provider.Policy) registry.Override {
		return registry.Override{Mode: registry.Custom, Level: level, Policy: policy}
	}
	want := []registry.Agent{
		{Name: "bare", Reasoning: custom(provider.Max, provider.Downgrade)},
		{Name: "both", Reasoning: custom(provider.Low, provider.Refuse)},
		{Name: "full", Model: "anthropic/claude-opus-5", System: "Review.", Reasoning: custom(provider.Off, provider.FallOff)},
		{Name: "inherits", Reasoning: registry.Override{Mode: registry.Inherit}},
		{Name: "level", Reasoning: custom(provider.Medium, provider.Downgrade)},
		{Name: "silent", Reasoning: registry.Override{Mode: registry.Inherit}},
	}
	if diff := cmp.Diff(want, c.Agents); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
}

// Settings are written whole and for this user alone; where they cannot be, nothing has changed.
func TestSettingsFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := openSettings(config{}, dir, discard)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, settingsName)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a file before anything was set: %v", err)
	}
	brief := func(a *registry.Agent) error { a.System += "Be brief."; return nil }
	for range 3 {
		if err := s.SetAgent("a", brief); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); goos != "windows" && mode != 0o600 {
		t.Errorf("the mode is %o", mode)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("the directory has %v (%v), want the file alone", list, err)
	}
	if again, err := openSettings(config{}, dir, discard); err != nil || again.Agents()[0].System != strings.Repeat("Be brief.", 3) {
		t.Errorf("read again: %v", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.SetAgent("a", brief); !errors.Is(err, session.ErrReadOnly) {
		t.Errorf("without its directory: %v", err)
	}
	if a, _ := s.Agent("a"); a.System != strings.Repeat("Be brief.", 3) {
		t.Errorf("a change that could not be kept is in force: %q", a.System)
	}
}
