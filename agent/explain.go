package agent

import (
	"context"
	"errors"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Explanation is what another model or level would get.
type Explanation struct {
	Model    provider.Model
	Decision provider.Decision
	Earlier  *provider.Conversion // what would become of earlier thinking; nil: the provider cannot tell
	Cache    Cache
}

// Explain tells what another model or level would get; nothing changes.
func (a *Agent) Explain(ctx context.Context, o session.Override) (Explanation, error) {
	type asked struct {
		choice
		req *provider.Request
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
		return asked{c, s.requestFor(c), s.cfg}, err
	})
	e := Explanation{Model: q.model, Decision: q.decision, Cache: q.cache}
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
