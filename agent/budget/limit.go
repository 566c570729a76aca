package budget

import (
	"fmt"

	"github.com/thinkd/thinkd/provider"
)

// Limit bounds what a turn or a session uses. A member that is 0 bounds nothing.
type Limit struct {
	Tokens int            // in and out, of all calls
	Cost   provider.Money // USD; calls of models without a known price cost nothing here
}

// Used is what limits count.
type Used struct {
	tokens int
	cost   provider.Money
}

// Of is what limits count of a usage.
func Of(u provider.Usage) Used {
	s := Used{tokens: u.Input + u.Output}
	if u.Cost != nil {
		s.cost = u.Cost.Amount
	}
	return s
}

// Plus is the sum.
func (a Used) Plus(b Used) Used { return Used{a.tokens + b.tokens, a.cost + b.cost} }

// Minus takes back what Plus added.
func (a Used) Minus(b Used) Used { return Used{a.tokens - b.tokens, a.cost - b.cost} }

// Bound is one member of a limit, and what is used of it.
type Bound struct {
	Limit string // as turn_end names it
	Whose string // turn or session
	Used  int64
	Most  int64
	Told  *bool // people were notified that it is nearly used up
}

// The two members, as turn_end names them.
const (
	limitTokens = "tokens"
	limitCost   = "cost"
)

// Near is the share of a limit at which people are notified.
const Near = 0.8

// Bounds are the members of a limit; near says of each whether a notice was sent.
func (b Limit) Bounds(whose string, used Used, near *[2]bool) []Bound {
	return []Bound{
		{limitTokens, whose, int64(used.tokens), int64(b.Tokens), &near[0]},
		{limitCost, whose, int64(used.cost), int64(b.Cost), &near[1]},
	}
}

// Words is the bound for people.
func (b Bound) Words() string {
	if b.Limit == limitCost {
		return fmt.Sprintf("%v %s", provider.Money(b.Most).Units(), provider.USD)
	}
	return fmt.Sprintf("%d tokens", b.Most)
}

// Exceeded is the first bound that using more would reach, nil if there is none.
func Exceeded(bounds []Bound, more Used) *Bound {
	for i, b := range bounds {
		use := int64(more.tokens)
		if b.Limit == limitCost {
			use = int64(more.cost)
		}
		if b.Most > 0 && b.Used+use >= b.Most {
			return &bounds[i]
		}
	}
	return nil
}
