package gate

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
)

// clock is a time that tests set. Only one goroutine uses it.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func noon() *clock { return &clock{time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)} }

func cost(usd float64) provider.Usage {
	return provider.Usage{Output: 1, Cost: &provider.Cost{Amount: provider.MoneyOf(usd)}}
}

// tokens is a use of so many tokens that cost so much.
func tokens(n int, usd float64) budget.Used {
	u := cost(usd)
	u.Output = n
	return budget.Of(u)
}

func limits(day, unattended float64) Limits {
	return Limits{Day: provider.MoneyOf(day), Unattended: provider.MoneyOf(unattended)}
}

func callOf(usd float64) Call {
	return Call{Sum: NewSum(provider.Usage{}), Purpose: session.ForTurn, Usage: cost(usd)}
}

func enter(t *testing.T, g *Gate, usd float64) *Pass {
	t.Helper()
	p, err := g.Enter(t.Context(), callOf(usd))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// refused expects that a limit has no room for a call.
func refused(t *testing.T, g *Gate, usd float64, limit session.SpendingLimit) *Full {
	t.Helper()
	_, err := g.Enter(t.Context(), callOf(usd))
	full, ok := errors.AsType[*Full](err)
	if !ok || full.Limit != limit || full.Next != provider.MoneyOf(usd) {
		t.Fatalf("a call of %v USD: %v, want %s", usd, err, limit)
	}
	return full
}

// used expects what counts for the limit of the day and the other one.
func used(t *testing.T, g *Gate, day, unattended float64) {
	t.Helper()
	for i, b := range g.Budgets() {
		if want := []float64{day, unattended}[i]; b.Used != provider.MoneyOf(want) {
			t.Errorf("%s: %v is used, want %v", b.Limit, b.Used.Units(), want)
		}
	}
}

func TestRoom(t *testing.T) {
	g := New(limits(2, 3), Quotas{}, noon().now)
	first := enter(t, g, 1.5)
	refused(t, g, 0.6, session.LimitDay)
	enter(t, g, 0.5).Leave()
	used(t, g, 1.5, 1.5)
	first.Settle(cost(1))
	used(t, g, 1, 1)
	enter(t, g, 1).Settle(cost(1)) // exactly the limit
	full := refused(t, g, 0.01, session.LimitDay)
	if full.Used != provider.MoneyOf(2) || full.Most != provider.MoneyOf(2) {
		t.Errorf("%+v", full)
	}
	enter(t, g, 0) // of a model without a price
	c := callOf(5)
	c.Allowed = true
	if _, err := g.Enter(t.Context(), c); err != nil {
		t.Errorf("a call that a person allowed: %v", err)
	}
	used(t, g, 7, 7)
	if g := New(Limits{}, Quotas{}, noon().now); len(g.Budgets()) != 0 || enter(t, g, 1e6) == nil {
		t.Error("a gate without limits has one")
	}
}

// The calls that run may exceed a limit together by what one of them reserved first, and not by more.
func TestExtend(t *testing.T) {
	g := New(limits(2, 0), Quotas{}, noon().now)
	a, b := enter(t, g, 1), enter(t, g, 0.5)
	if _, err := a.Extend(t.Context(), cost(2)); err != nil { // 2.5 of 2: by no more than 1
		t.Error(err)
	}
	if _, err := a.Extend(t.Context(), cost(2.5)); err != nil { // 3
		t.Error(err)
	}
	extend := func(p *Pass, usd float64) error {
		_, err := p.Extend(t.Context(), cost(usd))
		return err
	}
	if _, ok := errors.AsType[*Full](extend(a, 2.51)); !ok {
		t.Error("a call got more than it reserved first above the limit")
	}
	if _, ok := errors.AsType[*Full](extend(b, 0.6)); !ok {
		t.Error("another call, which reserved 0.5 first, got more")
	}
	used(t, g, 3, 0)
	if err := extend(b, 0.2); !errors.As(err, new(*Full)) {
		t.Errorf("above its overshoot a call goes on: %v", err)
	}
	a.Settle(cost(0.4))
	used(t, g, 0.9, 0)
	if err := extend(b, 0.2); err != nil { // less than it holds: it keeps that
		t.Error(err)
	}
	used(t, g, 0.9, 0)
	b.Settle(cost(0.6))
	if err := extend(b, 100); err != nil {
		t.Errorf("a call that is over: %v", err)
	}
	used(t, g, 1, 0)
}

func TestSettleOnce(t *testing.T) {
	g, sum := New(limits(2, 2), Quotas{}, noon().now), NewSum(cost(5))
	c := callOf(1)
	c.Sum = sum
	p, err := g.Enter(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if got := sum.Used(); got != tokens(2, 6) {
		t.Errorf("the session has used and reserved %+v", got)
	}
	if got := p.Others(); got != tokens(1, 5) {
		t.Errorf("without the call: %+v", got)
	}
	p.Settle(cost(0.25))
	p.Settle(cost(1))
	p.Leave()
	used(t, g, 0.25, 0.25)
	if got := sum.Used(); got != tokens(2, 5.25) {
		t.Errorf("the session has used %+v", got)
	}
	(*Pass)(nil).Settle(cost(1)) // a call that has no pass
}

// A call counts for the day on which it began. A new day begins with nothing; the other limit knows no days.
func TestDays(t *testing.T) {
	at := noon()
	g := New(limits(2, 4), Quotas{}, at.now)
	enter(t, g, 1).Settle(cost(1))
	over := enter(t, g, 1)
	g.Raise(session.LimitDay, provider.MoneyOf(5))
	at.at = at.at.Add(12 * time.Hour)
	used(t, g, 0, 2)
	if over.Fits(callOf(1)) {
		t.Error("the pass of yesterday lets a call of today out")
	}
	over.Settle(cost(1.5))
	used(t, g, 0, 2.5)
	p := enter(t, g, 1.5)
	if p.Reserved.Day != "2026-11-24" || p.Reserved.Budgets != nil {
		t.Errorf("the first call of the new day: %+v", p.Reserved)
	}
	refused(t, g, 1, session.LimitDay)
	at.at = at.at.Add(-48 * time.Hour) // a clock that is set back does not make room
	refused(t, g, 1, session.LimitDay)
	if day := g.Today(); day != "2026-11-24" {
		t.Errorf("the day became %s", day)
	}
}

func TestRaise(t *testing.T) {
	at := noon()
	g := New(limits(1, 1), Quotas{}, at.now)
	enter(t, g, 1).Settle(cost(1))
	if g.Raise("max_turn_cost", 1) {
		t.Error("a limit of turns was raised")
	}
	g.Raise(session.LimitDay, provider.MoneyOf(0.5))
	refused(t, g, 0.5, session.LimitUnattended)
	g.Raise(session.LimitUnattended, provider.MoneyOf(0.25))
	refused(t, g, 0.5, session.LimitUnattended)
	g.Raise(session.LimitUnattended, provider.MoneyOf(0.25))
	p := enter(t, g, 0.5)
	if want := (session.BudgetChange{Day: provider.MoneyOf(0.5), Unattended: provider.MoneyOf(0.5)}); p.Reserved.Budgets == nil || *p.Reserved.Budgets != want {
		t.Errorf("for the log: %+v", p.Reserved.Budgets)
	}
	p.Settle(cost(0.5))
	if p := enter(t, g, 0); p.Reserved.Budgets != nil {
		t.Errorf("a raise is in the log twice: %+v", p.Reserved.Budgets)
	}
	refused(t, g, 0.1, session.LimitDay)
}

// A person who writes empties the other limit, with what it was raised by. Raises from then on count.
func TestAttend(t *testing.T) {
	g := New(limits(0, 1), Quotas{}, noon().now)
	g.Raise(session.LimitUnattended, provider.MoneyOf(1))
	running := enter(t, g, 0.5)
	enter(t, g, 1.5).Settle(cost(1.5))
	g.Raise(session.LimitUnattended, provider.MoneyOf(3))
	g.Attend()
	if b := g.Budgets(); len(b) != 1 || b[0].Used != provider.MoneyOf(0.5) || b[0].Most != provider.MoneyOf(1) {
		t.Errorf("%+v", b)
	}
	refused(t, g, 0.6, session.LimitUnattended)
	g.Raise(session.LimitUnattended, provider.MoneyOf(0.125))
	p := enter(t, g, 0.6)
	if want := (session.BudgetChange{Attended: true, Unattended: provider.MoneyOf(0.125)}); p.Reserved.Budgets == nil || *p.Reserved.Budgets != want {
		t.Errorf("for the log: %+v", p.Reserved.Budgets)
	}
	running.Leave()
	p.Leave()
}

func TestRestore(t *testing.T) {
	b := session.Budgets{Day: provider.MoneyOf(2), Unattended: provider.MoneyOf(3), RaisedDay: provider.MoneyOf(1.5), RaisedOn: "2026-11-23",
		RaisedUnattended: provider.MoneyOf(2)}
	g := New(limits(1, 2), Quotas{}, noon().now)
	g.Restore(b)
	enter(t, g, 0.5).Leave()
	refused(t, g, 0.6, session.LimitDay)
	b.RaisedOn = "2026-11-22"
	g = New(limits(1, 2), Quotas{}, noon().now)
	g.Restore(b)
	if full := refused(t, g, 0.1, session.LimitDay); full.Most != provider.MoneyOf(1) {
		t.Errorf("what was raised yesterday counts today: %+v", full)
	}
}

// Many goroutines make calls that take more and less than they reserved. The limit is exceeded by at most one reservation.
func TestParallel(t *testing.T) {
	const most, first = 10.0, 0.25
	g, sum := New(limits(most, 100), Quotas{}, noon().now), NewSum(provider.Usage{})
	var calls atomic.Int32
	var all []<-chan struct{}
	for i := range 32 {
		all = append(all, testgo.Go(t, func() {
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			for range 50 {
				c := callOf(first)
				c.Sum = sum
				p, err := g.Enter(t.Context(), c)
				if err != nil {
					continue
				}
				granted := first
				for range 4 {
					more := granted + first*rng.Float64()
					if _, err := p.Extend(t.Context(), cost(more)); err != nil {
						break
					}
					granted = more
				}
				calls.Add(1)
				g.Budgets()
				p.Settle(cost(granted))
			}
		}))
	}
	for _, done := range all {
		<-done
	}
	spent := g.Budgets()[0].Used
	t.Logf("spent %v of %v USD, with reservations of %v USD", spent.Units(), most, first)
	if spent > provider.MoneyOf(most+first) || spent < provider.MoneyOf(most-2*first) {
		t.Errorf("spent %v", spent.Units())
	}
	if total := sum.Used(); total != tokens(int(calls.Load()), spent.Units()) || g.day.held != 0 || g.unattended.held != 0 || len(sum.held) != 0 {
		t.Errorf("of %v in %d calls the session has %+v; %v are still reserved", spent.Units(), calls.Load(), total, g.day.held.Units())
	}
}

// atMost is a call that probably costs one amount, and at most another one.
func atMost(probably, most float64) Call {
	c := callOf(probably)
	c.Most = cost(most)
	return c
}

// A call waits for others if all of them could exceed a limit by more than the largest reservation. Alone it never waits.
func TestBusy(t *testing.T) {
	at := noon()
	g := New(limits(10, 0), Quotas{}, at.now)
	a, err := g.Enter(t.Context(), atMost(0.5, 6))
	if err != nil || costOf(a.Reserved.Usage) != provider.MoneyOf(6) {
		t.Fatalf("%+v, %v", a, err)
	}
	b, err := g.Enter(t.Context(), atMost(0.5, 12)) // 6 of 10, and a reservation
	if err != nil {
		t.Fatal(err)
	}
	used(t, g, 1, 0)
	_, err = g.Enter(t.Context(), atMost(0.5, 5))
	if full, ok := errors.AsType[*Full](err); !ok || !full.Busy || full.Next != provider.MoneyOf(0.5) {
		t.Errorf("a third call: %v", err)
	}
	c, err := g.Enter(t.Context(), atMost(0.5, 4))
	if err != nil {
		t.Errorf("6 and 4 of 10, and a reservation: %v", err)
	}
	for usd, busy := range map[float64]bool{9: true, 11: false} { // with and without the others
		_, err = g.Enter(t.Context(), callOf(usd))
		if full, ok := errors.AsType[*Full](err); !ok || full.Busy != busy {
			t.Errorf("a call that probably costs %v: %+v", usd, full)
		}
	}
	if _, err := g.Enter(t.Context(), atMost(0, 0)); err != nil {
		t.Errorf("a call of a model without a price: %v", err)
	}
	a.Settle(cost(6))
	b.Leave()
	c.Leave()
	if _, err := g.Enter(t.Context(), atMost(4, 100)); err != nil {
		t.Errorf("a call alone: %v", err)
	}
	allowed := atMost(1, 50)
	allowed.Allowed = true
	if _, err := g.Enter(t.Context(), allowed); err != nil {
		t.Errorf("a call that a person allowed: %v", err)
	}
	at.at = at.at.Add(24 * time.Hour) // reservations of yesterday do not count for the limit of today
	if _, err := g.Enter(t.Context(), atMost(1, 50)); err != nil {
		t.Error(err)
	}
}

// Extend changes the reservation only if a call uses more than it could.
func TestExtendReserved(t *testing.T) {
	g := New(limits(10, 0), Quotas{}, noon().now)
	p, err := g.Enter(t.Context(), atMost(1, 2))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		usd, reserved float64
		more          bool
	}{{1.5, 2, false}, {2, 2, false}, {2.5, 2.5, true}, {2.5, 2.5, false}} {
		more, err := p.Extend(t.Context(), cost(c.usd))
		if err != nil || more != c.more || costOf(p.Reserved.Usage) != provider.MoneyOf(c.reserved) {
			t.Errorf("%v: %v, %v, reserved %v", c.usd, more, err, costOf(p.Reserved.Usage).Units())
		}
	}
	used(t, g, 2.5, 0)
}

// Calls that cost up to their reservation, which nobody sees before their end, exceed the limit together by at most one reservation.
func TestParallelHidden(t *testing.T) {
	const most, reserved = 10.0, 1.0
	g := New(limits(most, 0), Quotas{}, noon().now)
	var all []<-chan struct{}
	for i := range 64 {
		all = append(all, testgo.Go(t, func() {
			rng := rand.New(rand.NewPCG(2, uint64(i)))
			for range 50 {
				p, err := g.Enter(t.Context(), atMost(0.05, reserved))
				if err != nil {
					continue
				}
				g.Budgets()
				p.Settle(cost(reserved * rng.Float64()))
			}
		}))
	}
	for _, done := range all {
		<-done
	}
	spent := g.Budgets()[0].Used
	t.Logf("spent %v of %v USD, with reservations of %v USD", spent.Units(), most, reserved)
	if spent > provider.MoneyOf(most+reserved) || spent < provider.MoneyOf(most-0.05) || len(g.running) != 0 {
		t.Errorf("spent %v", spent.Units())
	}
}
