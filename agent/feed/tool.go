package feed

import (
	"encoding/json"

	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// Events of tools. Each call of a finished reply has one ToolStart and one ToolEnd, whether it runs or not.
type (
	// ToolStart publishes a call. Without Host the call does not run: its arguments are wrong, it was refused, or its turn has
	// ended. With the Host tool.Client, clients have to run it.
	ToolStart struct {
		Message   session.MessageID `json:"message_id"` // the reply
		Block     int               `json:"block"`
		CallID    string            `json:"call_id"`
		Name      string            `json:"name"`
		Arguments json.RawMessage   `json:"arguments,omitempty"`
		Invalid   string            `json:"invalid_arguments,omitempty"` // in place of arguments: what is no JSON object
		Host      tool.Kind         `json:"host,omitempty"`
		Title     string            `json:"title,omitempty"`
	}
	ToolOutput struct {
		CallID string `json:"call_id"`
		Chunk  string `json:"chunk"`
	}
	ToolEnd struct{ session.ToolEnd }

	// Plan is what a model plans to do, after it changed that with the built-in tool for it.
	Plan struct {
		Items []tool.PlanItem `json:"items"` // all of them, in order; never nil
	}

	// Confirm asks whether a call may run.
	Confirm struct {
		ID        string            `json:"confirm_id"`
		Reply     session.MessageID `json:"message_id"` // the message that has the call
		Block     int               `json:"block"`
		CallID    string            `json:"call_id"`
		Name      string            `json:"name"`
		Arguments json.RawMessage   `json:"arguments"`
		Title     string            `json:"title"`
		Message   string            `json:"message"`
		Origin    Origin            `json:"origin"`
		Parts     []approval.Part   `json:"parts"` // all that the answer is about; empty where they are above the limit
		Actions   []session.Action  `json:"actions"`
		Grants    []tool.Grant      `json:"grants"`          // that an approval can give, the narrowest first
		Denials   []tool.Grant      `json:"denials"`         // that a denial can give, the narrowest first
		Limit     int               `json:"limit,omitempty"` // bytes; the parts have more, so that the call can only be denied
		Until     int64             `json:"until,omitempty"` // Unix milliseconds: silence is a no from then on; 0: the turn is parked until somebody answers
	}
	ConfirmResolved struct {
		ID     string         `json:"confirm_id"`
		Action session.Action `json:"action"`
		By     By             `json:"by"`
		Client string         `json:"client,omitempty"` // the name that the client gave itself
		Grant  *tool.Grant    `json:"grant,omitempty"`  // that the answer gave
	}

	// Origin says where a call comes from, and who would run it.
	Origin struct {
		Provider string      `json:"provider"`
		Model    string      `json:"model"`
		Host     tool.Kind   `json:"host"`
		Server   string      `json:"server,omitempty"` // the name of the MCP server
		Effect   tool.Effect `json:"effect"`
		Folder   string      `json:"folder,omitempty"` // of the session
	}
)

func (ToolStart) Method() string       { return "tool_start" }
func (ToolOutput) Method() string      { return "tool_output" }
func (ToolEnd) Method() string         { return "tool_end" }
func (Plan) Method() string            { return "plan" }
func (Confirm) Method() string         { return "confirm" }
func (ConfirmResolved) Method() string { return "confirm_resolved" }

// By says who resolved a question.
type By string

const (
	ByClient  By = "client"
	ByTimeout By = "timeout"   // nobody did in time
	ByTurnEnd By = "turn_end"  // the turn ended before
	ByMode    By = "tool_mode" // the session's mode refuses the call since then
)

// Words lists all who do.
func (By) Words() []string { return provider.Words(ByClient, ByTimeout, ByTurnEnd, ByMode) }
