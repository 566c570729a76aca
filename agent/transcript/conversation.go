package transcript

import (
	"github.com/thinkd/thinkd/provider"
)

// Messages is the conversation as the model gets it in a call with this decision.
//
// The summary of a compaction replaces the messages that it stands for, except the pinned ones. No thinking from before it is sent:
// the vendor would want the bytes around it back. The same holds for thinking from behind a summary that was undone.
//
// Prompts that were never started, refused turns, the message that is being written, thinking that was cut off before it was
// sealed, and what the model's provider refused are left out. The results of a reply's calls follow the reply directly, in the
// order of the calls; a call without a result gets one. A turn that continues another one goes on from its last answer: either the two
// answers are one message, or a message of the user's asks for the rest. So does a turn that falls back after its answer broke off.
// A change of effort precedes the turn that made it. The adapter leaves out what else its API does not take, such as thinking at
// the end of an answer.
func (to Recipient) Messages(model provider.Model, d provider.Decision) []provider.Message {
	v, way := to.View, newCourse(model, d)
	first, from := v.Rest()
	messages := make([]provider.Message, 0, 2*(len(v.Turns)-first)) // most turns have a prompt and an answer
	if c := v.Compaction(); c != nil {
		messages = to.summarised(c, way.skip(v.Turns[:first+1], to))
	}
	var others diverged
	cut := to.continuedAnswers()
	for i, t := range v.Turns[first:] {
		if !to.Spoken(t) {
			others.take(to, t.Messages...)
			continue
		}
		skip := 0
		if i == 0 {
			skip = from
		}
		for n, part := range t.Sections() {
			effort, other := way.turn(part.Start)
			list := part.Messages[min(skip, len(part.Messages)):]
			skip -= len(part.Messages) - len(list)
			_, joins := t.Prompt.Continues.Joins()
			goesOn := t.Prompt.Continues != nil
			if n > 0 {
				joins, goesOn = false, part.Continues
			}
			answered := len(messages) > 0 && messages[len(messages)-1].Role == provider.Assistant
			joins = joins && answered
			switch {
			case goesOn && !joins && (answered || effort != ""):
				if !answered {
					others.alone = part.Start.Model
				}
				messages = append(messages, provider.Message{Role: provider.User, Effort: effort, Blocks: provider.Blocks{provider.Text{Text: GoOn}}})
				effort = ""
			case n > 0 && effort != "": // nothing may stand between calls and their results
				others.alone = part.Start.Model
				messages = append(messages, provider.Message{Role: provider.User, Effort: effort, Blocks: provider.Blocks{provider.Text{Text: Proceed}}})
				effort = ""
			case other && !joins && (goesOn || n > 0):
				others.add(part.Start.Model)
			}
			for _, m := range list {
				if m.Answers != "" {
					others.take(to, m)
					continue // with its reply
				}
				blocks := to.sent(m.ID, sendable(m))
				plain := v.Rebound(m) || m.Role == provider.Assistant && others.from(part.Start.Model)
				others.take(to, m)
				if plain {
					blocks = WithoutThinking(blocks)
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
	}
	return messages
}
