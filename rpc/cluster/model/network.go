package model

import "github.com/thinkd/thinkd/session/lease"

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
