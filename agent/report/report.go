package report

import (
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Turn is a turn that had started and has ended.
type Turn struct {
	Session   session.ID
	Turn      session.TurnID
	Model     session.ModelRef
	Reasoning provider.Decision
	Begun     time.Time
	Ended     time.Time
	Calls     int // model calls, repeated ones not counted
	Again     int // model calls that repeated one, after a repair or a wait
	End       session.TurnEnd
}

// Call is a model call. Each try is one.
type Call struct {
	Session   session.ID
	Turn      session.TurnID // empty: a summary that a client asked for between turns
	Model     session.ModelRef
	API       string // the wire API
	Reasoning provider.Decision
	Summary   bool // a summary of earlier turns, not a step of this one
	Aside     bool // a side question, which belongs to no turn
	Begun     time.Time
	Heard     time.Time // the first event; zero: none came, or it is not known
	Ended     time.Time

	Stop  provider.StopReason // empty: the reply has no end
	As    string              // the name of the model in the answer
	Usage provider.Usage      // of a reply with an end
	Fault string              // why there is no end: a provider.Kind, "internal", or the reason for which the turn ended
}

// Tool is a tool call that ran.
type Tool struct {
	Session session.ID
	Turn    session.TurnID
	Name    string // of a tool of the session
	CallID  string
	Client  bool // a client ran it
	Begun   time.Time
	Ended   time.Time
	Fault   string // empty: none; otherwise ToolFailed or ToolNoResult
}

// Faults of a tool call.
const (
	ToolFailed   = "tool_failed" // its result says so
	ToolNoResult = "no_result"   // the turn ended before it came
)
