package model

import (
	"strconv"

	"github.com/thinkd/thinkd/session/lease"
)

// network has the steps of an exchange between a node and the store: the message arrives, its answer arrives, or neither.
func (m *moves) network(i int) {
	s, n := m.from, &m.from.nodes[i]
	if n.stray.kind != none && !s.full() {
		m.do(Own, "The store gets "+n.stray.String()+" of "+name(n.stray.node)+", which was given up.", func(s *state) Harm {
			n := &s.nodes[i]
			out := n.stray
			_, _, broken := s.add(m.rules, out, n.strayAfter)
			n.stray, n.strayAfter = message{}, 0
			return broken
		})
	}
	if n.unmark != 0 {
		m.do(Own, "The removal of a marker by "+string(rune('A'+i))+" arrives.", func(s *state) Harm {
			if !m.rules.has(MarkerBySequence) || s.marked == s.nodes[i].unmark {
				s.marker, s.marked = lease.Marker{}, 0
			}
			s.nodes[i].unmark = 0
			return ""
		})
	}
	if n.id == 0 {
		return
	}
	if n.taken != 0 && n.awake() {
		m.hears(i)
	}
	if n.net == sent && !s.full() {
		m.do(Own, "The store gets "+n.out.String()+" of "+name(n.id)+".", func(s *state) Harm {
			n := &s.nodes[i]
			seq, ok, broken := s.add(m.rules, n.out, uint8(n.expects()))
			n.net, n.seq = conflict, 0
			if ok {
				n.net, n.seq = stored, seq
			}
			return broken
		})
	}
	if !n.awake() {
		return
	}
	m.answers(i)
}

// hears has the steps in which a node learns that its session was taken, and reads the log: an outdated leader may answer.
func (m *moves) hears(i int) {
	s := m.from
	for _, limit := range []uint8{s.n, s.old} {
		if limit == 0 {
			continue
		}
		top, _ := s.top(limit)
		text := name(s.nodes[i].id) + " hears that its session was claimed as " + strconv.Itoa(int(s.nodes[i].taken)) + ", and reads the last message, " + top.String() + "."
		m.do(Own, text, func(s *state) Harm {
			n := &s.nodes[i]
			epoch := uint64(n.taken)
			n.taken = 0
			switch {
			case !n.open:
			case !m.rules.has(TakenIsRead):
				n.goesAstray()
				n.open, n.net = false, quiet
				if now, _ := s.top(s.n); now.owner == n.id && uint64(now.epoch) == n.log.Epoch {
					return FencedByNobody
				}
			case epoch > n.log.Epoch && uint64(top.epoch) > n.log.Epoch:
				n.lost, n.confirmed = true, false
			}
			return ""
		})
	}
}

// answers has the steps in which a node learns what became of its message.
func (m *moves) answers(i int) {
	s, n := m.from, &m.from.nodes[i]
	switch n.net {
	case stored:
		m.do(Own, name(n.id)+" gets the acknowledgement of "+n.out.String()+".", func(s *state) Harm {
			return m.answer(s, i, lease.Stored, uint64(s.nodes[i].seq))
		})
	case conflict:
		m.do(Own, name(n.id)+" gets the answer \"wrong last sequence\" for "+n.out.String()+".", func(s *state) Harm {
			if n := &s.nodes[i]; n.writes && !m.rules.has(ConflictIsUnknown) {
				return m.result(s, i, lease.Fenced)
			}
			return m.answer(s, i, lease.Conflict, 0)
		})
	}
	mayStray := n.net == sent && (n.stray.kind == none || n.stray == n.out)
	if s.left.silence > 0 && (n.net == stored || mayStray) {
		m.do(Fault, name(n.id)+" gets no answer for "+n.out.String()+" in time.", func(s *state) Harm {
			s.left.silence--
			s.nodes[i].goesAstray()
			return m.answer(s, i, lease.Silence, 0)
		})
	}
	if s.left.giveUp > 0 && n.writes && (mayStray || n.net == reading) {
		m.do(Fault, name(n.id)+" gives up "+n.out.String()+" after 30 s.", func(s *state) Harm {
			s.left.giveUp--
			n := &s.nodes[i]
			n.goesAstray()
			return m.result(s, i, n.write.GiveUp())
		})
	}
}
