package gate

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
)

var ann, bob = session.Owner{User: "ann"}, session.Owner{User: "bob"}

// quotaGate is a gate with one quota for each user, and what they used before.
func quotaGate(q Quota, at *clock, before map[session.Owner][]session.Line) *Gate {
	return New(Limits{}, Quotas{Of: func(session.Owner) Quota { return q },
		Used: func(_ context.Context, o session.Owner, from, to session.Day) (list []session.Line, err error) {
			for _, l := range before[o] {
				if from <= l.Day && l.Day <= to {
					list = append(list, l)
				}
			}
			return list, nil
		}}, at.now)
}

// use is a use of so many tokens that cost so much.
func use(n int, usd float64) provider.Usage {
	u := cost(usd)
	u.Output = n
	return u
}

// of is a call of an owner that probably uses one amount, and another one at most.
func of(o session.Owner, probably, most provider.Usage) Call {
	return Call{Owner: o, Sum: NewSum(provider.Usage{}), Purpose: session.ForTurn, Usage: probably, Most: most}
}

func exceeded(t *testing.T, g *Gate, c Call, which string, resets time.Time, busy bool) {
	t.Helper()
	_, err := g.Enter(t.Context(), c)
	e, ok := errors.AsType[*Exceeded](err)
	if !ok || e.Which != which || !e.Resets.Equal(resets) || e.Busy != busy {
		t.Errorf("%+v, want %s until %v", err, which, resets)
	}
}

