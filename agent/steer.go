package agent

import (
	"slices"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/session"
)

// takeSteering takes the prompts that were to steer the running turn into it. They stand behind the results of tools: no
// vendor lets anything stand between a call and its result.
func (s *state) takeSteering() error {
	var facts []fact
	for _, q := range s.queue {
		if s.view.Turn(q.Turn).Prompt.Steer {
			facts = append(facts, fact{q.Turn, session.Steered{Into: s.run.ID}, nil})
		}
	}
	if len(facts) == 0 {
		return nil
	}
	if err := s.record(facts...); err != nil {
		return err
	}
	s.tellQueue()
	return nil
}

// enqueue adds a prompt to the queue: at its end, or, to steer, behind those that steer.
func (s *state) enqueue(q feed.Queued, steer bool) {
	at := len(s.queue)
	if steer {
		at = slices.IndexFunc(s.queue, func(q feed.Queued) bool { return !s.view.Turn(q.Turn).Prompt.Steer })
		if at < 0 {
			at = len(s.queue)
		}
	}
	if at == len(s.queue) {
		s.queue = append(s.queue, q)
		return
	}
	s.queue = slices.Concat(s.queue[:at], []feed.Queued{q}, s.queue[at:]) // into a new array: updates share the old one
}
