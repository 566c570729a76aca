package agent

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/agent/transcript"
	"github.com/thinkd/thinkd/provider"
)

// estimateOf is what is known before a call.
func (s *state) estimateOf(req *provider.Request) budget.Estimate {
	e := budget.Estimate{Sent: utf8.RuneCountInString(req.System)}
	for _, t := range req.Tools {
		e.Sent += utf8.RuneCountInString(t.Name) + utf8.RuneCountInString(t.Description) + utf8.RuneCount(t.Schema)
	}
	for _, m := range req.Messages {
		e.Sent += transcript.Characters(m.Blocks)
	}
	if u, ok := s.lastUsage(); ok && u.Cached+u.CacheWrite > 0 {
		e.Cached = u.Input + u.Output
	}
	return e
}

// lastUsage is what the vendor counted for the last call of the session, if the running turn's model made it.
func (s *state) lastUsage() (provider.Usage, bool) {
	for _, t := range slices.Backward(s.view.Turns) {
		for _, m := range slices.Backward(t.Messages) {
			if m.End != nil && m.End.Usage.Input > 0 && !m.End.Usage.Estimated {
				return m.End.Usage, t.Start.Model == s.run.ref()
			}
		}
	}
	return provider.Usage{}, false
}

// metered takes in what a call has used: the vendor's counts, or an estimate where it gave none. The cost is that of
// the row as it is now, unless the vendor told its own: a later price list changes nothing that was paid.
func (r *turn) metered(u provider.Usage) provider.Usage {
	if u.Input == 0 && u.Output == 0 {
		u = r.estimate.Usage()
	}
	if u.Cost == nil {
		u.Cost = r.model.Price.Cost(u, time.Now())
	}
	if factor := r.model.Premium; factor != nil && r.prompted {
		u.Premium = provider.MoneyOf(*factor)
	}
	u.Context = &provider.Context{Used: u.Size(), Window: r.model.Window}
	r.usage = r.usage.Add(u)
	r.estimate, r.answered = budget.Estimate{}, false
	return u
}

// unmetered is what a call has used that ended without the vendor's counts: an estimate, if the vendor had begun to
// answer. A call that was refused, or never reached the vendor, costs nothing.
func (s *state) unmetered() provider.Usage {
	if !s.run.answered || s.run.reply.id == "" {
		s.run.estimate = budget.Estimate{}
		return provider.Usage{}
	}
	return s.run.metered(provider.Usage{})
}

// usage is the session's so far, with the running turn's calls that are over.
func (s *state) usage() provider.Usage {
	sum := s.view.Session.Usage
	if s.run != nil {
		sum = sum.Add(s.run.usage)
	}
	return sum
}

func (l Limits) budgeted() bool {
	return l.TurnBudget != (budget.Limit{}) || l.SessionBudget != (budget.Limit{})
}

// bounds returns the limits that apply, each with its use so far. It estimates the use of the running call.
func (s *state) bounds() []budget.Bound {
	r, l := s.run, s.cfg.Limits
	if !l.budgeted() {
		return nil
	}
	now := r.estimate.Usage()
	now.Cost = r.model.Price.Cost(now, time.Now())
	turn := budget.Of(r.usage).Plus(budget.Of(now))
	all := budget.Of(s.view.Session.Usage).Plus(turn)
	list := append(l.TurnBudget.Bounds("turn", turn, &r.near), l.SessionBudget.Bounds("session", all, &s.notified.near)...)
	return slices.DeleteFunc(list, func(b budget.Bound) bool { return b.Most == 0 })
}

// affordable ends the turn where a budget is used up, and tells where one nearly is. So a runaway ends in the middle of
// its answer, and a call that is too large is not made.
func (s *state) affordable() bool {
	for _, b := range s.bounds() {
		if b.Used >= b.Most {
			s.tell(s.run.ID, warn(noticeBudgetReached, fmt.Sprintf("the %s's budget of %s is used up", b.Whose, b.Words())))
			s.overLimit(b.Limit)
			return false
		}
	}
	s.tellNear()
	return true
}

// tellNear tells once of each budget that is nearly used up.
func (s *state) tellNear() {
	for _, b := range s.bounds() {
		if share := float64(b.Used) / float64(b.Most); share >= budget.Near && !*b.Told {
			*b.Told = true
			s.tell(s.run.ID, warn(noticeBudgetNear,
				fmt.Sprintf("%d %% of the %s's budget of %s is used", int(100*share), b.Whose, b.Words())))
		}
	}
}

// tellUnpriced tells that a budget of money cannot see what a model costs.
func (s *state) tellUnpriced() {
	r, l := s.run, s.cfg.Limits
	if l.TurnBudget.Cost == 0 && l.SessionBudget.Cost == 0 || r.model.Price != nil || r.model.Provider == s.cfg.Simulator ||
		s.notified.unpriced == r.ref() {
		return
	}
	s.notified.unpriced = r.ref()
	s.tell(r.ID, warn(noticePriceUnknown,
		fmt.Sprintf("the price of %s is not known: the budget of money does not see what it costs", r.model.Ref())))
}

// contextUsed is how many tokens the next call is about to send: the vendor's count of the last call and what was said since,
// or an estimate where nobody has counted since the last compaction.
func (s *state) contextUsed() int {
	used, _ := s.contextSize()
	return used
}

// contextSize is contextUsed, and whether the model's own vendor has counted most of it.
func (s *state) contextSize() (used int, counted bool) {
	since := 0
	parts := s.share(s.run.ref())
	first, message := s.view.Rest()
	for i := len(s.view.Turns) - 1; i >= first; i-- {
		t := s.view.Turns[i]
		if !parts.Spoken(t) {
			continue
		}
		for j := len(t.Messages) - 1; j >= 0 && (i > first || j >= message); j-- {
			m := t.Messages[j]
			if u := m.End; u != nil && u.Usage.Input > 0 && !s.view.Precompacted(m) {
				same := t.Start.Model == s.run.ref()
				return u.Usage.Size() + budget.Tokens(since), same && !u.Usage.Estimated
			}
			for _, p := range m.Parts {
				since += transcript.Characters(provider.Blocks{p.Block})
			}
		}
	}
	e := s.estimateOf(s.request())
	return budget.Tokens(e.Sent), false
}
