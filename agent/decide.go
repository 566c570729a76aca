package agent

import (
	"cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
)

// choice is what a call is to run with.
type choice struct {
	model    provider.Model
	provider provider.Provider // nil: no provider of that name is configured
	decision provider.Decision
	cache    Cache  // with it, after what the session's last model was sent
	address  string // of the provider
}

// decide finds the level for a call, from who says it first: see [registry.Sources].
func (s *state) decide(set session.Settings, o session.Override) (choice, error) {
	c, err := s.cfg.decide(set, o)
	if err != nil || c.provider == nil {
		return c, err
	}
	if newCourse(c) != (course{}) || len(s.view.Repairs) > 0 { // what came before has a say in what is sent
		if c.decision.Wire, err = c.provider.Wire(s.asked(c)); err != nil {
			return c, err
		}
	}
	c.cache = s.cached(s.answered(nil), c)
	return c, nil
}

func (cfg Config) decide(set session.Settings, o session.Override) (choice, error) {
	ref := set.Model
	if o.Model != nil {
		ref = *o.Model
	}
	c := choice{model: cfg.Catalog.Model(ref.Provider, ref.ID), provider: cfg.Provider(ref.Provider), address: cfg.address(ref.Provider)}
	from := registry.Sources{Turn: o.Level, Session: set.Level, Agent: override(set.Agent), Config: cfg.Level,
		Policy: set.Fallback, Display: cmp.Or(o.Display, set.Display)}
	if cfg.Defaults != nil {
		from.Provider = cfg.Defaults(ref.Provider)
	}
	var err error
	if c.decision, err = registry.Resolve(from.Ask(), c.model); err != nil {
		return c, err
	}
	if c.provider != nil {
		c.decision.Wire, err = c.provider.Wire(&provider.Request{Model: c.model, Decision: c.decision})
	}
	return c, err
}

// override is what a session's agent said when the session was made.
func override(a session.AgentChoice) registry.Override {
	return registry.Override{Mode: registry.Custom, Level: a.Level, Policy: a.Fallback}
}

// Decide is what a turn with this override would get in a session with these settings: for a session that is not
// there yet, and for whoever wants to know without one.
func (cfg Config) Decide(set session.Settings, o session.Override) (provider.Model, provider.Decision, error) {
	c, err := cfg.decide(set, o)
	return c.model, c.decision, err
}
