package suspect

import (
	"slices"

	"github.com/thinkd/thinkd/agent/transcript"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/refusal"
	"github.com/thinkd/thinkd/session"
)

// Call is a call that was refused.
type Call struct {
	To      transcript.Recipient // the model
	Turn    *session.Turn        // the running turn
	Level   provider.Level       // in effect
	Address string               // of the provider; empty: not known
}

// Suspects is what may be the reason for a refusal.
type Suspects struct {
	Trials []session.LeftOut   // what to leave out, one after the other, until the provider accepts the request
	Own    []session.MessageID // what to leave out for good if no trial helps; empty: nothing
}

// Find returns what may be the reason for a refusal.
func Find(refused Call, pe *provider.Error) Suspects {
	since := refused.sinceAccepted()
	without := func(l session.LeftOut) session.LeftOut {
		l.Model, l.Why = refused.To.Model, pe.Error()
		return l
	}
	var found Suspects
	blamed := refusal.BlamesHistory(pe)
	again := len(since.refused) > 0 && Suspicious(pe)
	if !blamed && !again {
		return found
	}
	if len(since.rich) > 0 {
		found.Trials = append(found.Trials, without(session.LeftOut{Emptied: since.rich}))
	}
	if !since.within && again {
		found.Trials = append(found.Trials, without(session.LeftOut{Messages: since.refused}))
	}
	if !since.within && (again || since.known) && len(since.earlier) > len(since.refused) {
		found.Trials = append(found.Trials, without(session.LeftOut{Messages: since.earlier}))
	}
	if blamed && since.known {
		found.Own = since.own
	}
	return found
}

// added is what was added to the conversation since the provider accepted a request, of what the model is sent. What stands before
// that stays as it is: thinking that the provider signed is bound to it.
type added struct {
	known  bool // that request was of this model and level, to the same address
	within bool // in this turn

	earlier []session.MessageID // said before the running turn, and before those that it continues
	refused []session.MessageID // of these: in turns that a provider's error ended
	own     []session.MessageID // said in the running turn, or in one that it continues
	rich    []session.MessageID // of all: those with media, and where known those with results of tools
}

func (c Call) sinceAccepted() added {
	model := c.To.Model
	var since added
	first, from := c.To.View.Rest()
	work := append(c.To.View.Continued(c.Turn), c.Turn.ID)
	for i, t := range c.To.View.Turns[first:] {
		if !c.To.Spoken(t) {
			continue
		}
		list := t.Messages
		if i == 0 {
			list = list[min(from, len(list)):]
		}
		for _, m := range list {
			if by := t.By(m); m.Role == provider.Assistant && by.Model.Provider == model.Provider && wasAccepted(m) {
				like := by.Model == model && by.Reasoning.Effective == c.Level && by.Address == c.Address
				since = added{known: like, within: t == c.Turn}
			}
			if c.To.Share(m.ID) == session.NotSent || m.Role == provider.Assistant && m.End == nil {
				continue
			}
			if media, results := rich(m); media || results && since.known && c.To.Share(m.ID) == session.SentWhole {
				since.rich = append(since.rich, m.ID)
			}
			switch {
			case slices.Contains(work, t.ID):
				since.own = append(since.own, m.ID)
			case t.End != nil && t.End.Error != nil && wasRefused(*t.End.Error) && t.Now().Model == model:
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

// Suspicious reports whether a refusal that comes twice in a row may be due to earlier messages.
func Suspicious(pe *provider.Error) bool {
	return isRefusal(pe.Kind) || refusal.BlamesHistory(pe) || refusal.Unreadable(pe)
}

// wasRefused is Suspicious for a turn that ended.
func wasRefused(f session.Failure) bool {
	return Suspicious(&provider.Error{Kind: provider.Kind(f.Kind), Status: f.Status, Message: f.Message})
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
