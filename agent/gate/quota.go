package gate

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Quota bounds what the calls of one user use. A member that is 0 bounds nothing. Calls of models without a known price cost nothing here.
type Quota struct {
	DayTokens, MonthTokens int            // in and out
	DayCost, MonthCost     provider.Money // USD
	Calls                  int            // in parallel; a turn waits for others of its user
}

// Quotas says which quota each user has.
type Quotas struct {
	Of func(session.Owner) Quota

	// Used lists what an owner used from one day to another, both included, also in earlier processes. The last day may be later than today.
	Used func(ctx context.Context, owner session.Owner, from, to session.Day) ([]session.Line, error)
}

// Exceeded refuses a call that the quota of its user has no room for.
type Exceeded struct {
	Which  string    // calls, tokens_day, tokens_month, cost_day or cost_month
	Resets time.Time // when the quota starts again; zero for calls
	Busy   bool      // only because of the calls that run: there may be room when they have ended
}

func (e *Exceeded) Error() string {
	if e.Resets.IsZero() {
		return fmt.Sprintf("your quota %s has no room for this call until others end", e.Which)
	}
	return fmt.Sprintf("your quota %s has no room for this call; it resets at %s", e.Which, e.Resets.UTC().Format("2006-01-02 15:04 MST"))
}

// purse is what one user has used and reserved. It is the gate's, whose lock guards it.
//
// Each call reserves what it may use at most, or what is left of the quota, and is refused if it probably uses more. So calls that run in
// parallel never use more together than the quota has, as long as each stays within its reservation; one that needs more has to reserve
// it first, or ends.
type purse struct {
	quota      Quota
	calls      int // that run
	day, month period
	cluster    Cluster // nil: no other node spends this quota
	share      *share  // nil: the quota has no limit that nodes could exceed together
}

// period is a day, or a month.
type period struct {
	name        string // 2026-11-23, or 2026-11
	spent, held amount
}

func (p *period) turn(name string) {
	if name > p.name { // a clock that is set back gives nothing back
		*p = period{name: name}
	}
}

// held is a reservation in a purse.
type held struct {
	purse      *purse
	day, month string // the periods that it counts for
	amount     amount
}

const monthLen = len("2026-11")

// load makes the purse of an owner, nil if there is no quota, from what the owner used before.
func (q Quotas) load(ctx context.Context, owner session.Owner, today session.Day) (*purse, error) {
	quota := q.Of(owner)
	if quota == (Quota{}) {
		return nil, nil
	}
	p := &purse{quota: quota, day: period{name: string(today)}, month: period{name: string(today)[:monthLen]}}
	l, err := q.read(ctx, owner, today)
	p.day.spent, p.month.spent = l.day, l.month
	return p, err
}

// read is what the ledger has of an owner. A node whose clock is ahead of this one may have charged later days of the month.
func (q Quotas) read(ctx context.Context, owner session.Owner, today session.Day) (l ledgered, err error) {
	l.today = today
	month := today[:monthLen]
	lines, err := q.Used(ctx, owner, month+"-01", month+"-31")
	if err != nil {
		return l, fmt.Errorf("what the user used before: %w", err)
	}
	for _, line := range lines {
		used := amountOf(line.Usage)
		l.month = l.month.plus(used)
		if line.Day == today {
			l.day = l.day.plus(used)
		}
	}
	return l, nil
}

// limits is the smaller one of the limits of a day and a month; 0: there is none.
func (q Quota) limits() amount {
	return amount{int(lower(int64(q.DayTokens), int64(q.MonthTokens))), provider.Money(lower(int64(q.DayCost), int64(q.MonthCost)))}
}

// join makes a purse one that other nodes have too.
func (p *purse) join(c Cluster, owner session.Owner, q Quotas, lock sync.Locker, today func() session.Day) {
	limits := p.quota.limits()
	if p.cluster = c; limits == (amount{}) {
		return
	}
	s := newShare(c, &owner, lock)
	s.counts, s.today, s.left, s.learn = limits, today, p.left, p.learn
	s.read = func(ctx context.Context, today session.Day) (ledgered, error) { return q.read(ctx, owner, today) }
	p.share = s
}

// left is what the quota has, beside what the ledger has and the blocks of other nodes.
func (p *purse) left(l ledgered, others []session.Block) amount {
	day, month := l.day, l.month
	for _, b := range others {
		a := amount{b.Tokens, b.Cost}
		if b.Day >= l.today {
			day = day.plus(a)
		}
		if string(b.Day) >= string(l.today)[:monthLen] {
			month = month.plus(a)
		}
	}
	left := amount{math.MaxInt, math.MaxInt64}
	for _, of := range []struct {
		tokens int
		cost   provider.Money
		used   amount
	}{{p.quota.DayTokens, p.quota.DayCost, day}, {p.quota.MonthTokens, p.quota.MonthCost, month}} {
		if of.tokens > 0 {
			left.tokens = min(left.tokens, of.tokens-of.used.tokens)
		}
		if of.cost > 0 {
			left.cost = min(left.cost, of.cost-of.used.cost)
		}
	}
	return left
}

// learn takes over what the ledger has.
func (p *purse) learn(l ledgered) {
	ended := p.share.unlogged.plus(p.share.unread)
	if p.day.turn(string(l.today)); p.day.name == string(l.today) {
		p.day.spent = l.day.plus(ended)
	}
	if month := string(l.today)[:monthLen]; p.month.name <= month {
		p.month.turn(month)
		p.month.spent = l.month.plus(ended)
	}
}

