package agent

import (
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/agent/transcript"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/refusal"
	"github.com/thinkd/thinkd/session"
)

// A provider may refuse a request because of something that was said: an image that it cannot read, a result that its
// filter blocks, a block of another model. The history goes with every request, so without help every later turn fails as
// well. This is the net below the repairs: it needs no understanding of the refusal.
//
//	accepted request | reply  result  prompt        <- refused
//	                 |<----- the suspects ----->|
//
// The suspects are whatever was added since the last request that the provider accepted, if that was of the same model and
// level, to the same address: another host may refuse what this one took. Within the turn the call is made again without some of them, each time without others: first with a sentence in place of media and
// results, then without what stands before the turn's own prompt. What helps is kept in the log as a LeftOut, at the
// first sign that the provider accepted the request. If nothing helps, the turn ends with the provider's words, and its own part of
// the suspects is left out of later requests to this model.
//
// A refusal that names the model, the endpoint, the account or a parameter is not the history's fault, and neither is one
// without an accepted request before it: nothing is left out for it. But where the turn before was refused as well and nothing was
// accepted since, the turn tries once without that one, whatever the reason in the request is said to be: a session must not
// get stuck. What helps there is proof enough.

// suspects is what may be the reason for a refusal.
type suspects struct {
	trials []session.LeftOut   // what is still to be tried, in order
	own    []session.MessageID // left out for good if no trial helps; empty: nothing is
}

// tryWithout makes a refused call again without some of the suspects; false if there is nothing left to try.
func (s *state) tryWithout(pe *provider.Error) bool {
	r := s.run
	if r.suspects == nil {
		r.suspects = new(s.suspectsOf(pe))
	}
	if r.trial = nil; len(r.suspects.trials) == 0 || r.again >= maxRetries || !suspicious(pe) {
		return false
	}
	facts, void := s.discard()
	r.trial, r.suspects.trials = &r.suspects.trials[0], r.suspects.trials[1:]
	if s.record(append(facts, r.retryFact(0, pe, void))...) == nil {
		s.callAgain()
	}
	return true
}

// suspicious reports whether a refusal that comes twice in a row may be due to what was said before.
func suspicious(pe *provider.Error) bool {
	return isRefusal(pe.Kind) || refusal.BlamesHistory(pe) || refusal.Unreadable(pe)
}

// wasRefused is suspicious for a turn that ended.
func wasRefused(f session.Failure) bool {
	return suspicious(&provider.Error{Kind: provider.Kind(f.Kind), Status: f.Status, Message: f.Message})
}

// isRefusal reports whether an error of this kind refuses a request, rather than tells that the provider serves none now: a
// limit on the rate, a quota, a key that is not taken. These end by themselves, so that a trial which goes well would prove
// nothing.
func isRefusal(kind provider.Kind) bool {
	switch kind {
	case provider.KindBadRequest, provider.KindRefused, provider.KindTooLong:
		return true
	}
	return false
}

// accepted takes note that the provider has begun to answer the running call: what was left out on trial is left out from
// now on. It is false if that could not be stored, which ends the agent.
func (s *state) accepted() bool {
	r := s.run
	r.answered = true
	if r.trial == nil {
		return true
	}
	kept := *r.trial
	r.trial = nil
	return s.record(leaveOut(r.ID, kept)) == nil
}

// unsend is what is left out of later requests since a turn ends with a refusal that nothing helped against.
func (s *state) unsend(pe *provider.Error) []fact {
	r := s.run
	if r.suspects == nil || len(r.suspects.own) == 0 || !refusal.BlamesHistory(pe) {
		return nil
	}
	return []fact{leaveOut(r.ID, session.LeftOut{Model: r.ref(), Messages: r.suspects.own, Why: pe.Error()})}
}

