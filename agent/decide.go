package agent

import (
	"cmp"
	"slices"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
)

// choice is what a call is to run with.
type choice struct {
	model    provider.Model
	provider provider.Provider // nil: no provider of that name is configured
	decision provider.Decision
	cache    feed.Cache // with it, after what the session's last model was sent
	address  string     // of the provider
}

// decide finds the level for a call, from who says it first: see [registry.Sources].
func (s *state) decide(set session.Settings, o session.Override) (choice, error) {
	c, err := s.cfg.decideFor(set, o, s.kept)
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
	return cfg.decideFor(set, o, func(m provider.Model) provider.Model { return m })
}

// speaker is a catalog that knows in which APIs a provider speaks to a model.
type speaker interface {
	Spoken(m provider.Model, api string) provider.Model
}

// kept is a model's row with the API that the session's log has of it. A row may move to another API of its provider:
// new sessions follow, and this one goes on as it began, since thinking of one API is lost in another.
func (s *state) kept(m provider.Model) provider.Model {
	catalog, ok := s.cfg.Catalog.(speaker)
	if !ok {
		return m
	}
	ref := session.ModelRef{Provider: m.Provider, ID: m.ID}
	for _, t := range slices.Backward(s.view.Turns) {
		if t.Start == nil || t.Start.Model != ref {
			continue
		}
		for _, said := range slices.Backward(t.Messages) {
			for _, part := range said.Parts {
				if api := provider.StateOf(part.Block).Origin.API; api != "" {
					return catalog.Spoken(m, api)
				}
			}
		}
	}
	return m
}

func (cfg Config) decideFor(set session.Settings, o session.Override, kept func(provider.Model) provider.Model) (choice, error) {
	ref := set.Model
	if o.Model != nil {
		ref = *o.Model
	}
	c := choice{model: kept(cfg.Catalog.Model(ref.Provider, ref.ID)), provider: cfg.Provider(ref.Provider), address: cfg.address(ref.Provider)}
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
