package gate

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Gate is what every model call passes. New makes one.
type Gate struct {
	now func() time.Time

	mu         sync.Mutex
	running    map[*Pass]bool // passes that are not settled
	today      session.Day
	day        account
	unattended account
	change     session.BudgetChange // since the last reservation
}

// New returns a gate at which nothing was spent so far.
func New(l Limits, now func() time.Time) *Gate {
	return &Gate{now: now, running: make(map[*Pass]bool), today: session.DayOf(now()),
		day:        account{limit: session.LimitDay, most: l.Day},
		unattended: account{limit: session.LimitUnattended, most: l.Unattended}}
}

// Restore takes in what earlier processes have spent. It is called before the first Enter.
func (g *Gate) Restore(b session.Budgets) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.day.spent, g.unattended.spent, g.unattended.raised = b.Day, b.Unattended, b.RaisedUnattended
	if b.RaisedOn == g.today {
		g.day.raised = b.RaisedDay
	}
}

// Today is the day that a call is charged to which begins now.
func (g *Gate) Today() session.Day {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turnLocked()
	return g.today
}

// Call is a model call that is about to be made.
type Call struct {
	Provider provider.Provider
	Model    session.ModelRef
	Level    provider.Level
	Payer    *session.Payer  // nil: not known
	Purpose  session.Purpose // what the call is for
	Sum      *Sum            // of its session
	Usage    provider.Usage  // what it probably uses, with its cost
	Most     provider.Usage  // what it may use at most, with its cost; without one, or with a lower one, Usage counts
	Allowed  bool            // a person allowed this call: the limits count it, and do not stop it
}

// Pass is a call that may be made. It belongs to the caller of Enter; Stream may run on another goroutine.
type Pass struct {
	Reserved session.Reserved // for the log

	gate     *Gate
	sum      *Sum
	provider provider.Provider
	allowed  bool
	first    provider.Money // what it probably uses, as it seemed when the call began
	usage    provider.Usage // what it probably uses
	own      *reservation   // in sum

	// Guarded by the gate's lock.
	held    provider.Money // the cost of usage
	most    provider.Money // what it may cost at most
	settled bool
}

// Enter reserves what a call may cost. Error: *Full.
func (g *Gate) Enter(c Call) (*Pass, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turnLocked()
	cost := costOf(c.Usage)
	for _, a := range g.accounts() {
		if !c.Allowed && !a.room(cost) {
			return nil, &Full{a.spending(cost), a.spent+cost <= a.most+a.raised}
		}
	}
	reserved := c.Usage
	if costOf(c.Most) > cost {
		reserved = c.Most
	}
	most := costOf(reserved)
	for _, a := range g.accounts() {
		if !c.Allowed && !g.bounded(a, most) {
			return nil, &Full{a.spending(cost), true}
		}
	}
	p := &Pass{gate: g, sum: c.Sum, provider: c.Provider, allowed: c.Allowed, first: cost, usage: c.Usage, own: new(reservation), held: cost, most: most,
		Reserved: session.Reserved{Day: g.today, Model: c.Model, Level: c.Level, Payer: c.Payer, Purpose: c.Purpose, Usage: reserved}}
	g.running[p] = true
	if g.change != (session.BudgetChange{}) {
		p.Reserved.Budgets, g.change = new(g.change), session.BudgetChange{}
	}
	g.holdLocked(p, cost)
	p.sum.hold(p.own, c.Usage)
	return p, nil
}

// bounded reports whether all calls that run, and one that may cost most, exceed a limit by at most what one of them may cost.
func (g *Gate) bounded(a *account, most provider.Money) bool {
	if a.most == 0 || most == 0 {
		return true
	}
	sum, dearest := a.spent+most, most
	for p := range g.running {
		if a != &g.day || p.Reserved.Day == g.today {
			sum, dearest = sum+p.most, max(dearest, p.most)
		}
	}
	return sum-dearest <= a.most+a.raised
}

// Stream makes the call: see [provider.Provider].
func (p *Pass) Stream(ctx context.Context, req *provider.Request) iter.Seq2[provider.Event, error] {
	return p.provider.Stream(ctx, req)
}

