package model

import (
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/lease"
)

// Scenario bounds what may happen. Everything within the bounds is tried, in every order.
type Scenario struct {
	Name    string
	Nodes   int
	Prompts int
	running int // so many prompts are in the log, and A runs the first
	left    budget
	log     uint8 // how long the log may get
}

// The scenarios, with the bounds that each change is checked with. Wider makes them larger.
var (
	contact     = Scenario{"contact", 2, 1, 0, budget{drop: 1, election: 1}, 6}
	pause       = Scenario{"pause", 2, 1, 0, budget{stop: 1}, 7}
	answers     = Scenario{"answers", 2, 1, 0, budget{drop: 1, silence: 1}, 6}
	idleDrain   = Scenario{"idle drain", 2, 0, 0, budget{drain: 1, letGo: 1}, 9}
	busyDrain   = Scenario{"busy drain", 2, 0, 2, budget{drain: 1}, 12}
	takeover    = Scenario{"takeover", 2, 1, 0, budget{crash: 1, silence: 1}, 7}
	restart     = Scenario{"restart", 2, 0, 2, budget{crash: 2, restart: 1}, 8}
	lateRemoval = Scenario{"late removal", 2, 2, 1, budget{crash: 1}, 10}
	givenUp     = Scenario{"given up", 2, 1, 0, budget{giveUp: 1}, 8}
	ranks       = Scenario{"ranks", 3, 0, 1, budget{crash: 1, drain: 1}, 7}
	deletion    = Scenario{"deletion", 2, 0, 0, budget{remove: 1, create: 1, drop: 1}, 6}
	numbers     = Scenario{"numbers", 2, 1, 0, budget{notice: 2, stop: 1}, 4}
	loss        = Scenario{"loss", 2, 1, 0, budget{lose: 1, crash: 1}, 7}
	lateLoss    = Scenario{"late loss", 2, 1, 0, budget{lose: 1, drop: 1}, 6}
	taken       = Scenario{"taken", 2, 0, 0, budget{stop: 1, letGo: 1, election: 1, taken: 1}, 6}
)

// Scenarios are all of them.
var Scenarios = []Scenario{contact, pause, answers, idleDrain, busyDrain, takeover, restart, lateRemoval, givenUp, ranks, deletion, numbers, loss, lateLoss, taken}

// Wider is the scenario with a longer log. With two nodes, an answer may be missing and a node may lose contact in addition. It has up to
// a hundred times as many states. Losses of the store are not combined with more faults: that takes more than six minutes a scenario.
func (sc Scenario) Wider() Scenario {
	sc.log = min(sc.log+1, maxLog)
	if sc.Nodes == 2 && sc.left.lose == 0 {
		sc.left.silence = max(sc.left.silence, 1)
		sc.left.drop = max(sc.left.drop, 1)
	}
	return sc
}

// start has a session that A made and has open.
func (sc Scenario) start() state {
	s := state{n: 1, bound: sc.log, left: sc.left}
	s.log[0] = message{kind: create, node: 1, owner: 1, epoch: 1, id: 1}
	for i := range sc.Nodes {
		s.nodes[i].id = uint8(i + 1)
	}
	a := &s.nodes[0]
	a.open, a.confirmed = true, true
	a.log = lease.Log{Epoch: 1, Tail: 1, Node: 1}
	a.feed = uint32(session.FirstSeq(0, 1))
	if sc.running > 0 {
		for i, m := range []message{{kind: prompt, prompt: 1}, {kind: start, prompt: 1}, {kind: prompt, prompt: 2}}[:sc.running+1] {
			a.feed++
			m.node, m.owner, m.epoch, m.id, m.number = 1, 1, 1, uint8(i+2), a.feed
			s.log[s.n] = m
			s.n++
		}
		a.log.Tail, a.runs = uint64(s.n), 1
		s.acked, s.ran = [maxPrompts + 1]bool{false, true, sc.running == 2}, [maxPrompts + 1]uint8{0, 1, 0}
		s.marker, s.marked = lease.Marker{Node: 1, Epoch: 1}, s.n
	}
	return s
}
