package gate

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Cluster is the other nodes that spend the same quotas and limits. Its methods may be called from any goroutine.
type Cluster interface {
	// Nodes counts the nodes that are present, with this one.
	Nodes() int

	// ChangeBlock replaces the block that this node has of a pot, by compare and set: of an owner's quota, or with nil of the limits for all
	// sessions. change gets the blocks of the other nodes. It may run several times, and an answer that is lost counts once, because a block is an
	// absolute value. What change reads from the ledger includes everything that the blocks it got do not cover. at is for Unbroken.
	ChangeBlock(ctx context.Context, pot *session.Owner, change func(others []session.Block) (session.Block, error)) (at time.Duration, err error)

	// Unbroken reports whether this node has been in contact since a block was changed. Otherwise another node may have taken it for gone, and
	// have removed its block.
	Unbroken(at time.Duration) bool
}

// share is the block of this node of a pot, from which its calls are paid without a write:
//
//	limit:  [ in the ledger | blocks of other nodes |  block of this node                        | nobody's ]
//	block:                                            [ held | unlogged | unread | free ]
//
// held is what running calls have reserved. What ended calls used is unlogged until the log has it, and unread until the ledger was read after that.
// When a call does not fit into free, change reads the ledger and the blocks of all nodes, and changes the block. The truth is the ledger alone:
// a block only covers what the ledger does not have yet.
//
// A block is removed when its node is gone and the ledger has what its calls used; see rpc/cluster/node.
type share struct {
	cluster Cluster
	pot     *session.Owner // nil: the limits for all sessions
	turn    chan struct{}  // has an element while nobody changes the block

	lock   sync.Locker // the gate's, which guards the rest, and is held for the functions except read
	today  func() session.Day
	read   func(context.Context, session.Day) (ledgered, error) // without the lock
	left   func(l ledgered, others []session.Block) amount      // of the limit, beside what the ledger and others have
	learn  func(ledgered)
	counts amount // the limit; a part that is 0 has none

	at                            time.Duration // of the last change of the block
	day                           session.Day   // of that change; empty: this node has no block
	unknown                       bool          // the last change failed
	block, held, unlogged, unread amount
	stored                        amount // of the block as others see it: it has what was used beyond block, too
	refills                       int    // changes of the block so far
	looks                         int    // since a call began or ended
}

// ledgered is what the ledger has for a pot.
type ledgered struct {
	today      session.Day
	day, month amount          // of a user
	budgets    session.Budgets // of all sessions
}

