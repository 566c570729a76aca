package transcript

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// Recipient is a model, as one to which a conversation is sent. It belongs to the goroutine of the View.
type Recipient struct {
	View  *session.View
	Model session.ModelRef
	Trial *session.LeftOut // left out on trial by the running call; nil: nothing

	// Pending is the result of a call that has none, if it may still get one; empty: it never will.
	Pending string
}

// Share is how much of a message goes to the model.
func (to Recipient) Share(id session.MessageID) session.Share {
	part := to.View.Share(to.Model, id)
	if to.Trial != nil {
		part = max(part, to.Trial.Share(to.Model, id))
	}
	return part
}

// limited reports whether anything is left out at all, which is rare.
func (to Recipient) limited() bool {
	return to.Trial != nil || to.View != nil && len(to.View.LeftOut) > 0
}

// Spoken reports whether something of a turn is a part of the conversation with the model.
func (to Recipient) Spoken(t *session.Turn) bool {
	if !spoken(t) || !to.limited() {
		return spoken(t)
	}
	return len(t.Messages) == 0 || slices.ContainsFunc(t.Messages, func(m *session.Message) bool { return to.Share(m.ID) != session.NotSent })
}

// spoken reports whether a turn is a part of the conversation.
func spoken(t *session.Turn) bool {
	return t.Appended() || t.Start != nil && (t.End == nil || t.End.StopReason != session.StopRefusal)
}

// diverged is the models that got something else of the messages so far than the recipient. Thinking that a provider signed
// after that is bound to what it got, so it goes to no model that gets something else.
type diverged struct {
	whole  bool                      // models that get all messages are among them
	models map[session.ModelRef]bool // others among them: those that do not get all, and those that got a message more
	limits map[session.ModelRef]bool // all of these, and the one that is asked
	alone  session.ModelRef          // got a message that no other model got, see GoOn and Proceed; zero: none did
}

func (a *diverged) add(model session.ModelRef) {
	if a.models == nil {
		a.models = make(map[session.ModelRef]bool)
	}
	a.models[model] = true
}

// take notes which models got which part of these messages.
func (a *diverged) take(to Recipient, messages ...*session.Message) {
	if !to.limited() {
		return
	}
	for _, m := range messages {
		mine := to.Share(m.ID)
		a.whole = a.whole || mine != session.SentWhole
		for _, l := range to.View.LeftOut {
			if l.Model != to.Model && to.View.Share(l.Model, m.ID) != mine {
				a.add(l.Model)
			}
		}
		if a.limits == nil {
			a.limits = make(map[session.ModelRef]bool)
			for _, l := range to.View.LeftOut {
				a.limits[l.Model] = true
			}
			a.limits[to.Model] = true // what it got is what it gets
		}
	}
}

// from reports whether a model got something else.
func (a *diverged) from(model session.ModelRef) bool {
	return a.models[model] || a.whole && !a.limits[model] || a.alone != (session.ModelRef{}) && a.alone != model
}

// Sentences in place of what a provider refused.
const (
	refusedMedia  = "[%s was left out: the provider refused it]"
	refusedResult = "[the result was left out: the provider refused it]"
)

// sent is what of a message's blocks goes to the model. Results of calls that are sent always go, as a sentence at least.
func (to Recipient) sent(id session.MessageID, blocks provider.Blocks) provider.Blocks {
	if !to.limited() {
		return blocks
	}
	part := to.Share(id)
	if part == session.SentWhole {
		return blocks
	}
	var list provider.Blocks
	for _, b := range blocks {
		switch b := b.(type) {
		case provider.ToolResult:
			b.Blocks = provider.Blocks{provider.Text{Text: refusedResult}}
			list = append(list, b)
		case provider.Media:
			if part == session.SentEmptied {
				list = append(list, provider.Text{Text: fmt.Sprintf(refusedMedia, b.Type)})
			}
		default:
			if part == session.SentEmptied {
				list = append(list, b)
			}
		}
	}
	return list
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

// unanswered is the result of a call that never ran to its end.
const unanswered = "interrupted: this call has no result"

// WithoutThinking is what is left of blocks without thinking, and without what vendors sign.
func WithoutThinking(blocks provider.Blocks) (plain provider.Blocks) {
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
