package agent

import (
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/session"
)

// DefaultsChanged tells the clients of a provider's open sessions what is in force now, since the provider's defaults
// have changed. It returns at once.
func (g *Group) DefaultsChanged(providerID string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	for _, l := range g.agents {
		g.loads.Go(func() { // ends with the group's context at the latest; Close waits
			select {
			case <-l.ready:
			case <-g.ctx.Done():
				return
			}
			if l.err != nil {
				return
			}
			_, _ = ask(g.ctx, l.agent, func(s *state) (struct{}, error) { // an agent that has ended has nobody to tell
				s.retell(providerID)
				return struct{}{}, nil
			})
		})
	}
}

// retell says what the next turn would get. Where that would be refused, the turn says so.
func (s *state) retell(providerID string) {
	set := s.view.Session.Settings
	if set.Model.Provider != providerID || !s.feed.Subscribed() {
		return
	}
	next, err := s.decide(set, session.Override{})
	if err != nil {
		return
	}
	model := next.shown()
	s.tell("", feed.SessionUpdate{Model: &model, Level: model.Level, Preferred: set.Level})
}
