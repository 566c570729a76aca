package session

import (
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// Turn is a prompt and what came of it.
type Turn struct {
	ID       TurnID
	Prompt   Prompt
	Messages []*Message     // the user's and the model's, in order
	Usage    provider.Usage // of its calls that are over, those that failed after they had begun to answer too
	Start    *TurnStart     // nil: it is queued, or was taken out of the queue
	End      *TurnEnd       // nil: it is queued or runs
	Into     TurnID         // the turn that took its prompt in, which has its message now; empty: none did
	Took     []TurnID       // turns whose prompts this one took in

	// Released says that a summary stands for the turn, and what it holds is in the log alone: see View.Whole. Ids, roles,
	// the model, the level in force and the stop reason are there.
	Released bool

	// Unloaded says that the turn waits, and what its prompt says is in the log alone: see View.Unload.
	Unloaded bool

	said, began, ended place // of its prompt, Start and End
	cut                bool  // in a fork: it goes on in the log that is shared
}

// Queued reports whether the turn waits for its start.
func (t *Turn) Queued() bool { return t.Start == nil && t.End == nil && t.Into == "" }

// Running reports whether the turn has started and not ended.
func (t *Turn) Running() bool { return t.Start != nil && t.End == nil }

// Message finds a message, nil if there is none.
func (t *Turn) Message(id MessageID) *Message {
	for _, m := range slices.Backward(t.Messages) {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// open is the model's message of that id, made if it is new.
func (t *Turn) open(id MessageID) *Message {
	if m := t.Message(id); m != nil {
		return m
	}
	m := &Message{ID: id, Turn: t.ID, Role: provider.Assistant}
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
func (t *Turn) result(e ToolEnd) *Message {
	m := t.Results(e.Reply)
	if m == nil {
		m = &Message{ID: e.Message, Turn: t.ID, Role: provider.User, Answers: e.Reply}
		t.Messages = append(t.Messages, m)
	}
	at, _ := m.find(e.Number)
	m.insert(at, Part{e.Number, e.Result()})
	return m
}

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

// What a model is told about calls that have no result, since the daemon went down, or their turn ended.
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