// parallel is how many calls may run in parallel at this node.
func (p *purse) parallel() int {
	if p.cluster == nil || p.quota.Calls == 0 {
		return p.quota.Calls
	}
	return max(p.quota.Calls/p.cluster.Nodes(), 1)
}

// bound is one member of a quota.
type bound struct {
	which  string
	most   int64 // 0: there is none
	spent  int64
	held   int64
	resets time.Time
}

// left is how much more the bound admits.
func (b bound) left() int64 {
	if b.most == 0 {
		return math.MaxInt64
	}
	return max(b.most-b.spent-b.held, 0)
}

// bounds are those of tokens and of money.
func (p *purse) bounds(today session.Day) (tokens, cost [2]bound) {
	p.day.turn(string(today))
	p.month.turn(string(today)[:monthLen])
	day := dayStart(today)
	tomorrow, next := day.AddDate(0, 0, 1), time.Date(day.Year(), day.Month()+1, 1, 0, 0, 0, 0, time.UTC)
	q, d, m := p.quota, p.day, p.month
	tokens = [2]bound{{"tokens_month", int64(q.MonthTokens), int64(m.spent.tokens), int64(m.held.tokens), next},
		{"tokens_day", int64(q.DayTokens), int64(d.spent.tokens), int64(d.held.tokens), tomorrow}}
	cost = [2]bound{{"cost_month", int64(q.MonthCost), int64(m.spent.cost), int64(m.held.cost), next},
		{"cost_day", int64(q.DayCost), int64(d.spent.cost), int64(d.held.cost), tomorrow}}
	return tokens, cost
}

// dayStart is midnight of a day in UTC. A day that [session.DayOf] made can be read.
func dayStart(d session.Day) time.Time {
	t, _ := time.Parse(time.DateOnly, string(d))
	return t
}

// room refuses more than the purse has.
func (p *purse) room(today session.Day, more amount) error {
	tokens, cost := p.bounds(today)
	for _, of := range []struct {
		bounds [2]bound
		more   int64
	}{{tokens, int64(more.tokens)}, {cost, int64(more.cost)}} {
		for _, b := range of.bounds {
			if of.more > 0 && of.more > b.left() {
				return &Exceeded{b.which, b.resets, b.spent+of.more <= b.most}
			}
		}
	}
	return nil
}

// reserve takes from a purse what a call may use at most, or all that is left, if that is enough for what the call probably uses. lack says what this node
// must get before that, or what it must know better before the error counts.
func (p *purse) reserve(today session.Day, probably, most amount) (h *held, missing *lack, err error) {
	if p == nil {
		return nil, nil, nil
	}
	if parallel := p.parallel(); parallel > 0 && p.calls >= parallel {
		return nil, nil, &Exceeded{Which: "calls", Busy: true}
	}
	if err := p.room(today, probably); err != nil {
		return nil, p.share.lacks(most), err
	}
	if !p.share.fits(probably) {
		return nil, p.share.lacks(most), p.taken(today, probably)
	}
	p.calls++
	tokens, cost := p.bounds(today)
	a := amount{int(min(int64(most.tokens), tokens[0].left(), tokens[1].left())), provider.Money(min(int64(most.cost), cost[0].left(), cost[1].left()))}
	if p.share != nil {
		a = a.least(p.share.free())
	}
	a = a.most(probably)
	h = &held{p, p.day.name, p.month.name, a}
	h.hold(a)
	p.share.hold(a)
	return h, nil, nil
}

// taken refuses a call for which the blocks of other nodes leave no room.
func (p *purse) taken(today session.Day, more amount) error {
	tokens, cost := p.bounds(today)
	bounds := tokens
	if free := p.share.free(); more.tokens <= free.tokens {
		bounds = cost
	}
	b := bounds[1]
	if b.most == 0 || bounds[0].most > 0 && bounds[0].left() < b.left() {
		b = bounds[0]
	}
	return &Exceeded{b.which, b.resets, true}
}

// hold counts more for the reservation, in the periods that still run.
func (h *held) hold(by amount) {
	if h.purse.day.name == h.day {
		h.purse.day.held = h.purse.day.held.plus(by)
	}
	if h.purse.month.name == h.month {
		h.purse.month.held = h.purse.month.held.plus(by)
	}
}

// extend makes the reservation one for a call that uses so much. missing is as for reserve.
func (h *held) extend(today session.Day, used amount) (missing *lack, err error) {
	if h == nil {
		return nil, nil
	}
	more := h.amount.most(used).minus(h.amount)
	if more == (amount{}) {
		return nil, nil
	}
	p := h.purse
	if err := p.room(today, more); err != nil {
		return p.share.lacks(more), err
	}
	if !p.share.fits(more) {
		return p.share.lacks(more), p.taken(today, more)
	}
	h.hold(more)
	p.share.hold(more)
	h.amount = h.amount.plus(more)
	return nil, nil
}

// settle puts what was used in the place of the reservation. later is as for share.settle.
func (h *held) settle(used amount, logged bool) (later func()) {
	if h == nil {
		return nil
	}
	p := h.purse
	p.calls--
	h.hold(amount{}.minus(h.amount))
	p.share.hold(amount{}.minus(h.amount))
	if p.day.name == h.day {
		p.day.spent = p.day.spent.plus(used)
	}
	if p.month.name == h.month {
		p.month.spent = p.month.spent.plus(used)
	}
	return p.share.settle(used, logged)
}
