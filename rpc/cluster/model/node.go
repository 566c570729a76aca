package model

import (
	"strconv"

	"github.com/thinkd/thinkd/session/lease"
)

// node has the steps that a node takes without a message from others.
func (m *moves) node(i int) {
	s, n := m.from, &m.from.nodes[i]
	if !n.awake() {
		return
	}
	switch n.net {
	case reading, later:
		m.reads(Own, s, i, name(n.id))
		return
	case quiet:
	default:
		return
	}
	switch {
	case n.open && n.lost:
		m.appends(Own, i, message{kind: empty}) // the store refuses it, also while the node is cut off
		return
	case n.cut:
		return
	}
	switch {
	case n.open:
		m.owns(i)
	case n.hand:
		for j := range s.nodes {
			if j != i && s.nodes[j].healthy() && !s.nodes[j].take {
				m.do(Own, name(n.id)+" asks "+name(s.nodes[j].id)+" to take the session.", func(s *state) Harm {
					s.nodes[j].take = true
					return ""
				})
			}
		}
	case n.drains:
		if own := uint8(s.marker.Node) == n.id; own && m.rules.has(MarkerOfOwn) && m.rules.has(TakeOver) { // it may not claim
			m.do(Own, name(n.id)+" finds its own marker, of a session that it has not open.", func(s *state) Harm {
				s.nodes[i].hand = true
				return ""
			})
		}
	case n.take:
		m.claims(Own, i, name(n.id)+" takes the session, as it was asked to: it", nothing)
	default:
		m.sweeps(i)
	}
}

// claims adds the steps in which a node begins a claim. The first read belongs to them: a claim that waits to read is like one that begins later.
func (m *moves) claims(kind Kind, i int, text string, before func(*state)) {
	next := *m.from
	before(&next)
	next.claim(i)
	m.reads(kind, &next, i, text)
}

func nothing(*state) {}

// claim begins a claim.
func (s *state) claim(i int) {
	n := &s.nodes[i]
	n.take = false
	n.token, n.writes, n.net = s.freshID(), false, reading
	n.claim = lease.NewClaim(lease.Node(n.id), lease.ID(n.token))
}

// reads has the steps in which a node reads the last message: at the leader, or at one that does not know that it is not the leader.
func (m *moves) reads(kind Kind, s *state, i int, text string) {
	m.readsUpTo(kind, s, i, s.n, text+" reads the last message")
	if s.old > 0 && s.nodes[i].net == reading {
		m.readsUpTo(kind, s, i, s.old, text+" reads the last message from an outdated leader")
	}
}

func (m *moves) readsUpTo(kind Kind, s *state, i int, limit uint8, text string) {
	top, seq := s.top(limit)
	text += ", " + top.String()
	head := top.head(seq)
	n := &s.nodes[i]
	if n.writes {
		m.change(kind, s, text+".", func(s *state) Harm {
			n := &s.nodes[i]
			n.fresh = false // what a read finds may be old
			return m.result(s, i, n.write.Last(head))
		})
		return
	}
	beliefs := []bool{true}
	if top.owner != 0 && top.owner != n.id {
		beliefs = m.present(s, n, top.owner)
	}
	for _, present := range beliefs {
		why := "."
		if !present {
			why = ", and takes " + name(top.owner) + " for gone."
		}
		claim, ask := n.claim, true
		if present && claim.Last(head, true) == lease.Elsewhere {
			why, ask = m.owner(s, top)
			why = ", and asks " + name(top.owner) + why
		}
		m.change(kind, s, text+why, func(s *state) Harm { return m.readsHead(s, i, head, present, ask) })
	}
}

// owner is what the owner answers that a message names, if it is asked. It is asked at the moment of the read: an answer about an
// epoch stays true.
func (m *moves) owner(s *state, top message) (answer string, free bool) {
	owner := &s.nodes[machine(top.owner)]
	claims := owner.net != quiet && !owner.writes
	switch {
	case owner.id != top.owner || !owner.awake():
		return ", which does not answer.", false
	case owner.open && owner.log.Epoch == uint64(top.epoch), claims && m.rules.has(ClaimCounts):
		return ", which is the owner.", false
	}
	return ", which answers \"not mine\".", true
}

func (m *moves) readsHead(s *state, i int, head lease.Head, present, free bool) Harm {
	n := &s.nodes[i]
	n.fresh = false
	if s.left.taken > 0 {
		n.before = uint8(head.Node)
	}
	if !present {
		m.judged(s, uint8(head.Node))
	}
	if !m.rules.has(ClaimWrites) && head.Node == lease.Node(n.id) {
		n.net = quiet
		return m.opened(s, i, lease.Log{Epoch: head.Epoch, Tail: head.Seq, Node: head.Node}, false)
	}
	step := n.claim.Last(head, present)
	if step != lease.Elsewhere {
		return m.claimed(s, i, step)
	}
	switch {
	case free && m.rules.has(NotMineReleases):
		n.claim.NotMine(head.Epoch)
		return m.claimed(s, i, n.claim.Last(head, present))
	case free:
		if owner := &s.nodes[machine(uint8(head.Node))]; !owner.drains && owner.net == quiet && !owner.open && !owner.cut {
			s.claim(machine(owner.id)) // it loads the session for the client
		}
	}
	n.net = quiet
	return ""
}