// Fits reports whether the pass is one for a call, so that the call needs no other: it goes to the same model on the same day, and
// needs no more.
func (p *Pass) Fits(c Call) bool {
	r := p.Reserved
	if r.Day != p.gate.Today() {
		return false
	}
	samePayer := r.Payer == c.Payer || r.Payer != nil && c.Payer != nil && *r.Payer == *c.Payer
	return r.Model == c.Model && r.Level == c.Level && r.Purpose == c.Purpose && samePayer && costOf(c.Usage) <= costOf(p.usage) && costOf(c.Most) <= costOf(r.Usage)
}

// Others is what the session has used, and what its other calls have reserved.
func (p *Pass) Others() budget.Used { return p.sum.without(p.own) }

// Covers reports whether a call has used no more than it probably would.
func (p *Pass) Covers(used provider.Usage) bool { return costOf(used) <= costOf(p.usage) }

// Extend says that a call which runs uses more than it probably would. more reports whether Reserved has changed. The error is *Full if
// the call has to end, because a limit has no room for that: others have used it up, and all together would spend more than the limit
// and what this call probably used when it began.
func (p *Pass) Extend(usage provider.Usage) (more bool, err error) {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turnLocked()
	by := max(costOf(usage)-p.held, 0)
	for _, a := range g.accounts() {
		if !p.allowed && !p.settled && a.most > 0 && a.spent+a.held+by > a.most+a.raised+p.first {
			return false, &Full{a.spending(0), false}
		}
	}
	p.usage, p.Reserved.Budgets = usage, nil
	if !p.settled {
		g.holdLocked(p, by)
		p.held += by
		p.sum.hold(p.own, usage)
	}
	if p.held <= p.most && !p.settled || costOf(usage) <= costOf(p.Reserved.Usage) {
		return false, nil
	}
	p.most, p.Reserved.Usage = max(p.most, p.held), usage
	return true, nil
}

// Settle puts what the call used in place of what it reserved. A call that was refused used nothing.
func (p *Pass) Settle(used provider.Usage) {
	if p == nil {
		return
	}
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.settled {
		return
	}
	p.settled = true
	delete(g.running, p)
	p.sum.settle(p.own, used)
	g.turnLocked()
	g.holdLocked(p, -p.held)
	cost := costOf(used)
	g.unattended.spent += cost
	if p.Reserved.Day == g.today {
		g.day.spent += cost
	}
}

// Leave is Settle for a call that used nothing.
func (p *Pass) Leave() { p.Settle(provider.Usage{}) }

// Attend says that a person wrote or approved something.
func (g *Gate) Attend() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unattended.spent, g.unattended.raised = 0, 0
	g.change.Attended, g.change.Unattended = true, 0
}

// Raise raises a limit: that of the day until the day ends, and the other one until a person writes or approves something. It reports
// whether this is a limit of the gate.
func (g *Gate) Raise(limit session.SpendingLimit, by provider.Money) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turnLocked()
	switch limit {
	case session.LimitDay:
		g.day.raised += by
		g.change.Day += by
	case session.LimitUnattended:
		g.unattended.raised += by
		g.change.Unattended += by
	default:
		return false
	}
	return true
}

// Budgets is what is spent and reserved now, of each limit that there is.
func (g *Gate) Budgets() (list []session.Spending) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turnLocked()
	for _, a := range g.accounts() {
		if a.most > 0 {
			list = append(list, a.spending(0))
		}
	}
	return list
}

func (g *Gate) accounts() [2]*account { return [2]*account{&g.day, &g.unattended} }

// turnLocked begins a new day, if that has come.
func (g *Gate) turnLocked() {
	if today := session.DayOf(g.now()); today > g.today { // a clock that is set back does not empty the account
		g.today, g.change.Day = today, 0
		g.day.spent, g.day.held, g.day.raised = 0, 0, 0
	}
}

// holdLocked changes by how much a call counts.
func (g *Gate) holdLocked(p *Pass, by provider.Money) {
	g.unattended.held += by
	if p.Reserved.Day == g.today {
		g.day.held += by
	}
}

func costOf(u provider.Usage) provider.Money {
	if u.Cost == nil {
		return 0
	}
	return u.Cost.Amount
}
