package agent

import (
	"context"
	"errors"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

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
		q.cfg.load(q.req) // what is missing is told where it is sent
		c, err := p.Convert(q.req)
		switch {
		case err == nil:
			e.Earlier = &c
		case !errors.Is(err, provider.ErrUntold):
			return e, err
		}
	}
	return e, nil
}
