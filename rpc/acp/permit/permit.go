package permit

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/rpc/acp/blocks"
	"github.com/thinkd/thinkd/session"
)

// Request asks whether a call may run.
type Request struct {
	Session session.ID     `json:"sessionId"`
	Call    Call           `json:"toolCall"`
	Options []Option       `json:"options"`
	Meta    map[string]any `json:"_meta,omitempty"`
}

// Call is the call that a request is about.
type Call struct {
	ID      string          `json:"toolCallId"`
	Title   string          `json:"title,omitempty"`
	Kind    string          `json:"kind,omitempty"`
	Status  string          `json:"status"`
	Content []blocks.Tool   `json:"content,omitempty"`
	Input   json.RawMessage `json:"rawInput,omitempty"`
}

// Option is an answer that the editor offers.
type Option struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// An optionId is an action, or one of these prefixes and the id of a grant or denial. The grant of the whole tool is the action
// allow_session.
const (
	grantOption  = "grant:"
	denialOption = "denial:"
)

// Options are the answers to a question in ACP's words.
func Options(q feed.Confirm) (words []Option) {
	for _, action := range q.Actions {
		switch action {
		case session.AllowOnce:
			words = append(words, Option{string(action), "Allow once", "allow_once"})
		case session.AllowSession:
			for _, g := range q.Grants {
				id := grantOption + g.ID
				if g.ID == approval.ToolGrant {
					id = string(action)
				}
				words = append(words, Option{id, "Until this session ends: " + g.Text, "allow_always"})
			}
		case session.Deny:
			words = append(words, Option{string(action), "Deny", "reject_once"})
			for _, g := range q.Denials {
				words = append(words, Option{denialOption + g.ID, "Deny until this session ends: " + g.Text, "reject_always"})
			}
		}
	}
	return words
}

// OnePerKind keeps the first option of each kind, which is the narrowest grant or denial. It is for editors that show the kind of an option
// instead of its name: of several equal answers, a person could not see which one is wide.
func OnePerKind(options []Option) (list []Option) {
	for _, o := range options {
		if !slices.ContainsFunc(list, func(other Option) bool { return other.Kind == o.Kind }) {
			list = append(list, o)
		}
	}
	return list
}

// Ruling is an answer of the client.
func Ruling(result []byte, client string) agent.Ruling {
	r := agent.Ruling{Action: session.Deny, Client: client}
	if gjson.GetBytes(result, "outcome.outcome").String() == "selected" {
		option := gjson.GetBytes(result, "outcome.optionId").String()
		if id, ok := strings.CutPrefix(option, grantOption); ok && id != "" {
			r.Action, r.Grant = session.AllowOnce, id
		} else if id, ok := strings.CutPrefix(option, denialOption); ok && id != "" {
			r.Grant = id
		} else {
			r.Action = session.Action(option)
		}
	}
	return r
}
