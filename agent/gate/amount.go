package gate

import "github.com/thinkd/thinkd/provider"

// amount is what quotas count.
type amount struct {
	tokens int
	cost   provider.Money
}

func amountOf(u provider.Usage) amount { return amount{u.Input + u.Output, costOf(u)} }

func costOf(u provider.Usage) provider.Money {
	if u.Cost == nil {
		return 0
	}
	return u.Cost.Amount
}

func (a amount) plus(b amount) amount  { return amount{a.tokens + b.tokens, a.cost + b.cost} }
func (a amount) minus(b amount) amount { return amount{a.tokens - b.tokens, a.cost - b.cost} }
func (a amount) most(b amount) amount  { return amount{max(a.tokens, b.tokens), max(a.cost, b.cost)} }
func (a amount) least(b amount) amount { return amount{min(a.tokens, b.tokens), min(a.cost, b.cost)} }

// within reports whether no part of a is larger than that of b.
func (a amount) within(b amount) bool { return a.tokens <= b.tokens && a.cost <= b.cost }

// lower is the lower one of two limits, of which one that is 0 is none.
func lower(a, b int64) int64 {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}
