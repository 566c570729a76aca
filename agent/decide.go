package agent

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/transcript"
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
	if transcript.Changes(c.model, c.decision) || len(s.view.Repairs) > 0 { // what came before has a say in what is sent
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

// Explanation is what another model or level would get.
type Explanation struct {
	Model    provider.Model
	Decision provider.Decision
	Earlier  *provider.Conversion // what would become of earlier thinking; nil: the provider cannot tell
	Cache    feed.Cache
	LeftOut  []Omitted // of what was said, since the model's provider refused it
}

// Omitted is a message of which a model is not sent all.
type Omitted struct {
	Message session.MessageID
	Share   session.Share // of it, that is sent
	Why     string
}

// omitted lists what of the conversation a model is not sent since its provider refused it, in the order of the refusals.
func (s *state) omitted(model session.ModelRef) (list []Omitted) {
	for _, l := range s.view.LeftOut {
		if l.Model != model {
			continue
		}
		for _, id := range l.Messages {
			list = append(list, Omitted{id, session.NotSent, l.Why})
		}
		for _, id := range l.Emptied {
			list = append(list, Omitted{id, session.SentEmptied, l.Why})
		}
	}
	return list
}

// Explain tells what another model or level would get; nothing changes.
func (a *Agent) Explain(ctx context.Context, o session.Override) (Explanation, error) {
	type asked struct {
		choice
		req *provider.Request
		out []Omitted
		cfg Config
	}
	q, err := ask(ctx, a, func(s *state) (asked, error) {
		set := s.view.Session.Settings
		if o.Model != nil {
			set.Model = *o.Model
		}
		if o.Level != "" {
			set.Level = o.Level
		}
		c, err := s.decide(set, session.Override{})
		return asked{c, s.requestFor(c), s.omitted(c.ref()), s.cfg}, err
	})
	e := Explanation{Model: q.model, Decision: q.decision, Cache: q.cache, LeftOut: q.out}
	if e.Cache.State == "" { // nothing was said yet, so nothing can be lost
		e.Cache.State = provider.CacheKept
	}
	if err != nil {
		return e, err
	}
	if p, ok := q.provider.(provider.Converter); ok { // here, since it may take a while, and the session goes on
		q.cfg.load(q.req) // its notices about missing media come with the call itself
		c, err := p.Convert(q.req)
		switch {
		case err == nil:
			e.Earlier = &c
		case !errors.Is(err, provider.ErrNotKnownYet):
			return e, err
		}
	}
	return e, nil
}

// gone is why a model is not called: the vendor's list or a refusal says that it is retired. A date or a row of the
// catalog is not enough: the vendor decides what it serves.
func gone(m provider.Model) error {
	if m.Lifecycle == nil || !m.Lifecycle.Gone {
		return nil
	}
	f := m.Facts.Lifecycle
	why := fmt.Sprintf("%s is retired: so says the %s", m.ID, f.Source)
	if f.AsOf != "" {
		why += " on " + f.AsOf
	}
	return &provider.Error{API: m.API, Provider: m.Provider, Kind: provider.KindBadRequest, Subject: provider.SubjectModel,
		Message: why + ". " + m.Lifecycle.Succession()}
}

// learnRetired takes a refusal of the model for its end, if that is known to have come.
func (s *state) learnRetired(pe *provider.Error) {
	m := s.run.model
	l := m.Lifecycle
	if s.cfg.Learned == nil || pe.Subject != provider.SubjectModel || pe.Status < 400 || l == nil || l.Gone {
		return
	}
	if l.State == provider.LifecycleRetired || l.Retires != "" && l.Retires <= time.Now().UTC().Format(time.DateOnly) {
		s.cfg.Learned(s.run.ref(), provider.Learned{Retired: true})
	}
}

// followRedirect gives the running turn the rules of the model that answers under its model's name since today: a turn
// may run over the day on which the vendor redirects the name.
func (s *state) followRedirect() {
	r := s.run
	now := s.kept(s.cfg.Catalog.Model(r.model.Provider, r.model.ID))
	if now.As == r.model.As {
		return
	}
	ask := registry.Ask{Source: r.decision.Source, Policy: r.decision.Fallback, Display: r.decision.Control.Display}
	if r.decision.Source != provider.SourceModel && r.decision.Source != provider.SourceUnset {
		ask.Level = r.decision.Requested
	}
	decision, err := registry.Resolve(ask, now)
	if err != nil { // the policy refuses: the nearest level is better than the end of a turn that runs
		ask.Policy = provider.Downgrade
		if decision, err = registry.Resolve(ask, now); err != nil {
			r.log.Error("no level for a redirected model", "model", now.Ref(), "err", err)
			return
		}
	}
	r.model, r.decision = now, decision
	if wire, err := r.provider.Wire(s.asked(r.choice)); err == nil {
		r.decision.Wire = wire
	}
	s.warnRetirement()
}

// cached compares a call with c with that of the turn before it that a model answered, nil if there is none.
func (s *state) cached(before *session.Turn, c choice) feed.Cache {
	if before == nil || c.provider == nil {
		return feed.Cache{}
	}
	was, now := before.Start.Reasoning, c.decision
	if before.Start.Model != c.ref() {
		return feed.Cache{State: provider.CacheLost, Why: fmt.Sprintf("the model changed from %s to %s: its prompt cache starts again", before.Start.Model, c.ref())}
	}
	if s.view.Precompacted(before.Messages[len(before.Messages)-1]) {
		return feed.Cache{State: provider.CacheLost, Why: "earlier messages were summarised: the prompt cache starts again"}
	}
	state, why := provider.CacheKept, ""
	if !bytes.Equal(was.Wire, now.Wire) {
		state, why = provider.CacheOf(c.provider, was.Wire, s.asked(c))
	}
	if state == provider.CacheKept || was.Effective == now.Effective {
		return feed.Cache{State: state, Why: why}
	}
	verdict := "starts again"
	if state == provider.CacheUnknown {
		verdict = "may start again"
	}
	return feed.Cache{State: state, Why: fmt.Sprintf("the thinking level changed from %s to %s: the prompt cache %s; %s", was.Effective, now.Effective, verdict, why)}
}

// answered is the newest turn but one that a model answered, nil if there is none.
func (s *state) answered(but *session.Turn) *session.Turn {
	for _, t := range slices.Backward(s.view.Turns) {
		if t == but || t.Start == nil {
			continue
		}
		for _, m := range t.Messages {
			if m.Role == provider.Assistant && m.End != nil && m.End.Usage.Input > 0 {
				return t
			}
		}
	}
	return nil
}

// asked is what the decision on thinking depends on of a call with c.
func (s *state) asked(c choice) *provider.Request {
	opening, changed := s.share(c.ref()).Effort(c.model, c.decision)
	return &provider.Request{Model: c.model, Decision: c.decision, CacheTime: s.view.Session.Settings.Cache, Repairs: repairs(s.view), Opening: opening, Changed: changed}
}

func repairs(v *session.View) []provider.Repair {
	var list []provider.Repair
	for _, r := range v.Repairs {
		list = append(list, r.Repair)
	}
	return list
}
