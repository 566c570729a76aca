package agent

import (
	"fmt"
	"slices"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// Budget bounds what is used. A member that is 0 bounds nothing.
type Budget struct {
	Tokens int            // in and out, of all calls
	Cost   provider.Money // USD; calls of models without a known price cost nothing here
}

func (l Limits) budgeted() bool { return l.TurnBudget != (Budget{}) || l.SessionBudget != (Budget{}) }

// spent is what budgets are about.
type spent struct {
	tokens int
	cost   provider.Money
}

func spentOf(u provider.Usage) spent {
	s := spent{tokens: u.Input + u.Output}
	if u.Cost != nil {
		s.cost = u.Cost.Amount
	}
	return s
}

func (a spent) plus(b spent) spent { return spent{a.tokens + b.tokens, a.cost + b.cost} }

// bound is one member of a budget, and what is used of it.
type bound struct {
	limit string // as turn_end names it
	whose string
	used  int64
	most  int64
	told  *bool // people know that it is nearly used up
}

// The two members, as turn_end names them.
const (
	limitTokens = "tokens"
	limitCost   = "cost"
)

// near is the share of a budget from which on people are told.
const near = 0.8

func (b Budget) bounds(whose string, used spent, told *[2]bool) []bound {
	return []bound{
		{limitTokens, whose, int64(used.tokens), int64(b.Tokens), &told[0]},
		{limitCost, whose, int64(used.cost), int64(b.Cost), &told[1]},
	}
}

func (b bound) words() string {
	if b.limit == limitCost {
		return fmt.Sprintf("%v %s", provider.Money(b.most).Units(), provider.USD)
	}
	return fmt.Sprintf("%d tokens", b.most)
}

// bounds are those in force, with what is used; what the running call has used is estimated.
func (s *state) bounds() []bound {
	r, l := s.run, s.cfg.Limits
	if !l.budgeted() {
		return nil
	}
	now := r.estimate.usage()
	now.Cost = r.model.Price.Cost(now, time.Now())
	turn := spentOf(r.usage).plus(spentOf(now))
	all := spentOf(s.view.Session.Usage).plus(turn)
	list := append(l.TurnBudget.bounds("turn", turn, &r.near), l.SessionBudget.bounds("session", all, &s.told.near)...)
	return slices.DeleteFunc(list, func(b bound) bool { return b.most == 0 })
}

// tooMuch is the first of some bounds that a use of so much more would go beyond, nil if there is none.
func tooMuch(bounds []bound, more spent) *bound {
	for i, b := range bounds {
		use := int64(more.tokens)
		if b.limit == limitCost {
			use = int64(more.cost)
		}
		if b.most > 0 && b.used+use >= b.most {
			return &bounds[i]
		}
	}
	return nil
}

// affordable ends the turn where a budget is used up, and tells where one nearly is. So a runaway ends in the middle of
// its answer, and a call that is too large is not made.
func (s *state) affordable() bool {
	for _, b := range s.bounds() {
		if b.used >= b.most {
			s.tell(s.run.ID, warn(noticeBudgetReached, fmt.Sprintf("the %s's budget of %s is used up", b.whose, b.words())))
			s.overLimit(b.limit)
			return false
		}
	}
	s.tellNear()
	return true
}

// tellNear tells once of each budget that is nearly used up.
func (s *state) tellNear() {
	for _, b := range s.bounds() {
		if share := float64(b.used) / float64(b.most); share >= near && !*b.told {
			*b.told = true
			s.tell(s.run.ID, warn(noticeBudgetNear,
				fmt.Sprintf("%d %% of the %s's budget of %s is used", int(100*share), b.whose, b.words())))
		}
	}
}

// tellUnpriced tells that a budget of money cannot see what a model costs.
func (s *state) tellUnpriced() {
	r, l := s.run, s.cfg.Limits
	if l.TurnBudget.Cost == 0 && l.SessionBudget.Cost == 0 || r.model.Price != nil || r.model.Provider == s.cfg.Simulator ||
		s.told.unpriced == r.ref() {
		return
	}
	s.told.unpriced = r.ref()
	s.tell(r.ID, warn(noticePriceUnknown,
		fmt.Sprintf("the price of %s is not known: the budget of money does not see what it costs", r.model.Ref())))
}