func admitted(t *testing.T, g *Gate, c Call) *Pass {
	t.Helper()
	p, err := g.Enter(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var tomorrow, december = time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC), time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

// Each member of a quota bounds the calls of its user, and of nobody else. The operator has none.
func TestQuotas(t *testing.T) {
	for which, q := range map[string]Quota{"tokens_day": {DayTokens: 100}, "tokens_month": {MonthTokens: 100}, "cost_day": {DayCost: provider.MoneyOf(1)}, "cost_month": {MonthCost: provider.MoneyOf(1)}} {
		at := noon()
		g := quotaGate(q, at, nil)
		resets := tomorrow
		if q.MonthTokens > 0 || q.MonthCost > 0 {
			resets = december
		}
		call := of(ann, use(60, 0.6), provider.Usage{})
		p := admitted(t, g, call)
		exceeded(t, g, call, which, resets, true)
		p.Settle(use(70, 0.7))
		exceeded(t, g, call, which, resets, false)
		if err := g.Room(t.Context(), ann, 1); err != nil {
			t.Errorf("%s: %v", which, err)
		}
		admitted(t, g, of(ann, use(30, 0.3), provider.Usage{})).Settle(use(30, 0.3))
		if e, ok := errors.AsType[*Exceeded](g.Room(t.Context(), ann, 1)); !ok || e.Which != which {
			t.Errorf("%s: nothing is left, and there is room", which)
		}
		admitted(t, g, of(bob, use(60, 0.6), provider.Usage{})).Leave()
		admitted(t, g, of(session.Operator, use(600, 60), provider.Usage{})).Leave()
		at.at = resets
		admitted(t, g, call).Leave()
		if !g.Bounded(ann) || g.Bounded(session.Operator) {
			t.Error("who has a quota is not known")
		}
	}
}

// A user has a number of calls in parallel.
func TestQuotaOfCalls(t *testing.T) {
	g := quotaGate(Quota{Calls: 2}, noon(), nil)
	call := of(ann, use(1, 0), provider.Usage{})
	p, q := admitted(t, g, call), admitted(t, g, call)
	exceeded(t, g, call, "calls", time.Time{}, true)
	admitted(t, g, of(bob, use(1, 0), provider.Usage{})).Leave()
	p.Settle(use(1, 0))
	p.Settle(use(1, 0)) // twice is once
	admitted(t, g, call)
	exceeded(t, g, call, "calls", time.Time{}, true)
	q.Leave()
	admitted(t, g, call).Leave()
	if err := g.Room(t.Context(), ann, 1); err != nil {
		t.Error(err)
	}
}

// What was used in earlier processes counts in its day and its month. A ledger that cannot be read admits no call.
func TestQuotaAfterRestart(t *testing.T) {
	lines := []session.Line{{Day: "2026-10-31", Usage: use(1000, 0)}, {Day: "2026-11-02", Usage: use(70, 0)}, {Day: "2026-11-23", Usage: use(20, 0)}}
	g := quotaGate(Quota{MonthTokens: 100, DayTokens: 50}, noon(), map[session.Owner][]session.Line{ann: lines})
	exceeded(t, g, of(ann, use(11, 0), provider.Usage{}), "tokens_month", december, false)
	admitted(t, g, of(ann, use(10, 0), provider.Usage{})).Leave()
	admitted(t, g, of(bob, use(50, 0), provider.Usage{})).Leave()

	broken := errors.New("no disk")
	g = New(Limits{}, Quotas{Of: func(session.Owner) Quota { return Quota{DayTokens: 1e6} },
		Used: func(context.Context, session.Owner, session.Day, session.Day) ([]session.Line, error) {
			return nil, broken
		}}, noon().now)
	if _, err := g.Enter(t.Context(), of(ann, use(1, 0), provider.Usage{})); !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := g.Room(t.Context(), ann, 1); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// A call that began before midnight counts for the day on which it began.
func TestQuotaAtMidnight(t *testing.T) {
	at := noon()
	g := quotaGate(Quota{DayTokens: 100}, at, nil)
	p := admitted(t, g, of(ann, use(100, 0), provider.Usage{}))
	at.at = tomorrow
	q := admitted(t, g, of(ann, use(100, 0), provider.Usage{}))
	p.Settle(use(100, 0))
	q.Settle(use(40, 0))
	admitted(t, g, of(ann, use(60, 0), provider.Usage{})).Leave()
	exceeded(t, g, of(ann, use(61, 0), provider.Usage{}), "tokens_day", tomorrow.AddDate(0, 0, 1), false)
	at.at = noon().at // a clock that was set back gives nothing back
	exceeded(t, g, of(ann, use(61, 0), provider.Usage{}), "tokens_day", tomorrow.AddDate(0, 0, 1), false)
}

// A call reserves what is left if it may need more, and ends when it needs more than that.
func TestQuotaOfLongAnswer(t *testing.T) {
	g := quotaGate(Quota{DayTokens: 100}, noon(), nil)
	p := admitted(t, g, of(ann, use(10, 0), use(64000, 0)))
	exceeded(t, g, of(ann, use(1, 0), provider.Usage{}), "tokens_day", tomorrow, true)
	if !p.Covers(use(100, 0)) || p.Covers(use(101, 0)) {
		t.Error("the reservation is not what is left")
	}
	if _, err := p.Extend(t.Context(), use(100, 0)); err != nil {
		t.Error(err)
	}
	_, err := p.Extend(t.Context(), use(101, 0))
	if e, ok := errors.AsType[*Exceeded](err); !ok || e.Which != "tokens_day" {
		t.Errorf("101 of 100 tokens: %v", err)
	}
	p.Settle(use(100, 0))
	if err := g.Room(t.Context(), ann, 1); err == nil {
		t.Error("nothing is left, and there is room")
	}
}

// Many goroutines race for the quotas of two users. No quota is exceeded, and what is not used is given back.
func TestQuotaRace(t *testing.T) {
	const most = 10_000
	g := quotaGate(Quota{DayTokens: most, MonthCost: provider.MoneyOf(50)}, noon(), nil)
	var all []<-chan struct{}
	for i := range 32 {
		all = append(all, testgo.Go(t, func() {
			rng := rand.New(rand.NewPCG(3, uint64(i)))
			owner := []session.Owner{ann, bob}[i%2]
			for range 100 {
				probably := 1 + rng.IntN(40)
				p, err := g.Enter(t.Context(), of(owner, use(probably, 0.1), use(probably*3, 0.3)))
				if err != nil {
					if _, ok := errors.AsType[*Exceeded](err); !ok {
						t.Error(err)
					}
					continue
				}
				granted := probably
				for range 4 {
					more := granted + rng.IntN(60)
					if !p.Covers(use(more, 0.1)) {
						if _, err := p.Extend(t.Context(), use(more, 0.1)); err != nil {
							break
						}
					}
					granted = more
				}
				p.Settle(use(granted, 0.1))
			}
		}))
	}
	for _, done := range all {
		<-done
	}
	for _, owner := range []session.Owner{ann, bob} {
		p := g.purses[owner]
		t.Logf("%s used %d of %d tokens", owner, p.day.spent.tokens, most)
		if p.day.spent.tokens > most || p.month.spent.cost > provider.MoneyOf(50) {
			t.Errorf("%s used %+v", owner, p.day.spent)
		}
		if p.day.spent.tokens < most-500 || p.day.held != (amount{}) || p.month.held != (amount{}) {
			t.Errorf("%s used %+v, and %+v are still reserved", owner, p.day.spent, p.day.held)
		}
	}
}
