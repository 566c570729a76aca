package gate

import (
	"context"
	"errors"
	"iter"
	"math"
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
	purses     map[session.Owner]*purse
	share      *share // of the limits; nil: no other node spends them

	quotas  Quotas  // of users
	cluster Cluster // nil: there are no other nodes
}

// New returns a gate at which nothing was spent so far. The zero Quotas bound nothing.
func New(l Limits, q Quotas, now func() time.Time) *Gate {
	return &Gate{now: now, quotas: q, purses: make(map[session.Owner]*purse), running: make(map[*Pass]bool), today: session.DayOf(now()),
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

// Join makes this one of several gates that spend the same quotas and limits. budgets reads the ledger. It is called before the first Enter.
func (g *Gate) Join(c Cluster, budgets func(context.Context, session.Day) (session.Budgets, error)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cluster = c
	least := lower(int64(g.day.most), int64(g.unattended.most))
	if least == 0 {
		return
	}
	s := newShare(c, nil, &g.mu)
	s.counts, s.today, s.left, s.learn = amount{cost: provider.Money(least)}, g.todayLocked, g.leftLocked, g.learnLocked
	s.read = func(ctx context.Context, today session.Day) (ledgered, error) {
		b, err := budgets(ctx, today)
		return ledgered{today: today, budgets: b}, err
	}
	g.share = s
}

// Look gives back to the other nodes what this node has reserved of quotas and limits and does not need. The caller calls it about once a second. It
// writes.
func (g *Gate) Look(ctx context.Context) (err error) {
	g.mu.Lock()
	var shares []*share
	if g.share != nil {
		shares = append(shares, g.share)
	}
	for _, p := range g.purses {
		if p != nil && p.share != nil {
			shares = append(shares, p.share)
		}
	}
	g.mu.Unlock()
	for _, s := range shares {
		err = errors.Join(err, s.look(ctx))
	}
	return err
}

// Today is the day that a call is charged to which begins now.
func (g *Gate) Today() session.Day {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.todayLocked()
}

func (g *Gate) todayLocked() session.Day {
	g.turnLocked()
	return g.today
}

// Call is a model call that is about to be made.
type Call struct {
	Owner    session.Owner // whose session it is
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
	quota   *held          // of its owner; nil: there is no quota
	settled bool
	changes bool // Reserved had a change of the limits
}

// Enter reserves what a call may cost, and what it may use of its owner's quota. It may read the ledger, and in a cluster it may write. Errors: *Full,
// *Exceeded, and those of Quotas.Used and of the cluster.
func (g *Gate) Enter(ctx context.Context, c Call) (p *Pass, err error) {
	purse, err := g.purseOf(ctx, c.Owner)
	if err != nil {
		return nil, err
	}
	err = refilled(ctx, func() (missing *lack, err error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		p, missing, err = g.enterLocked(c, purse)
		return missing, err
	})
	return p, err
}

// maxRefills is how often shares are refilled for a call. Other calls of this node may be faster.
const maxRefills = 8

// refilled does what needs shares, and refills what it lacks. If a share got less than it asked for, and that is not enough, the error counts.
func refilled(ctx context.Context, do func() (*lack, error)) error {
	var short *share
	for n := 0; ; n++ {
		missing, err := do()
		if missing == nil || missing.share == short || n == maxRefills {
			return err
		}
		all, err := missing.refill(ctx)
		if err != nil {
			return err
		}
		if short = nil; !all {
			short = missing.share
		}
	}
}

// enterLocked reserves at this node. missing is what has to be refilled before the error counts.
func (g *Gate) enterLocked(c Call, purse *purse) (p *Pass, missing *lack, err error) {
	g.turnLocked()
	cost := costOf(c.Usage)
	reserved := c.Usage
	if costOf(c.Most) > cost {
		reserved = c.Most
	}
	most := costOf(reserved)
	if !c.Allowed {
		if missing, err = g.fullLocked(cost, most); err != nil {
			return nil, missing, err
		}
	}
	quota, missing, err := purse.reserve(g.today, amountOf(c.Usage), amountOf(c.Usage).most(amountOf(c.Most)))
	if err != nil {
		return nil, missing, err
	}
	p = &Pass{gate: g, quota: quota, sum: c.Sum, provider: c.Provider, allowed: c.Allowed, first: cost, usage: c.Usage, own: new(reservation), held: cost, most: most,
		Reserved: session.Reserved{Day: g.today, Model: c.Model, Level: c.Level, Payer: c.Payer, Purpose: c.Purpose, Usage: reserved}}
	g.running[p] = true
	if g.change != (session.BudgetChange{}) {
		p.Reserved.Budgets, g.change = new(g.change), session.BudgetChange{}
		p.changes = true
	}
	g.holdLocked(p, cost)
	p.sum.hold(p.own, c.Usage)
	return p, nil, nil
}

// fullLocked refuses a call for which a limit has no room.
func (g *Gate) fullLocked(cost, most provider.Money) (missing *lack, err error) {
	for _, a := range g.accounts() {
		if !a.room(cost) {
			return g.share.lacks(amount{cost: g.needLocked(cost, most)}), &Full{a.spending(cost), a.spent+cost <= a.most+a.raised}
		}
	}
	for _, a := range g.accounts() {
		if !g.bounded(a, most) {
			return g.share.lacks(amount{cost: g.needLocked(cost, most)}), &Full{a.spending(cost), true}
		}
	}
	if need := g.needLocked(cost, most); !g.share.fits(amount{cost: need}) {
		return g.share.lacks(amount{cost: need}), &Full{g.tightest().spending(cost), true}
	}
	return nil, nil
}

// needLocked is what must be free in the share of the limits before a call begins that probably costs one amount and may cost another one at most. All
// calls of this node may exceed its block together by what one of them may cost, as they may exceed a limit.
func (g *Gate) needLocked(cost, most provider.Money) provider.Money {
	if g.share == nil || cost == 0 && most == 0 {
		return 0
	}
	sum, dearest := most, most
	for p := range g.running {
		sum, dearest = sum+p.most, max(dearest, p.most)
	}
	return max(cost, sum-dearest-g.share.held.cost)
}

// tightest is the account of the limit of which least is left.
func (g *Gate) tightest() *account {
	a, b := &g.day, &g.unattended
	if a.most == 0 || b.most > 0 && b.left() < a.left() {
		return b
	}
	return a
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

// Stream makes the call: see [provider.Provider]. In a cluster it reserves again first, if the node was out of contact since Enter: other nodes may have
// removed its block. A call for which nothing is left then is refused with [provider.KindQuota].
func (p *Pass) Stream(ctx context.Context, req *provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		if err := p.cover(ctx); err != nil {
			yield(nil, &provider.Error{Provider: p.Reserved.Model.Provider, Kind: provider.KindQuota, Hint: provider.HintFinal, Message: err.Error()})
			return
		}
		p.provider.Stream(ctx, req)(yield)
	}
}

// cover makes sure that the blocks of this node cover the call.
func (p *Pass) cover(ctx context.Context) error {
	if err := p.gate.share.renew(ctx); err != nil || p.quota == nil {
		return err
	}
	purse := p.quota.purse
	covered, err := purse.share.cover(ctx)
	if covered || err != nil {
		return err
	}
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	return purse.taken(p.gate.today, purse.share.counted())
}

// Fits reports whether the pass is one for a call, so that the call needs no other: it goes to the same model on the same day, and
// needs no more.
func (p *Pass) Fits(c Call) bool {
	r := p.Reserved
	if r.Day != p.gate.Today() {
		return false
	}
	if p.quota != nil && !p.Covers(c.Usage) {
		return false
	}
	samePayer := r.Payer == c.Payer || r.Payer != nil && c.Payer != nil && *r.Payer == *c.Payer
	return r.Model == c.Model && r.Level == c.Level && r.Purpose == c.Purpose && samePayer && costOf(c.Usage) <= costOf(p.usage) && costOf(c.Most) <= costOf(r.Usage)
}

// Others is what the session has used, and what its other calls have reserved.
func (p *Pass) Others() budget.Used { return p.sum.without(p.own) }

// Covers reports whether a call has used no more than it probably would.
func (p *Pass) Covers(used provider.Usage) bool {
	if costOf(used) > costOf(p.usage) {
		return false
	}
	if p.quota == nil {
		return true
	}
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	return p.quota.amount.most(amountOf(used)) == p.quota.amount
}

// Extend says that a call which runs uses more than it probably would. more reports whether Reserved has changed. The error is *Exceeded if
// the quota of the owner has no room for that, and *Full if
// the call has to end, because a limit has no room for that: others have used it up, and all together would spend more than the limit
// and what this call probably used when it began. In a cluster it may read the ledger and write; further errors are those of Enter.
func (p *Pass) Extend(ctx context.Context, usage provider.Usage) (more bool, err error) {
	err = refilled(ctx, func() (missing *lack, err error) {
		p.gate.mu.Lock()
		defer p.gate.mu.Unlock()
		more, missing, err = p.extendLocked(usage)
		return missing, err
	})
	return more, err
}

func (p *Pass) extendLocked(usage provider.Usage) (more bool, missing *lack, err error) {
	g := p.gate
	g.turnLocked()
	by := max(costOf(usage)-p.held, 0)
	if !p.allowed && !p.settled {
		for _, a := range g.accounts() {
			if a.most > 0 && a.spent+a.held+by > a.most+a.raised+p.first {
				return false, g.share.lacks(amount{cost: by}), &Full{a.spending(0), false}
			}
		}
		if g.share != nil && by > 0 && by > g.share.spare().cost+p.first {
			return false, g.share.lacks(amount{cost: by}), &Full{g.tightest().spending(0), false}
		}
	}
	if !p.settled {
		if missing, err := p.quota.extend(g.today, amountOf(usage)); err != nil {
			return false, missing, err
		}
	}
	p.usage, p.Reserved.Budgets = usage, nil
	if !p.settled {
		g.holdLocked(p, by)
		p.held += by
		p.sum.hold(p.own, usage)
	}
	if p.held <= p.most && !p.settled || costOf(usage) <= costOf(p.Reserved.Usage) {
		return false, nil, nil
	}
	p.most, p.Reserved.Usage = max(p.most, p.held), usage
	return true, nil, nil
}

// Settle puts what the call used in place of what it reserved. A call that was refused used nothing. Sum.Logged is to be called when the log has it.
func (p *Pass) Settle(used provider.Usage) { p.settle(used, false) }

// SettleLogged is Settle for a call whose use the ledger has already.
func (p *Pass) SettleLogged(used provider.Usage) { p.settle(used, true) }

func (p *Pass) settle(used provider.Usage, logged bool) {
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
	p.sum.later(p.quota.settle(amountOf(used), logged))
	g.holdLocked(p, -p.held)
	cost := costOf(used)
	p.sum.later(g.share.settle(amount{cost: cost}, logged))
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
	g.share.hold(amount{cost: by})
	g.unattended.held += by
	if p.Reserved.Day == g.today {
		g.day.held += by
	}
}

// purseOf finds the purse of an owner, nil if the owner has no quota. The first time, it reads what was used before; then no call of the owner
// runs, because each has to pass here.
func (g *Gate) purseOf(ctx context.Context, owner session.Owner) (*purse, error) {
	if g.quotas.Of == nil || owner == session.Operator {
		return nil, nil
	}
	g.mu.Lock()
	p, known := g.purses[owner]
	g.turnLocked()
	today := g.today
	g.mu.Unlock()
	if known {
		return p, nil
	}
	p, err := g.quotas.load(ctx, owner, today)
	if err != nil {
		return nil, err
	}
	if p != nil && g.cluster != nil {
		p.join(g.cluster, owner, g.quotas, &g.mu, g.todayLocked)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if other, known := g.purses[owner]; known { // another call was faster, and what it used may be in both
		return other, nil
	}
	g.purses[owner] = p
	return p, nil
}

// Bounded reports whether the calls of an owner have a quota, so that each must say what it may use at most.
func (g *Gate) Bounded(owner session.Owner) bool {
	return g.quotas.Of != nil && owner != session.Operator && g.quotas.Of(owner) != (Quota{})
}

// Room reports whether an owner's quota has room for a call of so many tokens. Calls that run do not count: they may use less than they have
// reserved. Error: *Exceeded, and those of Quotas.Used.
func (g *Gate) Room(ctx context.Context, owner session.Owner, tokens int) error {
	p, err := g.purseOf(ctx, owner)
	if p == nil || err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turnLocked()
	err = p.room(g.today, amount{tokens, 1})
	if e, ok := errors.AsType[*Exceeded](err); ok && e.Busy {
		return nil
	}
	return err
}

// Forget drops what an owner has used. None of the owner's calls runs.
func (g *Gate) Forget(owner session.Owner) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.purses, owner)
}

// leftLocked is what the limits have, beside what the ledger has and the blocks of other nodes.
func (g *Gate) leftLocked(l ledgered, others []session.Block) amount {
	day, unattended := g.ledgered(l)
	for _, b := range others {
		unattended.spent += b.Cost
		if b.Day >= l.today {
			day.spent += b.Cost
		}
	}
	return amount{math.MaxInt, min(day.left(), unattended.left())}
}

// ledgered is the accounts with what the ledger has, without what only this node knows to be spent.
func (g *Gate) ledgered(l ledgered) (day, unattended account) {
	day, unattended = g.day, g.unattended
	day.held, day.spent, unattended.held = 0, l.budgets.Day, 0
	if l.budgets.RaisedOn == l.today {
		day.raised = max(day.raised, l.budgets.RaisedDay)
	}
	if g.changing() { // the ledger may not know that a person wrote something
		ended := g.share.unlogged.plus(g.share.unread)
		unattended.spent = max(unattended.spent-ended.cost, 0)
		unattended.raised = max(unattended.raised, l.budgets.RaisedUnattended)
		return day, unattended
	}
	unattended.spent, unattended.raised = l.budgets.Unattended, l.budgets.RaisedUnattended
	return day, unattended
}

// changing reports whether the ledger may not have what people did about the limits at this node.
func (g *Gate) changing() bool {
	if g.change != (session.BudgetChange{}) {
		return true
	}
	for p := range g.running {
		if p.changes {
			return true
		}
	}
	return false
}

// learnLocked takes over what the ledger has.
func (g *Gate) learnLocked(l ledgered) {
	if g.turnLocked(); g.today != l.today {
		return
	}
	ended := g.share.unlogged.plus(g.share.unread).cost
	day, unattended := g.ledgered(l)
	g.day.spent, g.day.raised = day.spent+ended, day.raised
	g.unattended.spent, g.unattended.raised = unattended.spent+ended, unattended.raised
}
