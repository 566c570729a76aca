package session

import (
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session/tool"
)

// Steered says that a prompt that waited was taken into the turn that runs: it stands behind what was said there so far,
// and its own turn, the entry's, ends when that one does.
type Steered struct {
	Into TurnID `json:"into"`
}

// Verdict is how a question about a call was resolved.
type Verdict struct {
	Confirm string `json:"confirm_id"`
	Tool    string `json:"tool"`
	Action  Action `json:"action"`
	By      string `json:"by"`

	Grant *tool.Grant `json:"grant,omitempty"` // that the answer gives; nil with AllowSession: that of the tool, of an older daemon
}

// granted is the standing grant that a verdict gives, if it gives one. Its id is that of the question.
func (v Verdict) granted() (tool.Grant, bool) {
	switch {
	case v.Grant != nil:
		return *v.Grant, true
	case v.Action == AllowSession:
		return tool.Grant{ID: v.Confirm, Scope: tool.ToolScope, Tool: v.Tool, Text: "All calls of " + v.Tool}, true
	}
	return tool.Grant{}, false
}

// Action is an answer to the question whether a call may run.
type Action string

const (
	AllowOnce    Action = "allow"         // this call runs
	AllowSession Action = "allow_session" // and so do all of the session's later calls of the same tool
	Deny         Action = "deny"
)

// ToolStart says that a call is about to run. From here on it is never run again, whatever happens.
type ToolStart struct {
	Message MessageID `json:"message_id"` // the reply that has the call
	Block   int       `json:"block"`      // the call's number in it
}

// ToolEnd is the result of a call. The results of one reply are one message of the user's, in the order of the calls.
type ToolEnd struct {
	Message    MessageID       `json:"message_id"`
	Number     int             `json:"number"` // of the result in its message
	Reply      MessageID       `json:"reply"`  // the message that has the call
	CallID     string          `json:"call_id"`
	Content    provider.Blocks `json:"content"`
	Failed     bool            `json:"is_error,omitempty"`
	DurationMS int64           `json:"duration_ms,omitempty"`
}

// Result is the block that goes to the model.
func (e ToolEnd) Result() provider.ToolResult {
	return provider.ToolResult{CallID: e.CallID, Blocks: e.Content, Failed: e.Failed}
}

// Call is a tool call in its place.
type Call struct {
	Number int // of its block
	provider.ToolCall
}

// Answer is the result of a call by its number, nil if it has none.
func (m *Message) Answer(number int) provider.Block {
	if m == nil {
		return nil
	}
	if at, found := m.find(number); found {
		return m.Parts[at].Block
	}
	return nil
}

// Calls lists the tool calls of a message, in order.
func (m *Message) Calls() []Call {
	var calls []Call
	for _, p := range m.Parts {
		if call, ok := p.Block.(provider.ToolCall); ok {
			calls = append(calls, Call{p.Number, call})
		}
	}
	return calls
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
