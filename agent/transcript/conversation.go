package transcript

import (
	"cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// unanswered is the result of a call that never ran to its end.
const unanswered = "interrupted: this call has no result"

// Messages is the conversation as the model gets it in a call with this decision.
//
// The summary of a compaction replaces the messages that it stands for. No thinking from before it is sent: the vendor would
// want the bytes around it back.
//
// Prompts that were never started, refused turns, the message that is being written, thinking that was cut off before it was
// sealed, and what the model's provider refused are left out. The results of a reply's calls follow the reply directly, in the
// order of the calls; a call without a result gets one. A turn that continues another one goes on from its last answer: either the two
// answers are one message, or a message of the user's asks for the rest. A change of effort precedes the turn that made it. The adapter leaves out
// what else its API does not take, such as thinking at the end of an answer.
func (to Recipient) Messages(model provider.Model, d provider.Decision) []provider.Message {
	v, way := to.View, newCourse(model, d)
	var messages []provider.Message
	first, from := v.Rest()
	if c := v.Compaction(); c != nil {
		messages = append(messages, provider.Message{Role: provider.User, Effort: way.skip(v.Turns[:first+1], to),
			Blocks: provider.Blocks{provider.Text{Text: AboveSummary + c.Summary}}})
	}
	var others diverged
	cut := to.continuedAnswers()
	for i, t := range v.Turns[first:] {
		if !to.Spoken(t) {
			others.take(to, t.Messages...)
			continue
		}
		effort := way.turn(t)
		list := t.Messages
		if i == 0 {
			list = list[min(from, len(list)):]
		}
		_, joins := t.Prompt.Continues.Joins()
		answered := len(messages) > 0 && messages[len(messages)-1].Role == provider.Assistant
		if joins = joins && answered; t.Prompt.Continues != nil && !joins && (answered || effort != "") {
			messages = append(messages, provider.Message{Role: provider.User, Effort: effort, Blocks: provider.Blocks{provider.Text{Text: goOn}}})
			effort = ""
		}
		for _, m := range list {
			if m.Answers != "" {
				others.take(to, m)
				continue // with its reply
			}
			blocks := to.sent(m.ID, sendable(m))
			plain := v.Precompacted(m) || m.Role == provider.Assistant && others.from(t.Start.Model)
			others.take(to, m)
			if plain {
				blocks = withoutThinking(blocks)
			}
			if cut[m.ID] {
				blocks = blocks[:provider.Said(blocks)]
			}
			if len(blocks) == 0 {
				continue
			}
			if joins && m.Role == provider.Assistant {
				last := &messages[len(messages)-1]
				blocks, messages = join(last.Blocks, blocks), messages[:len(messages)-1]
			}
			joins = false
			sent := provider.Message{Role: m.Role, Blocks: blocks, Effort: effort}
			effort = ""
			if m.End != nil && !plain {
				sent.State = m.End.State
			}
			messages = append(messages, sent)
			results := t.Results(m.ID)
			if blocks := to.answers(m, results, blocks); len(blocks) > 0 {
				if results != nil {
					blocks = to.sent(results.ID, blocks)
				}
				messages = append(messages, provider.Message{Role: provider.User, Blocks: blocks})
			}
		}
	}
	return messages
}

// withoutThinking is what is left of blocks without thinking, and without what vendors sign.
func withoutThinking(blocks provider.Blocks) (plain provider.Blocks) {
	for _, b := range blocks {
		switch b.(type) {
		case provider.Thinking, provider.Opaque:
		default:
			plain = append(plain, provider.WithoutState(b))
		}
	}
	return plain
}

// answers is a result for each call of a message that is sent, in order.
func (to Recipient) answers(m, results *session.Message, sent provider.Blocks) provider.Blocks {
	var list provider.Blocks
	ids := make(map[string]bool)
	for _, b := range sent {
		if c, ok := b.(provider.ToolCall); ok {
			ids[c.ID] = true
		}
	}
	for i, call := range m.Calls() {
		if !ids[call.ID] {
			continue
		}
		result := results.Answer(i)
		if result == nil {
			result = tool.Failed(call.ID, cmp.Or(to.Pending, unanswered))
		}
		list = append(list, result)
	}
	return list
}
