package transcript

import (
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// course follows the effort of one model through the log; the start of each turn holds its decision. If the vendor takes changes
// of effort within the conversation, the first effort stays where it was, and each change stands where it was made, in all later
// requests to that model. So the prefix has the same bytes each time. Turns of other models and turns without an effort change
// nothing, and neither does a restart.
type course struct {
	model session.ModelRef // zero: no changes are said
	first provider.Level   // empty: no turn with an effort so far
	now   provider.Level
	said  bool // a change was said

	never  session.ModelRef                    // the model if its vendor takes no changes; zero: it may
	others map[session.ModelRef]provider.Level // the last effort of each model that is neither of these
}

// Changes reports whether the effort of such calls can change within the conversation.
func Changes(m provider.Model, d provider.Decision) bool {
	return m.Thinking.InPlace && d.Control.Mode == provider.ModeEffort
}

func newCourse(m provider.Model, d provider.Decision) course {
	ref := session.ModelRef{Provider: m.Provider, ID: m.ID}
	switch {
	case Changes(m, d):
		return course{model: ref}
	case !m.Thinking.InPlace:
		return course{never: ref}
	}
	return course{} // changes were sent to it, if it was asked in another way before
}

// turn goes on to a turn, or to a section of it, and returns the effort to send in front of it, empty if it did not change. other reports
// that the effort changed of a model whose changes are not sent here: a message that carries the change may be in what it got.
func (c *course) turn(start *session.TurnStart) (effort provider.Level, other bool) {
	switch {
	case start == nil || start.Model == c.never:
		return "", false
	case start.Model == c.model:
		return c.to(start.Reasoning.Effective), false
	}
	now := start.Reasoning.Effective
	before, asked := c.others[start.Model]
	if now.Rank() <= provider.On.Rank() || now == before {
		return "", false
	}
	if c.others == nil {
		c.others = make(map[session.ModelRef]provider.Level)
	}
	c.others[start.Model] = now
	return "", asked
}

func (c *course) sections(t *session.Turn) {
	for _, part := range t.Sections() {
		c.turn(part.Start)
	}
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

// skip goes over turns that a summary replaces, and returns the effort to send in front of the summary, empty if it is the first.
func (c *course) skip(turns []*session.Turn, to Recipient) provider.Level {
	for _, t := range turns {
		if to.Spoken(t) {
			c.sections(t)
		}
	}
	if c.said = c.now != c.first; !c.said {
		return ""
	}
	return c.now
}

// Effort is what a call with this model and decision needs to know of earlier efforts: the first one, and whether a change is
// sent. Both are zero if the vendor takes no changes.
func (to Recipient) Effort(m provider.Model, d provider.Decision) (opening provider.Level, changed bool) {
	way, v := newCourse(m, d), to.View
	if way.model == (session.ModelRef{}) {
		return "", false
	}
	first := 0
	if v.Compaction() != nil {
		first, _ = v.Rest()
		way.skip(v.Turns[:first+1], to)
	}
	for _, t := range v.Turns[first:] {
		if to.Spoken(t) {
			way.sections(t)
		}
	}
	way.to(d.Control.Effort)
	return way.first, way.said
}
