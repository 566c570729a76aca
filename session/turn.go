package session

import (
	"iter"
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// Turn is a prompt with all that followed from it.
type Turn struct {
	ID       TurnID
	Prompt   Prompt
	Messages []*Message     // the user's and the model's, in order
	Usage    provider.Usage // of its finished calls, also of those that failed after the answer had begun
	Start    *TurnStart     // nil: it is queued, or was removed from the queue
	End      *TurnEnd       // nil: it is queued or runs
	Parked   *TurnParked    // nil: it is not parked. A parked turn counts as running
	Agreed   bool           // a person allowed what its prompt may cost: see LimitPrompt
	Into     TurnID         // the turn that took in its prompt, and has its message now; empty: none
	Took     []TurnID       // turns whose prompts this one took in

	// Released says that a summary replaces the turn, and that its content is only in the log: see View.Whole. Ids, roles, the
	// model, the level in effect and the stop reason are kept.
	Released bool

	// Unloaded says that the turn is queued, and that the content of its prompt is only in the log: see View.Unload.
	Unloaded bool

	Steps []Step // in order

	fell []fell // where it went on with another model

	said, began, ended place // of its prompt, Start and End
	cut                bool  // in a fork: the turn continues in the other session
}

// Queued reports whether the turn waits for its start.
func (t *Turn) Queued() bool { return t.Start == nil && t.End == nil && t.Into == "" }

// Running reports whether the turn has started and not ended.
func (t *Turn) Running() bool { return t.Start != nil && t.End == nil }

// Appended reports whether the turn is a message that was added without a model call. Models get it with the next call.
func (t *Turn) Appended() bool {
	return t.Prompt.Append && t.Start == nil && t.End != nil && t.End.StopReason == StopEndTurn
}

// fell is a FellBack, and the number of messages before it.
type fell struct {
	at        int
	start     *TurnStart
	continues bool
}

// Step is what happened between two messages of a turn: its model changed, or it was parked and is not any more. One of Switch and
// Parked is set.
type Step struct {
	At     int   // how many messages of the turn are before it
	Time   int64 // Unix milliseconds: of the change, or when the turn was not parked any more
	Switch *Switch
	Parked *TurnParked
	By     ResumedBy // what resumed the turn; empty: it ended
}

// Switch is a change of the model, or of its key.
type Switch struct {
	From, To  Link     // with the levels in effect
	Payer     *Payer   // of To; nil: not known
	Why       *Failure // why From could not be called; nil: the session returned to its first choice
	Continues bool     // the answer before goes on
}

// used is what a turn runs with, with the level in effect.
func (s *TurnStart) used() Link {
	return Link{Model: s.Model, Level: s.Reasoning.Effective, Key: s.Key}
}

// unpark ends what the turn waits for. If the turn was parked again because its reason was still there, that is one step.
func (t *Turn) unpark(time int64, by ResumedBy) {
	if t.Parked == nil {
		return
	}
	step := Step{At: len(t.Messages), Time: time, Parked: t.Parked, By: by}
	if n := len(t.Steps); n > 0 && t.Steps[n-1].At == step.At && t.Steps[n-1].Parked != nil && t.Steps[n-1].Parked.Since == step.Parked.Since {
		t.Steps = t.Steps[:n-1]
	}
	t.Steps, t.Parked = append(t.Steps, step), nil
}

// Section is the part of a turn that ran with one model and one key: the whole turn, if it never fell back.
type Section struct {
	*Turn
	Start     *TurnStart
	Messages  []*Message
	Continues bool // it goes on with the answer before it, which broke off
}

// Sections yields the parts of a turn, in order, with their indexes. A section may have no messages.
func (t *Turn) Sections() iter.Seq2[int, Section] {
	return func(yield func(int, Section) bool) {
		part := Section{Turn: t, Start: t.Start}
		from := 0
		for i, f := range t.fell {
			at := min(f.at, len(t.Messages)) // a copy of a turn may have fewer
			if part.Messages = t.Messages[from:at]; !yield(i, part) {
				return
			}
			part.Start, part.Continues, from = f.start, f.continues, at
		}
		part.Messages = t.Messages[from:]
		yield(len(t.fell), part)
	}
}

// Now is what the turn runs with, or ran with at its end; nil: it has not started. Start is what it began with.
func (t *Turn) Now() *TurnStart {
	if n := len(t.fell); n > 0 {
		return t.fell[n-1].start
	}
	return t.Start
}

// By is what a message of the turn was made with; nil: the turn has not started.
func (t *Turn) By(m *Message) *TurnStart {
	if len(t.fell) == 0 {
		return t.Start
	}
	at, by := slices.Index(t.Messages, m), t.Start
	for _, f := range t.fell {
		if at >= f.at {
			by = f.start
		}
	}
	return by
}

// Message finds a message, nil if there is none.
func (t *Turn) Message(id MessageID) *Message {
	for _, m := range slices.Backward(t.Messages) {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// open is the model's message with this id; it makes one, with the time, if there is none.
func (t *Turn) open(id MessageID, time int64) *Message {
	if m := t.Message(id); m != nil {
		return m
	}
	m := &Message{ID: id, Turn: t.ID, Role: provider.Assistant, Time: time}
	t.Messages = append(t.Messages, m)
	return m
}

// Results is the message that answers the calls of a reply, nil if nothing does yet.
func (t *Turn) Results(reply MessageID) *Message {
	for _, m := range slices.Backward(t.Messages) {
		if m.Answers == reply {
			return m
		}
	}
	return nil
}

// result puts a result into its message, which is made behind the reply that it answers.
func (t *Turn) result(e ToolEnd, time int64) *Message {
	m := t.Results(e.Reply)
	if m == nil {
		m = &Message{ID: e.Message, Turn: t.ID, Role: provider.User, Time: time, Answers: e.Reply}
		t.Messages = append(t.Messages, m)
	}
	at, _ := m.find(e.Number)
	m.insert(at, Part{e.Number, e.Result()})
	return m
}

// Finished reports whether nothing more comes for a message of the turn, which is not in the queue either.
func (t *Turn) Finished(m *Message) bool { return !t.Queued() && (t.End != nil || t.whole(m)) }

// whole reports whether nothing more comes for a message of a running turn.
func (t *Turn) whole(m *Message) bool {
	switch {
	case m.Answers != "":
		return len(m.Parts) == t.Message(m.Answers).calls
	case m.Role == "assistant":
		return m.End != nil
	}
	return true
}

// What a model gets for calls that have no result, since the daemon went down, or their turn ended.
const (
	cutOffResult = "interrupted: this call was begun, and its result is not known; it may have done part of its work or all of it"
	notRunResult = "interrupted: this call was not run"
)

// Unanswered makes the results of all calls of a turn that have none. A call that was begun is never run again, so its
// result says that nobody knows.
func (t *Turn) Unanswered() []ToolEnd {
	var ends []ToolEnd
	for _, m := range t.Messages {
		calls := m.Calls()
		if len(calls) == 0 || m.Role != provider.Assistant {
			continue
		}
		results := t.Results(m.ID)
		id := NewMessageID()
		if results != nil {
			id = results.ID
		}
		for i, call := range calls {
			if results != nil && results.has(i) {
				continue
			}
			text := notRunResult
			if slices.Contains(m.Begun, call.Number) {
				text = cutOffResult
			}
			ends = append(ends, ToolEnd{Message: id, Number: i, Reply: m.ID, CallID: call.ID, Failed: true,
				Content: provider.Blocks{provider.Text{Text: text}}})
		}
	}
	return ends
}
