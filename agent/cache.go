package agent

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// course is how the effort went on one model, as the log tells it: each turn's start holds its decision. Where the
// vendor takes a change of effort inside of the conversation, the first effort stays in its place and the changes are
// said where they were made, on all later requests to that model. So a prefix is spelt the same each time, whatever
// came between: other models, turns without an effort, a restart. Turns of those count for nothing here.
type course struct {
	model session.ModelRef // zero: no changes are said
	first provider.Level   // empty: no turn with an effort so far
	now   provider.Level
	said  bool // a change was said
}

// newCourse is for a call with c: none where its model or its decision has no effort that could change in place.
func newCourse(c choice) course {
	if !c.model.Thinking.InPlace || c.decision.Control.Mode != provider.ModeEffort {
		return course{}
	}
	return course{model: c.ref()}
}

// turn goes on to a turn and returns the effort to say in front of it, empty where it is as before.
func (c *course) turn(start session.TurnStart) provider.Level {
	if c.model == (session.ModelRef{}) || start.Model != c.model {
		return ""
	}
	return c.to(start.Reasoning.Effective)
}

func (c *course) to(effort provider.Level) provider.Level {
	switch {
	case effort.Rank() <= provider.On.Rank() || effort == c.now:
		return ""
	case c.now == "":
		c.first, c.now = effort, effort
		return ""
	}
	c.now, c.said = effort, true
	return effort
}

// skip goes over turns that a summary stands for, and returns the effort to say in front of that, empty where it is the first.
func (c *course) skip(turns []*session.Turn, parts share) provider.Level {
	for _, t := range turns {
		if parts.spoken(t) {
			c.turn(*t.Start)
		}
	}
	if c.said = c.now != c.first; !c.said {
		return ""
	}
	return c.now
}

// upTo is how it went in all that was said, up to a call with c.
func upTo(v *session.View, c choice, parts share) course {
	way := newCourse(c)
	if way.model == (session.ModelRef{}) {
		return way
	}
	first := 0
	if v.Compaction() != nil {
		first, _ = v.Rest()
		way.skip(v.Turns[:first+1], parts)
	}
	for _, t := range v.Turns[first:] {
		if parts.spoken(t) {
			way.turn(*t.Start)
		}
	}
	way.to(c.decision.Control.Effort)
	return way
}

// cached compares a call with c with that of the turn before it that a model answered, nil if there is none.
func (s *state) cached(before *session.Turn, c choice) feed.Cache {
	if before == nil || c.provider == nil {
		return feed.Cache{}
	}
	was, now := before.Start.Reasoning, c.decision
	if before.Start.Model != c.ref() {
		return feed.Cache{State: provider.CacheLost, Why: fmt.Sprintf("the model changed from %s to %s: its prompt cache begins anew", before.Start.Model, c.ref())}
	}
	if s.view.Precompacted(before.Messages[len(before.Messages)-1]) {
		return feed.Cache{State: provider.CacheLost, Why: "earlier messages were summarised: the prompt cache begins anew"}
	}
	state, why := provider.CacheKept, ""
	if !bytes.Equal(was.Wire, now.Wire) {
		state, why = provider.CacheOf(c.provider, was.Wire, s.asked(c))
	}
	if state == provider.CacheKept || was.Effective == now.Effective {
		return feed.Cache{State: state, Why: why}
	}
	verdict := "begins anew"
	if state == provider.CacheUnknown {
		verdict = "may begin anew"
	}
	return feed.Cache{State: state, Why: fmt.Sprintf("the thinking level changed from %s to %s: the prompt cache %s; %s", was.Effective, now.Effective, verdict, why)}
}

// answered is the newest turn but one that a model answered, nil if there is none.
func (s *state) answered(but *session.Turn) *session.Turn {
	for _, t := range slices.Backward(s.view.Turns) {
		if t == but || t.Start == nil {
			continue
		}
		for _, m := range t.Messages {
			if m.Role == provider.Assistant && m.End != nil && m.End.Usage.Input > 0 {
				return t
			}
		}
	}
	return nil
}

// asked is what the decision on thinking depends on of a call with c.
func (s *state) asked(c choice) *provider.Request {
	way := upTo(s.view, c, s.share(c.ref()))
	return &provider.Request{Model: c.model, Decision: c.decision, CacheTime: s.view.Session.Settings.Cache, Repairs: repairs(s.view), Opening: way.first, Changed: way.said}
}

func repairs(v *session.View) []provider.Repair {
	var list []provider.Repair
	for _, r := range v.Repairs {
		list = append(list, r.Repair)
	}
	return list
}
