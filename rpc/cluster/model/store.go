package model

import "github.com/thinkd/thinkd/session/lease"

// add is the store's compare and append. broken says which invariant of the log the message breaks. The caller has made sure that there is room.
func (s *state) add(rules Rules, m message, after uint8) (seq uint8, ok bool, broken Harm) {
	top, last := s.top(s.n)
	if last != after && rules.has(CompareAndAppend) {
		return 0, false, ""
	}
	switch m.kind {
	case create:
		if s.gone {
			broken = Returns
		}
	case claim:
		broken = s.evicts(top, m)
	default:
		if s.copied == 0 && (m.epoch != top.epoch || m.node != top.owner) { // see evicts
			broken = TwoWriters
		}
	}
	s.log[s.n] = m
	s.n++
	if m.kind == deleted {
		s.purge(s.n - 1)
	}
	return s.n, true, broken
}

// evicts says whether a claim takes the log from an owner that is healthy, has the log open, and may rely on that. After a loss, the store
// gives sequences out again, so an owner can rely on nothing.
func (s *state) evicts(top, m message) Harm {
	if top.owner == 0 || top.owner == m.node || s.copied > 0 {
		return ""
	}
	owner := &s.nodes[machine(top.owner)]
	if owner.id == top.owner && owner.open && owner.log.Epoch == uint64(top.epoch) && owner.confirmed && !owner.stopped && !owner.cut {
		return Evicted
	}
	return ""
}

// purge removes the first messages.
func (s *state) purge(to uint8) {
	for i := range to {
		s.log[i] = message{}
	}
}

func (s *state) full() bool { return s.n == s.bound }

// holds reports whether a message with this id is in the log.
func (s *state) holds(id uint8) bool {
	for _, m := range s.log[:s.n] {
		if m.kind != none && m.id == id {
			return true
		}
	}
	return false
}

// tell publishes an update to the clients of a node. broken says that its number was used before.
func (s *state) tell(number uint32, stored bool) (broken Harm) {
	for i := range s.notices {
		if s.notices[i] == number {
			broken = NumberTwice
		}
	}
	if stored {
		return broken
	}
	for _, m := range s.log[:s.n] {
		if m.number == number {
			broken = NumberTwice
		}
	}
	for i := range s.notices {
		if s.notices[i] == 0 {
			s.notices[i] = number
			break
		}
	}
	return broken
}

// tidy makes states equal that differ in nothing that matters.
func (s *state) tidy() {
	_, last := s.top(s.n)
	for i := range s.nodes {
		n := &s.nodes[i]
		if n.stray.kind != none && n.strayAfter < last && n.strayAfter != 0 { // sequences only grow, so it can never be stored
			n.stray, n.strayAfter = message{}, 0
		}
		if n.net == quiet {
			n.claim, n.token, n.before, n.write, n.out, n.fresh, n.writes, n.seq = lease.Claim{}, 0, 0, lease.Write{}, message{}, false, false, 0
		}
		if n.net != stored {
			n.seq = 0
		}
		if !n.open {
			n.log, n.confirmed, n.held, n.runs, n.pending, n.feed, n.lost = lease.Log{}, false, false, 0, 0, 0, false
		}
	}
}