func leaveOut(turn session.TurnID, l session.LeftOut) fact {
	text := fmt.Sprintf("%d messages are not sent to %s any more", len(l.Messages), l.Model)
	switch {
	case len(l.Messages) == 0:
		text = fmt.Sprintf("media and results of tools in %d messages are not sent to %s any more, but a sentence in their place", len(l.Emptied), l.Model)
	case len(l.Messages) == 1:
		text = fmt.Sprintf("1 message is not sent to %s any more", l.Model)
	}
	return fact{turn, l, warn(noticeLeftOut, text+", because its provider refused the request: "+l.Why)}
}

// suspectsOf is what may be the reason for a refusal of the running call.
func (s *state) suspectsOf(pe *provider.Error) suspects {
	r := s.run
	since := s.sinceAccepted()
	without := func(l session.LeftOut) session.LeftOut {
		l.Model, l.Why = r.ref(), pe.Error()
		return l
	}
	var found suspects
	blamed := refusal.BlamesHistory(pe)
	again := len(since.refused) > 0 && suspicious(pe)
	if !blamed && !again {
		return found
	}
	if len(since.rich) > 0 {
		found.trials = append(found.trials, without(session.LeftOut{Emptied: since.rich}))
	}
	if !since.within && again {
		found.trials = append(found.trials, without(session.LeftOut{Messages: since.refused}))
	}
	if !since.within && (again || since.known) && len(since.earlier) > len(since.refused) {
		found.trials = append(found.trials, without(session.LeftOut{Messages: since.earlier}))
	}
	if blamed && since.known {
		found.own = since.own
	}
	return found
}

// added is what was added to the conversation since the provider accepted a request, of what the model is sent. What stands before
// that stays as it is: thinking that the provider signed is bound to it.
type added struct {
	known  bool // that request was of this model and level, to the same address
	within bool // in this turn

	earlier []session.MessageID // said before the running turn
	refused []session.MessageID // of these: in turns that a provider's error ended
	own     []session.MessageID // said in the running turn
	rich    []session.MessageID // of all: those with media, and where known those with results of tools
}

func (s *state) sinceAccepted() added {
	r := s.run
	parts := s.share(r.ref())
	var since added
	first, from := s.view.Rest()
	for i, t := range s.view.Turns[first:] {
		if !parts.Spoken(t) {
			continue
		}
		list := t.Messages
		if i == 0 {
			list = list[min(from, len(list)):]
		}
		like := t.Start.Model == r.ref() && t.Start.Reasoning.Effective == r.decision.Effective && t.Start.Address == r.address
		for _, m := range list {
			if m.Role == provider.Assistant && t.Start.Model.Provider == r.model.Provider && wasAccepted(m) {
				since = added{known: like, within: t == r.Turn}
			}
			if parts.Share(m.ID) == session.NotSent || m.Role == provider.Assistant && m.End == nil {
				continue
			}
			if media, results := rich(m); media || results && since.known && parts.Share(m.ID) == session.SentWhole {
				since.rich = append(since.rich, m.ID)
			}
			switch {
			case t == r.Turn:
				since.own = append(since.own, m.ID)
			case t.End != nil && t.End.Error != nil && wasRefused(*t.End.Error) && t.Start.Model == r.ref():
				since.refused = append(since.refused, m.ID)
				fallthrough
			default:
				since.earlier = append(since.earlier, m.ID)
			}
		}
	}
	return since
}

// wasAccepted reports whether the request that a reply answers was accepted.
func wasAccepted(m *session.Message) bool {
	return m.End != nil && (len(m.Parts) > 0 || m.End.Usage.Input > 0)
}

// rich reports whether a message has media and whether it has results of tools.
func rich(m *session.Message) (media, results bool) {
	for _, p := range m.Parts {
		switch b := p.Block.(type) {
		case provider.Media:
			media = true
		case provider.ToolResult:
			results = true
			media = media || slices.ContainsFunc(b.Blocks, func(b provider.Block) bool { return provider.KindOf(b) == provider.KindMedia })
		}
	}
	return media, results
}

// share is what a model is sent of the conversation.
func (s *state) share(model session.ModelRef) transcript.Recipient {
	p := transcript.Recipient{View: s.view, Model: model}
	if s.run != nil {
		p.Trial = s.run.trial
	}
	return p
}