func newShare(c Cluster, pot *session.Owner, lock sync.Locker) *share {
	s := &share{cluster: c, pot: pot, lock: lock, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	return s
}

// slack is what this node may have free without a call: 1 % of the limit, and all nodes together at most 10 %.
func (s *share) slack() amount {
	nodes := max(s.cluster.Nodes(), 1)
	return amount{s.counts.tokens / max(100, 10*nodes), s.counts.cost / provider.Money(max(100, 10*nodes))}
}

// counted is what the block must cover.
func (s *share) counted() amount { return s.held.plus(s.unlogged).plus(s.unread) }

// valid reports whether the block counts at the other nodes for what is spent today.
func (s *share) valid() bool { return !s.unknown && s.day == s.today() && s.cluster.Unbroken(s.at) }

// limited is an amount without the parts that have no limit.
func (s *share) limited(a amount) amount {
	if s.counts.tokens == 0 {
		a.tokens = 0
	}
	if s.counts.cost == 0 {
		a.cost = 0
	}
	return a
}

// spare is what the block has beyond what it must cover; less than 0 if calls used more than they had reserved.
func (s *share) spare() amount {
	if !s.valid() {
		return amount{}.minus(s.counted())
	}
	return s.block.minus(s.counted())
}

// free is what a call may still reserve. A part without a limit is free without end.
func (s *share) free() amount {
	a := s.spare().most(amount{})
	if s.counts.tokens == 0 {
		a.tokens = math.MaxInt
	}
	if s.counts.cost == 0 {
		a.cost = math.MaxInt64
	}
	return a
}

// fits reports whether a call fits that uses so much. One that uses nothing always fits.
func (s *share) fits(more amount) bool {
	return s == nil || s.limited(more) == (amount{}) || s.limited(more).within(s.free())
}

// hold counts more for calls that run.
func (s *share) hold(by amount) {
	if s != nil {
		s.held, s.looks = s.held.plus(s.limited(by)), 0
	}
}

// settle takes over what an ended call used. logged says that the log has it already; otherwise later is to be called when it has, without the lock.
func (s *share) settle(used amount, logged bool) (later func()) {
	if s == nil {
		return nil
	}
	if used, s.looks = s.limited(used), 0; used == (amount{}) {
		return nil
	}
	if logged {
		s.unread = s.unread.plus(used)
		return nil
	}
	s.unlogged = s.unlogged.plus(used)
	return func() {
		s.lock.Lock()
		defer s.lock.Unlock()
		s.unlogged, s.unread = s.unlogged.minus(used), s.unread.plus(used)
	}
}

// lack says that a share has too little for a call.
type lack struct {
	share   *share
	need    amount
	refills int // of the share, before
}

// lacks is for a call that needs so much. The caller has the lock.
func (s *share) lacks(need amount) *lack {
	if s == nil {
		return nil
	}
	return &lack{s, s.limited(need), s.refills}
}

// refill asks for what is lacking, unless another call has refilled the share meanwhile. all is false if it got less. The caller does not have the lock.
func (l *lack) refill(ctx context.Context) (all bool, err error) {
	s := l.share
	if err := s.begin(ctx); err != nil {
		return false, err
	}
	defer s.end()
	s.lock.Lock()
	need, other := l.need.most(s.slack()), s.refills != l.refills
	s.lock.Unlock()
	if other {
		return true, nil
	}
	return s.change(ctx, need, false)
}

// begin waits until nobody else changes the block.
func (s *share) begin(ctx context.Context) error {
	select {
	case <-s.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *share) end() { s.turn <- struct{}{} }

// change reads the ledger, and changes the block so that so much is free in it, or what is left of the limit. It gives back what is free beyond that, if
// it is to. The caller does not have the lock. If it fails, nothing is free until the next change.
func (s *share) change(ctx context.Context, free amount, give bool) (all bool, err error) {
	s.lock.Lock()
	today := s.today()
	if !s.valid() {
		s.block = amount{}
	}
	if give {
		s.block = s.block.least(s.counted().plus(free))
	}
	drop := s.unread // the ledger has it when it is read below
	base := s.block.minus(drop)
	used := s.counted().minus(drop)
	want := used.plus(free).minus(base).most(amount{})
	s.lock.Unlock()
	var l ledgered
	var block, stored, more amount
	at, err := s.cluster.ChangeBlock(ctx, s.pot, func(others []session.Block) (none session.Block, err error) {
		if l, err = s.read(ctx, today); err != nil {
			return none, err
		}
		s.lock.Lock()
		defer s.lock.Unlock()
		more = want.least(s.left(l, others).minus(base)).most(amount{})
		block = base.plus(more)
		stored = block.most(used)
		return session.Block{Day: today, Tokens: stored.tokens, Cost: stored.cost}, nil
	})
	s.lock.Lock()
	defer s.lock.Unlock()
	s.refills++
	if s.unknown = err != nil; err != nil {
		return false, err
	}
	s.unread, s.block, s.stored, s.at, s.day = s.unread.minus(drop), block, stored, at, today
	if stored == (amount{}) {
		s.day = ""
	}
	s.learn(l)
	return more == want, nil
}

// restLooks is after how many looks without a call a share gives back all that is free.
const restLooks = 10

// cover makes sure that the block covers what runs at this node. covered is false if nothing is left for that.
func (s *share) cover(ctx context.Context) (covered bool, err error) {
	for tried := false; ; tried = true {
		if covered := s.covers(); covered || tried {
			return covered, nil
		}
		if err := s.changeNow(ctx); err != nil {
			return false, err
		}
	}
}

// covers reports whether the block is known to the other nodes, and large enough.
func (s *share) covers() bool {
	if s == nil {
		return true
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	return amount{}.within(s.spare())
}

// renew takes a block in the place of one that other nodes may have removed. The calls of this node may exceed it, as they may exceed a limit.
func (s *share) renew(ctx context.Context) error {
	if s == nil {
		return nil
	}
	s.lock.Lock()
	valid := s.held == (amount{}) || s.valid()
	s.lock.Unlock()
	if valid {
		return nil
	}
	return s.changeNow(ctx)
}

// changeNow has the block cover what runs, or what is left of the limit.
func (s *share) changeNow(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	_, err := s.change(ctx, amount{}, false)
	return err
}

// look gives back what is free without need, and has the block cover what was used beyond it.
func (s *share) look(ctx context.Context) error {
	s.lock.Lock()
	rest, due := s.due()
	s.lock.Unlock()
	if !due {
		return nil
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	_, err := s.change(ctx, rest, true)
	return err
}

// due is for one look. It reports how much is to be free.
func (s *share) due() (rest amount, due bool) {
	s.looks++
	if s.looks < restLooks || s.held != (amount{}) {
		rest = s.slack()
	}
	enough := s.counted().within(s.stored) && s.unread.within(s.slack())
	return rest, s.unknown || !enough || s.looks == restLooks && s.day != "" || !s.block.within(s.counted().plus(rest))
}
