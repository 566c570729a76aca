package registry

import (
	"fmt"

	"github.com/thinkd/thinkd/provider"
)

// OverrideMode says whether an agent has a word of its own about thinking.
type OverrideMode string

const (
	Inherit OverrideMode = "inherit" // none: the sources below rule
	Custom  OverrideMode = "custom"
)

// Words lists both modes.
func (OverrideMode) Words() []string { return provider.Words(Inherit, Custom) }

// Override is what an agent says about thinking. The zero value says nothing, as Inherit does.
type Override struct {
	Mode   OverrideMode
	Level  provider.Level  // of Custom; empty: the sources below say it
	Policy provider.Policy // of Custom; empty: the sources below say it
}

// Stated is an override as it is written in a file or sent by a client; empty words state nothing.
type Stated struct {
	Mode     OverrideMode    `json:"override_mode,omitempty" toml:"override_mode"`
	Effort   provider.Level  `json:"effort,omitempty" toml:"effort"`
	Fallback provider.Policy `json:"fallback,omitempty" toml:"fallback"`
}

// OverrideError is a word that an override cannot have. A level's is a *[provider.LevelError] inside.
type OverrideError struct {
	Field string // as it is written: reasoning.effort, thinking_level, …
	Err   error
}

func (e *OverrideError) Error() string { return e.Field + ": " + e.Err.Error() }
func (e *OverrideError) Unwrap() error { return e.Err }

// coarse are the words of thinking_level, which agents had before they had efforts.
var coarse = []provider.Level{provider.Off, provider.Low, provider.Medium, provider.High}

// ReadOverride takes an override in any form that was ever written: reasoning with its mode; reasoning alone, which is
// custom; thinking_level alone, which is custom too. Where both are there, thinking_level is read last: it counts only
// for a custom override without an effort. Who names a level and no fallback means downgrade, whatever the provider's
// default: there was no other when such were written. Errors are *[OverrideError].
func ReadOverride(stated *Stated, level string) (Override, error) {
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
func (o Override) State() (stated Stated, level provider.Level) {
	if o.Mode != Custom {
		return Stated{Mode: Inherit}, ""
	}
	stated = Stated{Custom, o.Level, o.Policy}
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
