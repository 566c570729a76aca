package model

import (
	"cmp"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/lease"
)

func (n *node) expects() uint64 {
	if n.writes {
		return n.write.After
	}
	return n.claim.Publish().After
}

// goesAstray leaves a message on the way that its sender does not wait for any more.
func (n *node) goesAstray() {
	if n.net == sent {
		n.stray, n.strayAfter = n.out, uint8(n.expects())
	}
}

func (m *moves) answer(s *state, i int, answer lease.Answer, seq uint64) Harm {
	n := &s.nodes[i]
	if !n.writes {
		return m.claimed(s, i, n.claim.Answer(answer, seq))
	}
	return m.result(s, i, n.write.Answer(answer, seq))
}

// claimed goes on with a claim.
func (m *moves) claimed(s *state, i int, step lease.Step) Harm {
	n := &s.nodes[i]
	n.next(step)
	switch step {
	case lease.Publish:
		p := n.claim.Publish().Message
		n.out = message{kind: claim, node: n.id, owner: n.id, epoch: uint8(p.Epoch), id: uint8(p.ID)}
	case lease.Compare:
		return m.claimed(s, i, n.claim.Copied(m.copied(s, n.claim.Log().Tail)))
	case lease.Done:
		s.tellTaken(n.before, n.id, uint8(n.claim.Log().Epoch))
		return m.opened(s, i, n.claim.Log(), n.claim.Hold())
	case lease.Lost:
		s.reported = true
	}
	return ""
}

// tellTaken sends the former owner the message that its session was claimed. It replaces one that has not arrived, which is then lost.
func (s *state) tellTaken(before, by, epoch uint8) {
	if before == 0 || before == by || s.left.taken == 0 {
		return
	}
	s.left.taken--
	if n := &s.nodes[machine(before)]; n.id == before {
		n.taken = epoch
	}
}

// copied is the last message that the second copy has up to a sequence, and the message of the log in its place. They differ only where the
// store has lost one: no later message gets its place in the copy.
func (m *moves) copied(s *state, seq uint64) (there, here lease.Head) {
	if s.copied == 0 || seq < uint64(s.copied) || !m.rules.has(CompareStored) {
		return lease.Head{}, lease.Head{}
	}
	return lease.Head{Seq: uint64(s.copied), ID: lostID}, s.log[s.copied-1].head(s.copied)
}

// result goes on with a write.
func (m *moves) result(s *state, i int, step lease.Step) Harm {
	n := &s.nodes[i]
	out := n.out
	if step == lease.Done {
		n.log.Settled(n.write)
		fresh := n.fresh
		n.next(step)
		return m.settled(s, i, out, fresh)
	}
	n.next(step)
	if step < lease.Done {
		return ""
	}
	if step == lease.Unknown && !m.rules.has(DoubtIsUnknown) {
		step = lease.Fenced
	}
	top, _ := s.top(s.n)
	mine := top.epoch == out.epoch && top.owner == out.node
	n.open = false
	switch step {
	case lease.Lost:
		s.reported = true
	case lease.Unknown:
		s.trouble = true
	case lease.Fenced:
		if mine && out.kind != create {
			return FencedByNobody
		}
		if out.kind == prompt && (s.holds(out.id) || n.stray == out) {
			return ToldWrong
		}
	}
	return ""
}

// opened is what follows a claim: the node has read the log up to its tail.
func (m *moves) opened(s *state, i int, log lease.Log, hold bool) Harm {
	n := &s.nodes[i]
	v := s.view(uint8(log.Tail))
	if !v.exists && log.Tail > 0 && s.log[log.Tail-1].kind == deleted {
		return "A deleted session is opened."
	}
	fresh := n.fresh && !n.cut || !m.rules.has(ClaimWrites)
	n.open, n.log, n.confirmed = true, log, fresh
	n.held = v.queued > 0 && (hold || !m.rules.has(QueueRunsAfterMove))
	n.feed = uint32(session.NextBase(uint64(v.last)))
	if m.rules.has(NumbersByEpoch) {
		n.feed = uint32(session.FirstSeq(uint64(v.last), log.Epoch))
	}
	for j := range s.nodes {
		s.nodes[j].hand = false
	}
	if v.openRun == 0 && (v.queued == 0 || n.held) {
		s.unmark(i)
	}
	for p := range s.acked {
		if s.acked[p] && !v.has[p] && s.copied > 0 && !s.reported {
			return LossUnnoticed
		}
	}
	return ""
}

// unmark sends the removal of the marker.
func (s *state) unmark(i int) {
	if n := &s.nodes[i]; s.marker.Removable(n.log) {
		n.unmark = s.marked
	}
}

// begin begins an append.
func (s *state) begin(i int, m message) {
	n := &s.nodes[i]
	m.node, m.owner, m.epoch, m.id = n.id, n.id, uint8(n.log.Epoch), s.freshID()
	switch m.kind {
	case prompt, start, end, cut:
		m.number = n.feed + 1
	case release:
		m.owner = 0
	}
	n.write, n.writes, n.out, n.net, n.fresh = n.log.Write(lease.ID(m.id)), true, m, sent, !n.cut
}

// settled is what follows an append that is stored.
func (m *moves) settled(s *state, i int, out message, fresh bool) Harm {
	n := &s.nodes[i]
	if fresh && !n.cut {
		n.confirmed = true
	}
	broken := Harm("")
	if out.number != 0 {
		n.feed = max(n.feed, out.number)
		broken = s.tell(out.number, true)
	}
	v := s.view(uint8(n.log.Tail))
	idle := v.openRun == 0 && (v.queued == 0 || n.held)
	switch out.kind {
	case create:
		n.open = true
	case prompt:
		s.acked[out.prompt] = true
	case start:
		n.pending = out.prompt
		broken = cmp.Or(broken, m.starts(s, i, fresh))
	case empty:
		broken = cmp.Or(broken, m.starts(s, i, fresh))
	case end:
		n.runs = 0
	case release:
		n.open = false
		n.hand = m.rules.has(TakeOver) && v.queued > 0 && !n.held
	case deleted:
		n.open, s.gone = false, true
		if !m.rules.has(Tombstone) {
			s.purge(s.n)
		}
	}
	if idle && (out.kind == end || out.kind == cut) {
		s.unmark(i)
	}
	return broken
}

// starts runs the tool or the model call whose start is stored, if it is sure that nobody else has claimed the session by now.
func (m *moves) starts(s *state, i int, fresh bool) Harm {
	n := &s.nodes[i]
	p := n.pending
	if p == 0 || m.rules.has(StartInTime) && (!fresh || n.cut) {
		return ""
	}
	n.pending, n.runs = 0, p
	s.ran[p]++
	switch {
	case s.view(s.n).ended[p]:
		return LateTool
	case s.ran[p] > 1:
		return RunsTwice
	}
	return ""
}
