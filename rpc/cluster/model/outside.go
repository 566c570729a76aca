package model

import "github.com/thinkd/thinkd/session/lease"

// requests has the steps of clients and operators.
func (m *moves) requests(i int, scenario Scenario) {
	s, n := m.from, &m.from.nodes[i]
	if !n.awake() || n.cut {
		return
	}
	_, last := s.top(s.n)
	if s.left.drain > 0 && !n.drains {
		m.do(Client, "An operator drains "+name(n.id)+".", func(s *state) Harm {
			s.left.drain--
			s.nodes[i].drains = true
			return ""
		})
	}
	if n.open {
		m.notices(i)
	}
	if n.net != quiet || n.drains {
		return
	}
	if !n.open {
		if last > 0 {
			m.claims(Client, i, "A client asks "+name(n.id)+" for the session. "+name(n.id), nothing)
		}
		m.creates(i)
		return
	}
	v := s.view(uint8(n.log.Tail))
	for p := uint8(1); p <= uint8(scenario.Prompts); p++ {
		if s.acked[p] {
			continue
		}
		if v.has[p] {
			m.do(Client, "A client sends prompt p"+string(rune('0'+p))+" to "+name(n.id)+" again, which has it.", func(s *state) Harm {
				s.acked[p] = true
				return ""
			})
		} else {
			m.appends(Client, i, message{kind: prompt, prompt: p})
		}
		break
	}
	m.deletes(i)
}

// notices has the step in which an owner publishes an update that is not in the log.
func (m *moves) notices(i int) {
	s, n := m.from, &m.from.nodes[i]
	if s.left.notice == 0 || n.net != quiet && m.rules.has(StandStill) {
		return
	}
	m.do(Client, name(n.id)+" publishes an update that is not in the log.", func(s *state) Harm {
		s.left.notice--
		n := &s.nodes[i]
		n.feed++
		return s.tell(n.feed, false)
	})
}

// creates has the step of session/new with the same client_id, and so with the same session.
func (m *moves) creates(i int) {
	s, n := m.from, &m.from.nodes[i]
	if s.left.create == 0 || s.expired && m.rules.has(TombstoneOutlives) { // a stamp that expired leads to another session
		return
	}
	m.do(Client, "A client sends session/new to "+name(n.id)+", with the client_id of the session.", func(s *state) Harm {
		s.left.create--
		n := &s.nodes[i]
		n.log = lease.Log{Epoch: 1, Node: lease.Node(n.id)}
		s.begin(i, message{kind: create})
		n.open = true
		return ""
	})
}

func (m *moves) deletes(i int) {
	s, n := m.from, &m.from.nodes[i]
	if s.left.remove == 0 || n.runs != 0 || n.pending != 0 {
		return
	}
	if m.rules.has(OwnerDeletes) {
		before := len(m.list)
		m.appends(Client, i, message{kind: deleted})
		for j := before; j < len(m.list); j++ {
			m.list[j].Next.left.remove--
		}
		return
	}
	m.do(Client, name(n.id)+" deletes the session, and removes its messages.", func(s *state) Harm {
		s.left.remove--
		n := &s.nodes[i]
		_, last := s.top(s.n)
		unseen := uint64(last) > n.log.Tail
		s.purge(s.n)
		n.open, s.gone = false, true
		if unseen {
			return DeletesUnseen
		}
		return ""
	})
}

// faults has what fails.
func (m *moves) faults() {
	s := m.from
	if top, last := s.top(s.n); top.kind == deleted && s.gone && !s.expired && s.settledNet() {
		m.do(Own, "The tombstone expires.", func(s *state) Harm {
			s.purge(last)
			s.expired = true
			return ""
		})
	}
	if s.left.election > 0 && s.old == 0 {
		m.do(Fault, "The store elects another leader, and the former one does not know it.", func(s *state) Harm {
			s.left.election--
			s.old = s.n
			return ""
		})
	}
	if top, last := s.top(s.n); s.left.lose > 0 && last == s.n && top.kind == prompt && s.acked[top.prompt] {
		m.do(Fault, "The store loses its last message, "+top.String()+". The second copy has it.", func(s *state) Harm {
			s.left.lose--
			s.copied = s.n
			s.n--
			s.log[s.n] = message{}
			s.old = 0
			return ""
		})
	}
	for i := range s.nodes {
		m.failsNode(i)
	}
}

// settledNet reports whether no message is on the way: tombstones live for days.
func (s *state) settledNet() bool {
	for i := range s.nodes {
		if s.nodes[i].net != quiet || s.nodes[i].stray.kind != none {
			return false
		}
	}
	return true
}

func (m *moves) failsNode(i int) {
	s, n := m.from, &m.from.nodes[i]
	if n.id == 0 {
		if s.left.restart > 0 && n.inc > 0 {
			id := uint8(i+1) + maxNodes*n.inc
			m.do(Fault, name(id)+" starts.", func(s *state) Harm {
				s.left.restart--
				n := &s.nodes[i]
				n.id = id
				return ""
			})
		}
		return
	}
	if s.left.crash > 0 {
		m.do(Fault, name(n.id)+" is killed.", func(s *state) Harm { s.left.crash--; return s.kill(i) })
	}
	if n.stopped {
		m.do(Fault, name(n.id)+" goes on.", func(s *state) Harm { s.nodes[i].stopped = false; return "" })
		return
	}
	if s.left.stop > 0 {
		m.do(Fault, name(n.id)+" stops, without knowing it.", func(s *state) Harm {
			s.left.stop--
			s.nodes[i].stopped = true
			return ""
		})
	}
	if n.cut {
		m.do(Fault, name(n.id)+" is in contact again.", func(s *state) Harm { s.nodes[i].cut = false; return "" })
	} else if s.left.drop > 0 {
		m.do(Fault, name(n.id)+" loses contact, and notices it.", func(s *state) Harm {
			s.left.drop--
			n := &s.nodes[i]
			n.cut, n.fresh = true, false
			if m.rules.has(ConfirmLoaded) {
				n.confirmed = false
			}
			return ""
		})
	}
}

// kill ends the process of a node. Its message may still arrive.
func (s *state) kill(i int) Harm {
	n := &s.nodes[i]
	n.goesAstray()
	s.trouble = true
	s.nodes[i] = node{inc: n.inc + 1, stray: n.stray, strayAfter: n.strayAfter, unmark: n.unmark}
	for j := range s.nodes {
		s.nodes[j].saw = s.nodes[j].awake() && !s.nodes[j].cut
	}
	return ""
}
