package gate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
)

// pots is what the nodes of a test have together: the ledger, and the blocks by pot and node.
type pots struct {
	mu      sync.Mutex
	lines   map[session.Owner][]session.Line
	budgets session.Budgets
	blocks  map[string]map[string]session.Block
	seq     map[string]int
	nodes   map[string]bool // that are present
	changes int
}

func newPots() *pots {
	return &pots{lines: make(map[session.Owner][]session.Line), blocks: make(map[string]map[string]session.Block), seq: make(map[string]int), nodes: make(map[string]bool)}
}

// peer is one of the nodes. It is a Cluster.
type peer struct {
	*Gate
	of      *pots
	name    string
	broken  atomic.Bool // it was out of contact
	answers []error     // of the next changes: errLost is stored, and errRefused is not
	race    func()      // runs once, between a read and its compare and set
}

var (
	errLost    = errors.New("the answer was lost")
	errRefused = errors.New("no server answers")
)

func (p *pots) node(name string, l Limits, q Quota, now func() time.Time) *peer {
	n := &peer{of: p, name: name}
	n.Gate = New(l, Quotas{Of: func(session.Owner) Quota { return q }, Used: func(_ context.Context, o session.Owner, from, to session.Day) (list []session.Line, err error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, l := range p.lines[o] {
			if from <= l.Day && l.Day <= to {
				list = append(list, l)
			}
		}
		return list, nil
	}}, now)
	p.mu.Lock()
	p.nodes[name] = true
	p.mu.Unlock()
	n.Join(n, func(context.Context, session.Day) (session.Budgets, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.budgets, nil
	})
	return n
}

func (n *peer) Nodes() int {
	n.of.mu.Lock()
	defer n.of.mu.Unlock()
	return len(n.of.nodes)
}

func (n *peer) Unbroken(time.Duration) bool { return !n.broken.Load() }

// ChangeBlock is a compare and set. After an answer that was lost, it says so.
func (n *peer) ChangeBlock(_ context.Context, pot *session.Owner, change func([]session.Block) (session.Block, error)) (time.Duration, error) {
	key := "all"
	if pot != nil {
		key = pot.User
	}
	p := n.of
	for {
		p.mu.Lock()
		at := p.seq[key]
		var others []session.Block
		for _, name := range slices.Sorted(maps.Keys(p.blocks[key])) {
			if name != n.name {
				others = append(others, p.blocks[key][name])
			}
		}
		p.mu.Unlock()
		block, err := change(others)
		if err != nil {
			return 0, err
		}
		p.mu.Lock()
		race := n.race
		n.race = nil
		p.mu.Unlock()
		if race != nil {
			race()
		}
		p.mu.Lock()
		if p.seq[key] != at {
			p.mu.Unlock()
			continue
		}
		var answer error
		if len(n.answers) > 0 {
			answer, n.answers = n.answers[0], n.answers[1:]
		}
		if !errors.Is(answer, errRefused) {
			p.seq[key]++
			p.changes++
			if p.blocks[key] == nil {
				p.blocks[key] = make(map[string]session.Block)
			}
			p.blocks[key][n.name] = block
		}
		p.mu.Unlock()
		if n.broken.Store(false); answer != nil {
			return 0, answer
		}
		return 0, nil
	}
}

// gone is a node that was killed, and whose calls are in the ledger.
func (p *pots) gone(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.nodes, name)
	for key := range p.blocks {
		delete(p.blocks[key], name)
		p.seq[key]++
	}
}

// logs puts what a call used in the ledger.
func (p *pots) logs(c Call, day session.Day, used provider.Usage) {
	p.mu.Lock()
	if list := p.lines[c.Owner]; len(list) > 0 && list[len(list)-1].Day == day {
		list[len(list)-1].Usage = list[len(list)-1].Usage.Add(used)
	} else {
		p.lines[c.Owner] = append(list, session.Line{Day: day, Usage: used})
	}
	p.budgets.Day += costOf(used)
	p.budgets.Unattended += costOf(used)
	p.mu.Unlock()
	c.Sum.Logged()
}

// spent is the tokens that the ledger has.
func (p *pots) spent(o session.Owner) (sum amount) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lines[o] {
		sum = sum.plus(amountOf(l.Usage))
	}
	return sum
}

