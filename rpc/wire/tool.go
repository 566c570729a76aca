package wire

import (
	"encoding/json"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// toolEnd is a ToolEnd as clients see it.
type toolEnd struct {
	Message    session.MessageID `json:"message_id"`
	Block      int               `json:"block"`
	CallID     string            `json:"call_id"`
	Content    []Block           `json:"content"`
	Failed     bool              `json:"is_error"`
	DurationMS int64             `json:"duration_ms"`
}

// toolStart is a ToolStart whose arguments may be left out.
type toolStart struct {
	feed.ToolStart
	Truncated bool `json:"truncated,omitempty"`
}

func newToolStart(e feed.ToolStart, room int) toolStart {
	if len(e.Arguments)+len(e.Invalid) > room {
		e.Arguments, e.Invalid = nil, ""
		return toolStart{e, true}
	}
	return toolStart{ToolStart: e}
}

// Confirm is a question whether a call may run. Arguments and parts may be left out.
type Confirm struct {
	feed.Confirm
	Truncated bool `json:"truncated,omitempty"`
}

// NewConfirm shows a question in about room bytes. The arguments are left out first: the parts say the same. Without
// all of its parts a call can only be denied.
func NewConfirm(e feed.Confirm, room int) Confirm {
	e.Actions, e.Grants, e.Denials = append([]session.Action{}, e.Actions...), append([]tool.Grant{}, e.Grants...), append([]tool.Grant{}, e.Denials...)
	if len(e.Arguments) == 0 {
		e.Arguments = json.RawMessage("{}")
	}
	parts, arguments := jsonSize(e.Parts), jsonSize(e.Arguments)
	w := Confirm{Confirm: e}
	if parts+arguments > room {
		w.Arguments, w.Truncated = json.RawMessage("{}"), true
	}
	if parts > room {
		w.Parts, w.Grants, w.Actions, w.Limit = []approval.Part{}, []tool.Grant{}, []session.Action{session.Deny}, room
	}
	return w
}

// jsonSize is how long a value of ours is on the wire.
func jsonSize(v any) int {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was decoded from JSON, or holds strings
	}
	return len(text)
}

// OpenTool is a call that runs.
type OpenTool struct {
	toolStart
	Output string `json:"output,omitempty"`
}

// NewOpenTools shows the calls that run in about room bytes.
func NewOpenTools(open []agent.OpenTool, room int) []OpenTool {
	list := make([]OpenTool, 0, len(open))
	for _, t := range open {
		list = append(list, OpenTool{newToolStart(t.ToolStart, room/len(open)), t.Output})
	}
	return list
}

// NewConfirms shows the questions that are open in about room bytes.
func NewConfirms(open []feed.Confirm, room int) []Confirm {
	list := make([]Confirm, 0, len(open))
	for _, e := range open {
		list = append(list, NewConfirm(e, room/len(open)))
	}
	return list
}
