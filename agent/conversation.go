package agent

import (
	"github.com/thinkd/thinkd/agent/tool"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// unanswered is what a model is told about a call that was never run to its end.
const unanswered = "interrupted: this call has no result"

// conversation is what goes to a model of what was said. It is a pure function of the log, so the messages of earlier
// turns are the same each time: some vendors bind signed thinking to everything before it (docs: preserved-thinking).
//
// Where the log has a compaction, its summary stands in the place of all that it is of, and no thinking that was said
// before it is sent: whatever a vendor wants to have back, it is as if another vendor had said it.
//
// Left out are prompts that were never started, refused turns, the message that is being written, and thinking that was
// cut off before it was sealed, and what the model's provider refused (see suspects). The results of a reply's calls stand directly behind it, in the order of the calls; a call
// without a result gets one. What else an API does not take, such as thinking at the end of an answer, its adapter leaves
// out. Changes of effort are said in front of the turns that made them.
func conversation(v *session.View, way course, parts share) []provider.Message {
	var messages []provider.Message
	first, from := v.Rest()
	if c := v.Compaction(); c != nil {
		messages = append(messages, provider.Message{Role: provider.User, Effort: way.skip(v.Turns[:first+1], parts),
			Blocks: provider.Blocks{provider.Text{Text: aboveSummary + c.Summary}}})
	}
	var apart apart
	for i, t := range v.Turns[first:] {
		if !parts.spoken(t) {
			apart.take(parts, t.Messages...)
			continue
		}
		effort := way.turn(*t.Start)
		list := t.Messages
		if i == 0 {
			list = list[min(from, len(list)):]
		}
		for _, m := range list {
			if m.Answers != "" {
				apart.take(parts, m)
				continue // with its reply
			}
			blocks := parts.sent(m.ID, sendable(m))
			plain := v.Precompacted(m) || m.Role == provider.Assistant && apart.from(t.Start.Model)
			apart.take(parts, m)
			if plain {
				blocks = withoutThinking(blocks)
			}
			if len(blocks) == 0 {
				continue
			}
			sent := provider.Message{Role: m.Role, Blocks: blocks, Effort: effort}
			effort = ""
			if m.End != nil && !plain {
				sent.State = m.End.State
			}
			messages = append(messages, sent)
			results := t.Results(m.ID)
			if blocks := answers(m, results, blocks); len(blocks) > 0 {
				if results != nil {
					blocks = parts.sent(results.ID, blocks)
				}
				messages = append(messages, provider.Message{Role: provider.User, Blocks: blocks})
			}
		}
	}
	return messages
}

// spoken reports whether a turn is a part of the conversation.
func spoken(t *session.Turn) bool {
	return t.Start != nil && (t.End == nil || t.End.StopReason != session.StopRefusal)
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

// sendable is what of a message may go to a model.
func sendable(m *session.Message) provider.Blocks {
	if m.Role == provider.Assistant && m.End == nil {
		return nil
	}
	var blocks provider.Blocks
	for _, p := range m.Parts {
		if m.End != nil && m.End.Incomplete != "" && cutOff(p.Block) {
			continue
		}
		blocks = append(blocks, p.Block)
	}
	return blocks
}

// cutOff reports whether a block of an incomplete message was not finished.
func cutOff(b provider.Block) bool {
	switch b := b.(type) {
	case provider.Thinking:
		return b.State.IsZero()
	case provider.ToolCall:
		return b.Invalid != ""
	}
	return false
}

// answers is a result for each call of a message that is sent, in order.
func answers(m, results *session.Message, sent provider.Blocks) provider.Blocks {
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
			result = tool.Failed(call.ID, unanswered)
		}
		list = append(list, result)
	}
	return list
}