// reserved is the blocks of all nodes.
func (p *pots) reserved(pot string) (sum amount) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.blocks[pot] {
		sum = sum.plus(amount{b.Tokens, b.Cost})
	}
	return sum
}

// run makes a call that uses what it probably uses. It reports whether it was admitted.
func (n *peer) run(t *testing.T, c Call) bool {
	t.Helper()
	p, err := n.Enter(t.Context(), c)
	if err != nil {
		if !errors.As(err, new(*Exceeded)) && !errors.As(err, new(*Full)) {
			t.Fatal(err)
		}
		return false
	}
	p.Settle(c.Usage)
	n.of.logs(c, p.Reserved.Day, c.Usage)
	return true
}

func look(t *testing.T, n *peer, times int) {
	t.Helper()
	for range times {
		if err := n.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// Two nodes spend one quota together, and not each its own. A call that fits into the block of its node writes nothing.
func TestTwoNodes(t *testing.T) {
	p, at := newPots(), noon()
	q := Quota{DayTokens: 10_000}
	a, b := p.node("a", Limits{}, q, at.now), p.node("b", Limits{}, q, at.now)
	calls := 0
	for a.run(t, of(ann, use(40, 0), provider.Usage{})) || b.run(t, of(ann, use(40, 0), provider.Usage{})) {
		b.run(t, of(ann, use(40, 0), provider.Usage{}))
		calls += 2
	}
	used := p.spent(ann).tokens
	t.Logf("%d calls used %d tokens, with %d writes", calls, used, p.changes)
	if used > q.DayTokens || used < q.DayTokens-40-200 { // each node may have 1 % free
		t.Errorf("both used %d of %d tokens", used, q.DayTokens)
	}
	if p.changes > calls/2+8 {
		t.Errorf("%d writes for %d calls", p.changes, calls)
	}
	for _, n := range []*peer{a, b} {
		exceeded(t, n.Gate, of(ann, use(400, 0), provider.Usage{}), "tokens_day", tomorrow, false)
	}
}

// What a node reserves for a call that runs, no other node may use. It is back when the call has ended.
func TestBlockOfRunningCall(t *testing.T) {
	p, at := newPots(), noon()
	q := Quota{DayTokens: 1000, MonthCost: provider.MoneyOf(10)}
	a, b := p.node("a", Limits{}, q, at.now), p.node("b", Limits{}, q, at.now)
	call := of(ann, use(300, 1), use(900, 9))
	pass := admitted(t, a.Gate, call)
	exceeded(t, b.Gate, of(ann, use(300, 1), provider.Usage{}), "tokens_day", tomorrow, true)
	admitted(t, b.Gate, of(ann, use(100, 1), use(900, 1))).Leave()
	exceeded(t, b.Gate, of(ann, use(50, 2), provider.Usage{}), "cost_month", december, true)
	pass.Settle(use(200, 1))
	look(t, a, 1)
	if left := p.reserved("ann").tokens; left < 200 {
		t.Errorf("a block of %d does not cover what the log lacks", left)
	}
	exceeded(t, b.Gate, of(ann, use(800, 1), provider.Usage{}), "tokens_day", tomorrow, true)
	p.logs(call, "2026-11-23", use(200, 1))
	look(t, a, 1)
	admitted(t, b.Gate, of(ann, use(700, 1), provider.Usage{})).Leave()
	look(t, a, restLooks+1)
	look(t, b, restLooks+1)
	if left := p.reserved("ann"); left != (amount{}) {
		t.Errorf("%+v is reserved, and nothing runs", left)
	}
	admitted(t, b.Gate, of(ann, use(800, 9), provider.Usage{})).Leave()
}

// The block of a node that is gone is there for the others, and what its call had reserved counts once.
func TestNodeGone(t *testing.T) {
	p, at := newPots(), noon()
	q := Quota{DayTokens: 1000}
	a, b := p.node("a", Limits{}, q, at.now), p.node("b", Limits{}, q, at.now)
	call := of(ann, use(600, 0), use(600, 0))
	admitted(t, a.Gate, call)
	exceeded(t, b.Gate, of(ann, use(500, 0), provider.Usage{}), "tokens_day", tomorrow, true)
	p.logs(call, "2026-11-23", use(600, 0)) // by who took the session over
	p.gone("a")
	exceeded(t, b.Gate, of(ann, use(500, 0), provider.Usage{}), "tokens_day", tomorrow, false)
	admitted(t, b.Gate, of(ann, use(400, 0), provider.Usage{}))
	fresh := p.node("a2", Limits{}, q, at.now) // a restart
	exceeded(t, fresh.Gate, of(ann, use(1, 0), provider.Usage{}), "tokens_day", tomorrow, true)
}

// A node that was out of contact does not use its old block: the others may have it.
func TestBlockAfterLostContact(t *testing.T) {
	p, at := newPots(), noon()
	q := Quota{DayTokens: 1000}
	a, b := p.node("a", Limits{}, q, at.now), p.node("b", Limits{}, q, at.now)
	admitted(t, a.Gate, of(ann, use(100, 0), use(900, 0))).Leave() // 900 are free in its block
	a.broken.Store(true)
	p.gone("a")
	held := admitted(t, b.Gate, of(ann, use(950, 0), provider.Usage{}))
	exceeded(t, a.Gate, of(ann, use(100, 0), provider.Usage{}), "tokens_day", tomorrow, true)
	held.Leave()
	look(t, b, restLooks)
	admitted(t, a.Gate, of(ann, use(950, 0), provider.Usage{}))
}

// vendor counts the calls that are made.
type vendor struct {
	provider.Provider
	calls int
}

func (v *vendor) Stream(context.Context, *provider.Request) iter.Seq2[provider.Event, error] {
	v.calls++
	return func(func(provider.Event, error) bool) {}
}

// A node stands still between the reservation of a call and its start, and another one has taken the block. The call starts only if there is room for it.
func TestPausedBeforeStart(t *testing.T) {
	p, at := newPots(), noon()
	q := Quota{DayTokens: 1000}
	a, b := p.node("a", Limits{}, q, at.now), p.node("b", Limits{}, q, at.now)
	v := new(vendor)
	call := of(ann, use(600, 0), use(600, 0))
	call.Provider = v
	pass := admitted(t, a.Gate, call)
	stream := func() (err error) {
		for _, err = range pass.Stream(t.Context(), nil) {
		}
		return err
	}
	if err := stream(); err != nil || v.calls != 1 {
		t.Errorf("a call in its block: %v, %d calls", err, v.calls)
	}
	changes := p.changes
	a.broken.Store(true)
	p.gone("a")
	other := admitted(t, b.Gate, of(ann, use(500, 0), provider.Usage{}))
	failed, ok := errors.AsType[*provider.Error](stream())
	if !ok || failed.Kind != provider.KindQuota || v.calls != 1 {
		t.Errorf("a call whose block is gone: %v, %d calls", failed, v.calls)
	}
	other.Leave()
	look(t, b, restLooks)
	if err := stream(); err != nil || v.calls != 2 || p.reserved("ann").tokens != 600 {
		t.Errorf("a call that has its block again: %v, %d calls, %+v", err, v.calls, p.reserved("ann"))
	}
	if err := stream(); err != nil || p.changes > changes+5 {
		t.Errorf("%v, and %d changes", err, p.changes-changes)
	}
}

// A quota that is smaller than one call admits none, and one that is just as large admits one, at one node.
func TestQuotaSmallerThanCall(t *testing.T) {
	p, at := newPots(), noon()
	q := Quota{DayCost: provider.MoneyOf(0.01)}
	nodes := []*peer{p.node("a", Limits{}, q, at.now), p.node("b", Limits{}, q, at.now), p.node("c", Limits{}, q, at.now)}
	for _, n := range nodes {
		exceeded(t, n.Gate, of(ann, use(1, 0.02), provider.Usage{}), "cost_day", tomorrow, false)
	}
	var passes int
	for _, n := range nodes {
		if _, err := n.Enter(t.Context(), of(ann, use(1, 0.01), use(1, 5))); err == nil {
			passes++
		}
	}
	if passes != 1 {
		t.Errorf("%d calls that each use all that there is", passes)
	}
}

// A change whose answer is lost may be stored or not. Neither counts twice, and nothing is used meanwhile that the others may have.
func TestLostAnswerOfBlock(t *testing.T) {
	for _, lost := range []error{errLost, errRefused} {
		p, at := newPots(), noon()
		q := Quota{DayTokens: 1000}
		a, b := p.node("a", Limits{}, q, at.now), p.node("b", Limits{}, q, at.now)
		call := of(ann, use(300, 0), use(300, 0))
		a.answers = []error{lost, lost}
		for range 2 {
			if _, err := a.Enter(t.Context(), call); !errors.Is(err, lost) {
				t.Fatalf("%v: %v", lost, err)
			}
		}
		admitted(t, a.Gate, call).Settle(use(300, 0))
		if n := p.reserved("ann").tokens; n != 300 {
			t.Errorf("%v: %d tokens are reserved", lost, n)
		}
		p.logs(call, "2026-11-23", use(300, 0))
		a.answers = []error{lost}
		if err := a.Look(t.Context()); !errors.Is(err, lost) { // gives all back
			t.Fatal(err)
		}
		look(t, a, 1)
		if n := p.reserved("ann").tokens; n != 10 {
			t.Errorf("%v: %d tokens stay reserved", lost, n)
		}
		look(t, a, restLooks)
		admitted(t, b.Gate, of(ann, use(700, 0), provider.Usage{})).Leave()
		exceeded(t, b.Gate, of(ann, use(701, 0), provider.Usage{}), "tokens_day", tomorrow, false)
	}
}

// Two nodes that read the same state before they change it do not both get the rest.
func TestBlockRace(t *testing.T) {
	p, at := newPots(), noon()
	q := Quota{DayTokens: 1000}
	a, b := p.node("a", Limits{}, q, at.now), p.node("b", Limits{}, q, at.now)
	a.race = func() { admitted(t, b.Gate, of(ann, use(700, 0), provider.Usage{})) }
	exceeded(t, a.Gate, of(ann, use(700, 0), provider.Usage{}), "tokens_day", tomorrow, true)
	if p := p.reserved("ann"); p.tokens > 1000 {
		t.Errorf("%d tokens are reserved", p.tokens)
	}
}

// At midnight a block must be taken for the new day. A call that runs counts for both.
func TestBlockAtMidnight(t *testing.T) {
	p, at := newPots(), noon()
	q := Quota{DayTokens: 1000, MonthTokens: 5000}
	a, b := p.node("a", Limits{}, q, at.now), p.node("b", Limits{}, q, at.now)
	call := of(ann, use(600, 0), use(600, 0))
	pass := admitted(t, a.Gate, call)
	at.at = tomorrow
	admitted(t, b.Gate, of(ann, use(900, 0), provider.Usage{})).Leave() // the block of a is of yesterday
	look(t, b, restLooks)
	exceeded(t, a.Gate, of(ann, use(500, 0), provider.Usage{}), "tokens_day", tomorrow.AddDate(0, 0, 1), true)
	pass.Settle(use(600, 0))
	p.logs(call, "2026-11-23", use(600, 0))
	admitted(t, a.Gate, of(ann, use(1000, 0), provider.Usage{})).Leave()
}

// What is free in a block of yesterday is not free today: other nodes may have taken all of today.
func TestFreeBlockAtMidnight(t *testing.T) {
	p, at := newPots(), noon()
	q := Quota{DayTokens: 1000}
	a, b := p.node("a", Limits{}, q, at.now), p.node("b", Limits{}, q, at.now)
	admitted(t, a.Gate, of(ann, use(100, 0), use(900, 0))).Leave()
	at.at = tomorrow
	admitted(t, b.Gate, of(ann, use(950, 0), provider.Usage{}))
	exceeded(t, a.Gate, of(ann, use(100, 0), provider.Usage{}), "tokens_day", tomorrow.AddDate(0, 0, 1), true)
}

// A call that used more than it had reserved counts at the other nodes before the log has it.
func TestUsedBeyondBlock(t *testing.T) {
	p, at := newPots(), noon()
	q := Quota{DayTokens: 1000}
	a, b := p.node("a", Limits{}, q, at.now), p.node("b", Limits{}, q, at.now)
	call := of(ann, use(100, 0), provider.Usage{})
	other := admitted(t, b.Gate, of(ann, use(700, 0), provider.Usage{}))
	admitted(t, a.Gate, call).Settle(use(500, 0))
	look(t, a, 1)
	other.Leave()
	look(t, b, 1)
	exceeded(t, b.Gate, of(ann, use(600, 0), provider.Usage{}), "tokens_day", tomorrow, true)
	p.logs(call, "2026-11-23", use(500, 0))
	exceeded(t, b.Gate, of(ann, use(600, 0), provider.Usage{}), "tokens_day", tomorrow, false)
}

// A node whose give-back was not stored tries again.
func TestGiveBackAgain(t *testing.T) {
	p, at := newPots(), noon()
	q := Quota{DayTokens: 1000}
	a := p.node("a", Limits{}, q, at.now)
	admitted(t, a.Gate, of(ann, use(10, 0), provider.Usage{})).Leave()
	look(t, a, restLooks-1)
	a.answers = []error{errRefused}
	if err := a.Look(t.Context()); !errors.Is(err, errRefused) {
		t.Fatal(err)
	}
	look(t, a, 1)
	if left := p.reserved("ann"); left != (amount{}) {
		t.Errorf("%+v stays reserved", left)
	}
}

// Parallel calls are divided by the number of nodes, and each node has one.
func TestCallsOfNodes(t *testing.T) {
	p := newPots()
	at := noon()
	nodes := []*peer{p.node("a", Limits{}, Quota{Calls: 4}, at.now), p.node("b", Limits{}, Quota{Calls: 4}, at.now)}
	for _, n := range nodes {
		admitted(t, n.Gate, of(ann, use(1, 0), provider.Usage{}))
		admitted(t, n.Gate, of(ann, use(1, 0), provider.Usage{}))
		exceeded(t, n.Gate, of(ann, use(1, 0), provider.Usage{}), "calls", time.Time{}, true)
	}
	for i := range 6 {
		p.node(fmt.Sprint("more", i), Limits{}, Quota{Calls: 4}, at.now)
	}
	admitted(t, nodes[0].Gate, of(bob, use(1, 0), provider.Usage{}))
	exceeded(t, nodes[0].Gate, of(bob, use(1, 0), provider.Usage{}), "calls", time.Time{}, true)
	if p.changes > 0 {
		t.Errorf("%d writes without a quota of tokens or money", p.changes)
	}
}

// The limits for all sessions count what all nodes spend. A person who writes at one node, or raises a limit there, is known at the others.
func TestLimitsOfNodes(t *testing.T) {
	p, at := newPots(), noon()
	a, b := p.node("a", limits(10, 5), Quota{}, at.now), p.node("b", limits(10, 5), Quota{}, at.now)
	paid := func(usd float64) Call { return of(session.Operator, cost(usd), provider.Usage{}) }
	for range 2 {
		if !a.run(t, paid(2)) {
			t.Fatal("there is room at first")
		}
	}
	refused(t, b.Gate, 2, session.LimitUnattended)
	used(t, b.Gate, 4, 4)
	look(t, a, 1)
	p.mu.Lock()
	p.budgets.Unattended = 0 // somebody wrote at a, and the ledger has it
	p.mu.Unlock()
	if !b.run(t, paid(4)) {
		t.Fatal("somebody wrote, and there is no room")
	}
	b.Attend()
	refused(t, b.Gate, 3, session.LimitDay)
	p.mu.Lock()
	p.budgets.RaisedOn, p.budgets.RaisedDay = "2026-11-23", provider.MoneyOf(5)
	p.mu.Unlock()
	if !b.run(t, paid(3)) || a.run(t, paid(5)) {
		t.Error("the raised limit does not count")
	}
}

// What a call may use at most and no block covers, another node does not add to: all calls of all nodes exceed a limit by at most one call for each node.
func TestLimitsOfRunningCalls(t *testing.T) {
	p, at := newPots(), noon()
	nodes := []*peer{p.node("a", limits(10, 0), Quota{}, at.now), p.node("b", limits(10, 0), Quota{}, at.now)}
	var most provider.Money
	for range 20 {
		for _, n := range nodes {
			if pass, err := n.Enter(t.Context(), of(session.Operator, cost(0.5), cost(3))); err == nil {
				most += costOf(pass.Reserved.Usage)
			}
		}
	}
	if most > provider.MoneyOf(10+2*3) || most < provider.MoneyOf(10) {
		t.Errorf("calls that may cost %v run, with a limit of 10", most.Units())
	}
}

// A call that goes on beyond its block gets more while the quota and the limit have it.
func TestExtendOverNodes(t *testing.T) {
	p, at := newPots(), noon()
	q := Quota{DayTokens: 1000}
	a, b := p.node("a", limits(10, 0), q, at.now), p.node("b", limits(10, 0), q, at.now)
	pass := admitted(t, a.Gate, of(ann, use(100, 1), provider.Usage{}))
	other := admitted(t, b.Gate, of(ann, use(500, 5), provider.Usage{}))
	if _, err := pass.Extend(t.Context(), use(500, 2)); err != nil {
		t.Error(err)
	}
	if _, err := pass.Extend(t.Context(), use(501, 2)); !errors.As(err, new(*Exceeded)) {
		t.Errorf("501 of 500 tokens: %v", err)
	}
	if _, err := pass.Extend(t.Context(), use(500, 6)); err != nil { // more than the limit by what it probably cost
		t.Error(err)
	}
	if _, err := pass.Extend(t.Context(), use(500, 6.5)); !errors.As(err, new(*Full)) {
		t.Errorf("more than a call above the limit: %v", err)
	}
	other.Leave()
	look(t, b, 1)
	if _, err := pass.Extend(t.Context(), use(900, 6.5)); err != nil {
		t.Error(err)
	}
}

// Three nodes race to the quotas of two users and to a limit, while nodes die and answers are lost. Nothing is exceeded, and nothing is missing at the end.
func TestRaceOfNodes(t *testing.T) {
	const most = 20_000
	p, at := newPots(), noon()
	q := Quota{DayTokens: most}
	var all []<-chan struct{}
	for i := range 3 {
		all = append(all, testgo.Go(t, func() {
			rng := rand.New(rand.NewPCG(11, uint64(i)))
			n := p.node(fmt.Sprint("node", i), limits(30, 0), q, at.now)
			for life := range 4 {
				var calls []<-chan struct{}
				for c := range 4 {
					rng := rand.New(rand.NewPCG(uint64(i), uint64(4*life+c)))
					calls = append(calls, testgo.Go(t, func() {
						for range 60 {
							probably := 1 + rng.IntN(60)
							call := of([]session.Owner{ann, bob}[c%2], use(probably, 0.01), use(3*probably, 0.03))
							pass, err := n.Enter(t.Context(), call)
							if err != nil {
								continue
							}
							pass.Settle(call.Usage)
							p.logs(call, pass.Reserved.Day, call.Usage)
							if rng.IntN(10) == 0 {
								if err := n.Look(t.Context()); err != nil {
									t.Error(err)
								}
							}
						}
					}))
				}
				for _, done := range calls {
					<-done
				}
				p.gone(n.name) // with all that it has free
				n = p.node(fmt.Sprint("node", i, ".", life), limits(30, 0), q, at.now)
				p.mu.Lock()
				n.answers = []error{[]error{nil, errLost, errRefused}[rng.IntN(3)]}
				p.mu.Unlock()
			}
			p.gone(n.name)
		}))
	}
	for _, done := range all {
		<-done
	}
	for _, o := range []session.Owner{ann, bob} {
		if used := p.spent(o).tokens; used > most || used < most/2 {
			t.Errorf("%s used %d of %d tokens", o, used, most)
		}
		if left := p.reserved(o.User); left != (amount{}) {
			t.Errorf("%+v stays reserved", left)
		}
	}
	if p.budgets.Day > provider.MoneyOf(30+3*0.03) {
		t.Errorf("%v of 30 USD are spent", p.budgets.Day.Units())
	}
	last := p.node("last", Limits{}, q, at.now)
	left := most - p.spent(ann).tokens
	admitted(t, last.Gate, of(ann, use(left, 0), provider.Usage{}))
	exceeded(t, last.Gate, of(bob, use(most-p.spent(bob).tokens+1, 0), provider.Usage{}), "tokens_day", tomorrow, false)
}