// appends adds the step in which an owner begins an append. If a turn or a queue is to run after it, it has stored the marker before.
func (m *moves) appends(kind Kind, i int, out message) {
	s, n := m.from, &m.from.nodes[i]
	marks := out.kind == prompt && !n.held || out.kind == start
	m.do(kind, name(n.id)+" sends "+out.String()+".", func(s *state) Harm {
		s.begin(i, out)
		if marks {
			s.marker, s.marked = lease.Marker{Node: lease.Node(n.id), Epoch: n.log.Epoch}, s.n+1
		}
		return ""
	})
	if marks && !m.rules.has(MarkerFirst) && s.left.silence > 0 {
		m.do(Fault, name(n.id)+" sends "+out.String()+", and the marker is lost.", func(s *state) Harm {
			s.begin(i, out)
			s.left.silence--
			return ""
		})
	}
}

// owns has the steps of a node that has the log open.
func (m *moves) owns(i int) {
	s, n := m.from, &m.from.nodes[i]
	v := s.view(uint8(n.log.Tail))
	m.serves(i, v)
	switch {
	case n.pending != 0:
		m.appends(Own, i, message{kind: empty})
		return
	case n.runs != 0:
		m.appends(Own, i, message{kind: end, prompt: n.runs})
		return
	case v.openRun != 0:
		m.appends(Own, i, message{kind: cut, prompt: v.openRun})
		return
	case !n.confirmed:
		m.confirms(i)
	}
	switch {
	case n.drains:
		m.appends(Own, i, message{kind: release, run: m.rules.has(QueueRunsAfterMove) && v.queued > 0 && !n.held})
	case v.queued > 0 && !n.held:
		m.appends(Own, i, message{kind: start, prompt: v.queue[0]})
	}
	if s.left.letGo > 0 && (v.queued == 0 || n.held) && !n.drains {
		m.do(Client, name(n.id)+" lets the idle session go, without a write.", func(s *state) Harm {
			s.left.letGo--
			s.nodes[i].open = false
			return ""
		})
	}
}

// confirms has the steps after a loss of contact, before the view is served again.
func (m *moves) confirms(i int) {
	s, n := m.from, &m.from.nodes[i]
	if m.rules.has(ConfirmByAppend) {
		m.appends(Own, i, message{kind: empty})
		return
	}
	for _, limit := range []uint8{s.n, s.old} {
		if limit == 0 {
			continue
		}
		top, seq := s.top(limit)
		m.do(Own, name(n.id)+" reads the last message to confirm its session, "+top.String()+".", func(s *state) Harm {
			n := &s.nodes[i]
			n.open = uint64(seq) == n.log.Tail
			n.confirmed = n.open
			return ""
		})
	}
}

// serves has the step in which a client reads the view of an owner. A state is worth a step only if the view is old.
func (m *moves) serves(i int, v view) {
	s, n := m.from, &m.from.nodes[i]
	if !n.confirmed && m.rules.has(ConfirmLoaded) {
		return
	}
	for p := range s.acked {
		if s.acked[p] && !v.has[p] && !s.gone && s.copied == 0 {
			m.do(Client, "A client attaches at "+name(n.id)+", and is shown the log up to "+strconv.Itoa(int(n.log.Tail))+".", func(*state) Harm {
				return OldView
			})
			return
		}
	}
}

// sweeps has the step in which a node lists the markers and finds a stranded session.
func (m *moves) sweeps(i int) {
	s, n := m.from, &m.from.nodes[i]
	marked := uint8(s.marker.Node)
	if marked == 0 || !m.rules.has(SweepRepeats) && !n.saw {
		return
	}
	if !m.rules.has(EveryRankSweeps) && i != (machine(marked)+1)%m.nodes {
		return
	}
	own := marked == n.id
	if !m.rules.has(MarkerOfIncarnation) {
		own = machine(marked) == i
		if peer := s.nodes[machine(marked)]; peer.awake() && !peer.cut && !own {
			return
		}
	}
	if own && !m.rules.has(MarkerOfOwn) {
		return
	}
	beliefs := []bool{true}
	if !own {
		beliefs = m.present(s, n, marked)
	}
	for _, present := range beliefs {
		if s.marker.Stranded(lease.Node(n.id), n.open, present) {
			m.claims(Own, i, name(n.id)+" finds the marker of "+name(marked)+". It", func(s *state) {
				s.nodes[i].saw = false
				if !own {
					m.judged(s, marked)
				}
			})
		}
	}
}
