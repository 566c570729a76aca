package transcript

import (
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// AboveSummary precedes a summary that is sent to a model.
const AboveSummary = "The earlier part of this conversation was left out to save room. This is a summary of it:\n\n"

// abovePinned is the user's message in front of pinned messages, which a summary follows. belowPinned stands between two pinned
// answers, because some vendors refuse two answers in a row.
const (
	abovePinned = "The earlier part of this conversation was left out to save room, except the following messages, which are kept word for word. A summary of the rest follows them."
	belowPinned = "[Messages were left out here.]"
)

// Pinned are the pinned messages up to one that a summary is about to replace, as models are sent them in front of it. whole is
// [session.View.Whole]; its errors are returned.
//
// A pinned reply keeps the results of its calls, and pinned results keep the reply: no vendor takes one without the other. A call
// without a result gets one. Thinking is never kept: vendors bind it to everything in front of it.
func (to Recipient) Pinned(upto session.MessageID, whole func(*session.Turn) (*session.Turn, error)) (list []session.Pinned, err error) {
	pinned := to.View.Session.Pinned
	if len(pinned) == 0 {
		return nil, nil
	}
	for _, t := range to.View.Turns {
		has := slices.ContainsFunc(t.Messages, func(m *session.Message) bool { return slices.Contains(pinned, m.ID) })
		last := slices.ContainsFunc(t.Messages, func(m *session.Message) bool { return m.ID == upto })
		if has && spoken(t) {
			if t, err = whole(t); err != nil {
				return nil, err
			}
			list = append(list, to.pinnedOf(t, upto)...)
		}
		if last {
			break
		}
	}
	return list, nil
}

// pinnedOf is what is pinned of one turn, up to a message.
func (to Recipient) pinnedOf(t *session.Turn, upto session.MessageID) (list []session.Pinned) {
	for _, m := range t.Messages {
		if m.Answers == "" && to.View.IsPinned(t, m) {
			results := t.Results(m.ID)
			p := session.Pinned{Message: m.ID, Role: m.Role, Content: WithoutThinking(sendable(m))}
			if p.Results = to.answers(m, results, p.Content); results != nil && len(p.Results) > 0 {
				p.Answer = results.ID
			}
			if len(p.Content) > 0 {
				list = append(list, p)
			}
		}
		if m.ID == upto {
			break
		}
	}
	return list
}

// summarised is what stands in place of the messages that a summary replaces: the pinned ones, and the summary. It begins and ends
// with a message of the user's, so that no vendor takes a pinned call for one that the model still works on, for which it would
// want the thinking back.
func (to Recipient) summarised(c *session.Compaction, effort provider.Level) []provider.Message {
	said := func(text string) provider.Message {
		return provider.Message{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: text}}}
	}
	var messages []provider.Message
	for _, p := range c.Pinned {
		blocks := to.sent(p.Message, p.Content)
		if len(blocks) == 0 {
			continue // the provider refused it
		}
		if messages == nil {
			messages = append(messages, said(abovePinned))
		} else if p.Role == provider.Assistant && messages[len(messages)-1].Role == provider.Assistant {
			messages = append(messages, said(belowPinned))
		}
		messages = append(messages, provider.Message{Role: p.Role, Blocks: blocks})
		if len(p.Results) > 0 {
			messages = append(messages, provider.Message{Role: provider.User, Blocks: to.sent(p.Answer, p.Results)})
		}
	}
	messages = append(messages, said(AboveSummary+c.Summary))
	messages[0].Effort = effort
	return messages
}
