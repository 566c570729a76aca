package transcript

import (
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// GoOn is the user's message in front of a turn that continues an answer, where the answer is not the beginning of the new one.
// Where nothing else would carry it, it also carries a change of effort, and is then sent to the model of that effort alone.
const GoOn = "Your answer above was cut off before its end. Continue it from exactly where it stops. Do not repeat what you have " +
	"already said, and do not run tools again whose results you have."

// Proceed is the user's message that carries a change of effort where a turn falls back to a model that was asked with another one
// before.
const Proceed = "Go on with the task."

// Continue decides for each block whether it is sent, and how, if a call with req continues the turn. req needs the model, the decision
// and the repairs. api says which thinking goes back; nil: none does. ok is false if nothing of the turn is left to continue: a summary
// has replaced it, or the provider refused its prompt, which is therefore not sent again.
func (to Recipient) Continue(t *session.Turn, api provider.Returner, req *provider.Request) (c *session.Continuation, ok bool) {
	v := to.View
	first, from := v.Rest()
	if at := slices.Index(v.Turns, t); at < first || at == first && from > 0 && from >= len(t.Messages) || !to.Spoken(t) ||
		!to.isSent(t, v.Turns[first:]) {
		return nil, false
	}
	c = &session.Continuation{Turn: t.ID, Parts: []session.ContinuedPart{}}
	for i, m := range t.Messages {
		if m.Role == provider.User && m.Answers == "" {
			continue // a prompt
		}
		actions := to.continued(t, m, i == len(t.Messages)-1, api, req)
		for j, p := range m.Parts {
			c.Parts = append(c.Parts, session.ContinuedPart{Message: m.ID, Block: p.Number, Type: provider.KindOf(p.Block), Action: actions[j]})
		}
	}
	return c, true
}

// isSent reports whether a call sends anything of a turn, or of those that it continues, so that the model knows what to go on with.
func (to Recipient) isSent(t *session.Turn, rest []*session.Turn) bool {
	for _, id := range append(to.View.Continued(t), t.ID) {
		turn := to.View.Turn(id)
		if slices.Contains(rest, turn) && slices.ContainsFunc(turn.Messages, func(m *session.Message) bool {
			return provider.Said(to.sent(m.ID, sendable(m))) > 0
		}) {
			return true
		}
	}
	return false
}

// continued decides for one message.
func (to Recipient) continued(t *session.Turn, m *session.Message, last bool, api provider.Returner, req *provider.Request) []provider.ContinueAction {
	share := to.Share(m.ID)
	calls := len(m.Calls()) > 0
	u := provider.Unfinished{Last: last && m.Role == provider.Assistant && !calls, Rethinks: mayThink(req)}
	for _, p := range m.Parts {
		u.Blocks = append(u.Blocks, p.Block)
	}
	var late provider.State
	if m.End != nil {
		u.Cut, late = m.End.Incomplete != "", m.End.State
	}
	plain := to.View.Rebound(m)
	u.Returns = func(b provider.Thinking) bool { return !plain && api != nil && api.Returns(req, b, late, calls) }
	model := req.Model
	if share != session.SentWhole {
		model.Prefill = provider.PrefillNever
	}
	actions := provider.Continue(model, u)
	for i, p := range m.Parts {
		thought := false
		switch p.Block.(type) {
		case provider.Thinking, provider.Opaque:
			thought = true
		}
		if share == session.NotSent || plain && thought && actions[i] == provider.ContinueKept {
			actions[i] = provider.ContinueDropped
		}
	}
	return actions
}

// mayThink reports whether a model may think in a call: it is asked to, or nobody asks it not to.
func mayThink(req *provider.Request) bool {
	c := req.Decision.Control
	return c.Thinking() || c.Mode == provider.ModeOmit && (!req.Model.Known || req.Model.Thinking.OnByDefault())
}

// cutAnswer is the answer that the model goes on from, nil if messages end with something else, such as results of tools.
func cutAnswer(said []*session.Message) *session.Message {
	if len(said) == 0 {
		return nil
	}
	if m := said[len(said)-1]; m.Role == provider.Assistant && len(m.Calls()) == 0 {
		return m
	}
	return nil
}

// continuedAnswers are the answers that a later turn goes on from, or a later section of the same turn. Only what they said up to
// their last word is sent: the call that continues was made with that, and later calls have the same prefix.
func (to Recipient) continuedAnswers() map[session.MessageID]bool {
	var all map[session.MessageID]bool
	add := func(said []*session.Message) {
		if m := cutAnswer(said); m != nil {
			if all == nil {
				all = make(map[session.MessageID]bool)
			}
			all[m.ID] = true
		}
	}
	for _, t := range to.View.Turns {
		if t.Prompt.Continues != nil && t.Start != nil {
			if before := to.View.Turn(t.Prompt.Continues.Turn); before != nil {
				add(before.Messages)
			}
		}
		said := 0
		for _, part := range t.Sections() {
			if part.Continues {
				add(t.Messages[:said])
			}
			said += len(part.Messages)
		}
	}
	return all
}

// join adds an answer to the one that it continues: their texts are one.
func join(before, more provider.Blocks) provider.Blocks {
	n := len(before)
	joined := slices.Clone(before)
	if n > 0 && len(more) > 0 {
		first, ok := before[n-1].(provider.Text)
		second, too := more[0].(provider.Text)
		if ok && too {
			text := provider.Text{Text: first.Text + second.Text, Sources: slices.Clone(first.Sources)}
			for _, c := range second.Sources {
				if c.End > 0 {
					c.Start, c.End = c.Start+len(first.Text), c.End+len(first.Text)
				}
				text.Sources = append(text.Sources, c)
			}
			return append(append(joined[:n-1], text), more[1:]...)
		}
	}
	return append(joined, more...)
}
