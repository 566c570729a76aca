package agent

import (
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
)

// choice is what a call is to run with.
type choice struct {
	model    provider.Model
	provider provider.Provider // nil: no provider of that name is configured
	decision provider.Decision
}

// decide finds the level for a call: from the turn, else the session, else the operator's own, else the provider's
// defaults, else the model's row.
func (s *state) decide(set session.Settings, o session.Override) (choice, error) {
	return s.cfg.decide(set, o)
}

func (cfg Config) decide(set session.Settings, o session.Override) (choice, error) {
	ref := set.Model
	if o.Model != nil {
		ref = *o.Model
	}
	c := choice{model: cfg.Catalog.Model(ref.Provider, ref.ID), provider: cfg.Provider(ref.Provider)}
	var defaults Defaults
	if cfg.Defaults != nil {
		defaults = cfg.Defaults(ref.Provider)
	}
	ask := registry.Ask{Policy: set.Fallback, Display: set.Display}
	if o.Display != "" {
		ask.Display = o.Display
	}
	switch {
	case o.Level != "":
		ask.Level, ask.Source = o.Level, provider.SourceTurn
	case set.Level != "":
		ask.Level, ask.Source = set.Level, provider.SourceSession
	case cfg.Level != "":
		ask.Level, ask.Source = cfg.Level, provider.SourceConfig
	case defaults.Level != "":
		ask.Level, ask.Source = defaults.Level, provider.SourceProvider
	}
	if ask.Policy == "" {
		ask.Policy = defaults.Policy
	}
	var err error
	if c.decision, err = registry.Resolve(ask, c.model); err != nil {
		return c, err
	}
	if c.provider != nil {
		c.decision.Wire, err = c.provider.Wire(&provider.Request{Model: c.model, Decision: c.decision})
	}
	return c, err
}

// Decide is what a session with these settings would get: for a session that is not there yet.
func (cfg Config) Decide(set session.Settings) (provider.Model, provider.Decision, error) {
	c, err := cfg.decide(set, session.Override{})
	return c.model, c.decision, err
}
