package registry

import (
	"fmt"

	"github.com/thinkd/thinkd/provider"
)

// Defaults are the level and the policy that the operator set for a provider. Empty members state nothing.
type Defaults struct {
	Level  provider.Level
	Policy provider.Policy
}

// Sources are all places that may name a level for a call, in order of precedence. Empty members state nothing.
type Sources struct {
	Turn     provider.Level
	Session  provider.Level
	Agent    Override       // an inherited one states nothing
	Config   provider.Level // the operator's for all sessions
	Provider Defaults

	Policy  provider.Policy // the session's; then the agent's, then the provider's
	Display provider.Display
}

// Ask is what they amount to. Where nobody names a level, the model's row does: see [Resolve].
func (s Sources) Ask() Ask {
	agent := s.Agent
	if agent.Mode != Custom {
		agent = Override{}
	}
	ask := Ask{Policy: s.Policy, Display: s.Display}
	for _, said := range []struct {
		level  provider.Level
		source provider.Source
	}{
		{s.Turn, provider.SourceTurn},
		{s.Session, provider.SourceSession},
		{agent.Level, provider.SourceAgent},
		{s.Config, provider.SourceConfig},
		{s.Provider.Level, provider.SourceProvider},
	} {
		if said.level != "" {
			ask.Level, ask.Source = said.level, said.source
			break
		}
	}
	for _, policy := range []provider.Policy{agent.Policy, s.Provider.Policy} {
		if ask.Policy == "" {
			ask.Policy = policy
		}
	}
	return ask
}

// OverrideMode states whether an agent has settings of its own for thinking.
type OverrideMode string

const (
	Inherit OverrideMode = "inherit" // the sources below apply
	Custom  OverrideMode = "custom"
)

// Words lists both modes.
func (OverrideMode) Words() []string { return provider.Words(Inherit, Custom) }

// Override has the settings of an agent for thinking. The zero value states nothing, like Inherit.
type Override struct {
	Mode   OverrideMode
	Level  provider.Level  // of Custom; empty: the sources below apply
	Policy provider.Policy // of Custom; empty: the sources below apply
}

// OverrideText is an override as it is written in a file or sent by a client. Empty words state nothing.
type OverrideText struct {
	Mode     OverrideMode    `json:"override_mode,omitempty" toml:"override_mode"`
	Effort   provider.Level  `json:"effort,omitempty" toml:"effort"`
	Fallback provider.Policy `json:"fallback,omitempty" toml:"fallback"`
}

// OverrideError is an invalid word in an override. For a level, Err is a *[provider.LevelError].
type OverrideError struct {
	Field string // the name in the file: reasoning.effort, thinking_level, …
	Err   error
}

func (e *OverrideError) Error() string { return e.Field + ": " + e.Err.Error() }
func (e *OverrideError) Unwrap() error { return e.Err }

// coarse are the words of thinking_level, which agents had before reasoning.effort.
var coarse = []provider.Level{provider.Off, provider.Low, provider.Medium, provider.High}

// ReadOverride reads an override in all its forms: reasoning with its mode; reasoning without a mode, which is custom; and
// thinking_level alone, which is custom too. If both are present, thinking_level applies only to a custom override without
// an effort. A level without a fallback means downgrade, whatever the provider's default is: older files have no fallback
// and mean that. Errors are *[OverrideError].
func ReadOverride(stated *OverrideText, level string) (Override, error) {
	bad := func(field string, err error) (Override, error) { return Override{}, &OverrideError{field, err} }
	old, err := readCoarse(level)
	if err != nil {
		return bad("thinking_level", err)
	}
	if stated == nil {
		if old == "" {
			return Override{Mode: Inherit}, nil
		}
		return Override{Custom, old, provider.Downgrade}, nil
	}
	o := Override{Mode: Custom}
	if stated.Effort != "" {
		if o.Level, err = provider.ParseLevel(string(stated.Effort)); err != nil {
			return bad("reasoning.effort", err)
		}
	}
	if stated.Fallback != "" {
		if o.Policy, err = provider.ParsePolicy(string(stated.Fallback)); err != nil {
			return bad("reasoning.fallback", err)
		}
	}
	switch stated.Mode {
	case "", Custom:
	case Inherit:
		return Override{Mode: Inherit}, nil
	default:
		return bad("reasoning.override_mode", fmt.Errorf("unknown mode %q; known: %s, %s", stated.Mode, Inherit, Custom))
	}
	if o.Level == "" {
		o.Level = old
	}
	if o.Level != "" && o.Policy == "" {
		o.Policy = provider.Downgrade
	}
	return o, nil
}

func readCoarse(word string) (provider.Level, error) {
	if word == "none" {
		return provider.Off, nil
	}
	for _, l := range append([]provider.Level{""}, coarse...) {
		if provider.Level(word) == l {
			return l, nil
		}
	}
	return "", &provider.LevelError{Level: provider.Level(word), Supported: coarse}
}

// State writes the override, with the thinking_level that a reader of the old form understands: the nearest coarse
// word, for a custom override alone. Auto and on have none.
func (o Override) State() (stated OverrideText, level provider.Level) {
	if o.Mode != Custom {
		return OverrideText{Mode: Inherit}, ""
	}
	stated = OverrideText{Custom, o.Level, o.Policy}
	switch o.Level {
	case provider.Minimal:
		return stated, provider.Low
	case provider.XHigh, provider.Max:
		return stated, provider.High
	case provider.Auto, provider.On:
		return stated, ""
	}
	return stated, o.Level
}
