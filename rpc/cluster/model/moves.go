package model

import "github.com/thinkd/thinkd/session/lease"

// moves collects the steps of one state.
type moves struct {
	rules Rules
	nodes int
	from  *state
	list  []Step[state]
}

// do adds a step. change makes the next state, and says which invariant it breaks.
func (m *moves) do(kind Kind, text string, change func(*state) (broken Harm)) {
	m.change(kind, m.from, text, change)
}

// change is like do, with a step that begins with another state.
func (m *moves) change(kind Kind, from *state, text string, change func(*state) (broken Harm)) {
	next := *from
	broken := change(&next)
	if broken == "" {
		broken = next.lost()
	}
	next.tidy()
	m.list = append(m.list, Step[state]{Kind: kind, Text: text, Next: next, Broken: broken})
}

// lost says whether a prompt is missing that was acknowledged.
func (s *state) lost() Harm {
	if s.gone || s.copied > 0 { // a store that loses what it acknowledged must be noticed: see opened
		return ""
	}
	if top, _ := s.top(s.n); top.kind == deleted {
		return ""
	}
	v := s.view(s.n)
	for p := range s.acked {
		if s.acked[p] && !v.has[p] {
			return PromptLost
		}
	}
	return ""
}

// healthy reports whether a node runs, is in contact and takes sessions.
func (n *node) healthy() bool { return n.awake() && !n.cut && !n.drains }

func (n *node) awake() bool { return n.id != 0 && !n.stopped }

func (s *state) someHealthy() bool {
	for i := range s.nodes {
		if s.nodes[i].healthy() {
			return true
		}
	}
	return false
}

// present lists what a node may believe about another incarnation. What it may, depends on the rules of presence: package presence keeps
// the contract that a node takes another one for gone only while that one does not run, or knows that it is out of contact.
func (m *moves) present(s *state, judge *node, id uint8) []bool {
	peer := &s.nodes[machine(id)]
	switch {
	case judge.cut:
		return []bool{true}
	case peer.id != id, peer.cut:
		return []bool{true, false}
	case peer.stopped && m.rules.has(SilenceIsGone):
		return []bool{true, false}
	case !m.rules.has(MajorityJudges):
		return []bool{true, false}
	}
	return []bool{true}
}

// judged takes note that a node was taken for gone. That takes 5 s of silence, so a node that was stopped finds its clocks ahead when it
// goes on.
func (m *moves) judged(s *state, id uint8) {
	peer := &s.nodes[machine(id)]
	if peer.id == id && peer.stopped {
		s.trouble = true
		peer.fresh = false
		if m.rules.has(ConfirmLoaded) {
			peer.cut, peer.confirmed = true, false
		}
	}
	if peer.id == id && peer.cut {
		s.trouble = true
	}
}

// next makes a step of package lease the place where the exchange stands. A claim that is published again is another message. An append is
// the same message, so that its age counts from its first try.
func (n *node) next(step lease.Step) {
	switch step {
	case lease.Publish:
		n.net = sent
		if !n.writes {
			n.fresh = !n.cut
		}
	case lease.Read:
		n.net = reading
	case lease.ReadLater:
		n.net = later
	default:
		n.net = quiet
	}
}
