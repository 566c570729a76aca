package model

// Check explores a scenario with a set of rules. only is the harm to look for, or "" for every one.
func Check(scenario Scenario, rules Rules, only Harm) Report {
	return Explore(World[state]{
		Start: scenario.start(),
		Steps: func(s state) []Step[state] {
			m := &moves{rules: rules, nodes: scenario.Nodes, from: &s}
			m.faults()
			for i := range scenario.Nodes {
				m.network(i)
				m.node(i)
				m.requests(i, scenario)
			}
			return m.list
		},
		Goals: goals,
		Show:  show,
		Only:  only,
	})
}

// over reports whether nothing is expected of a state: the session is gone, a loss was noticed, or the bounded log is nearly full.
func (s *state) over() bool {
	top, last := s.top(s.n)
	return last == 0 || top.kind == deleted || s.copied > 0 || s.n+4 > s.bound
}

var goals = []Goal[state]{{
	Broken: Closed,
	Helps:  Client,
	Due:    func(s state) bool { return s.someHealthy() },
	Met: func(s state) bool {
		top, _ := s.top(s.n)
		for i := range s.nodes {
			n := &s.nodes[i]
			if n.healthy() && n.open && n.id == top.owner && n.log.Epoch == uint64(top.epoch) {
				return true
			}
		}
		return s.over()
	},
}, {
	Broken: Stranded,
	Helps:  Own,
	Due:    func(s state) bool { return s.someHealthy() },
	Met: func(s state) bool {
		v := s.view(s.n)
		return v.openRun == 0 && (v.queued == 0 || s.trouble) || s.over()
	},
}}
