package agent

import (
	"errors"
	"time"

	"github.com/thinkd/thinkd/agent/tool"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Report is what one turn was, for whoever counts turns. It has nothing of what was said
// but the words of a failure, which may be a vendor's and are not for counting.
type Report struct {
	Session   session.ID
	Turn      session.TurnID
	Model     session.ModelRef
	Reasoning provider.Decision
	Begun     time.Time
	Ended     time.Time
	Calls     int // of the model that were needed
	Again     int // calls that were made once more, after a repair or a wait
	End       session.TurnEnd
}

// report tells of the running turn, whose end is on disk.
func (s *state) report(end session.TurnEnd) {
	if s.cfg.Ended == nil {
		return
	}
	r := s.run
	s.cfg.Ended(Report{Session: s.id, Turn: r.ID, Model: r.ref(), Reasoning: r.decision, Begun: r.begun,
		Ended: time.Now(), Calls: r.calls, Again: r.again, End: end})
}

// CallReport is what one exchange with a model was: each try is one.
type CallReport struct {
	Session   session.ID
	Turn      session.TurnID // empty: a summary that was asked for between turns
	Model     session.ModelRef
	API       string // the wire API
	Reasoning provider.Decision
	Summary   bool // of earlier turns, not a step of this one
	Begun     time.Time
	Heard     time.Time // the first event; zero: none came, or it is not known
	Ended     time.Time

	Stop  provider.StopReason // empty: the reply has no end
	As    string              // the model, as the answer named it
	Usage provider.Usage      // of a reply with an end
	Fault string              // why there is no end: a provider.Kind, "internal", or the reason for which the turn ended
}

// ToolReport is what one call of a tool was that ran.
type ToolReport struct {
	Session session.ID
	Turn    session.TurnID
	Name    string // of a tool of the session
	CallID  string
	Client  bool // a client ran it
	Begun   time.Time
	Ended   time.Time
	Fault   string // empty: none; see the constants
}

// What is wrong with a call of a tool.
const (
	ToolFailed   = "tool_failed" // its result says so
	ToolNoResult = "no_result"   // the turn ended before it came
)

// callEnd is how an exchange with a model ended.
type callEnd struct {
	stop  provider.Stop
	usage provider.Usage
	fault string // empty: stop says it
}

// called tells of an exchange of the running turn.
func (s *state) called(c *call, end callEnd) {
	if s.cfg.Called == nil {
		return
	}
	r := s.run
	s.cfg.Called(CallReport{Session: s.id, Turn: r.ID, Model: r.ref(), API: r.model.API, Reasoning: r.decision, Begun: c.begun,
		Heard: c.heard, Ended: time.Now(), Stop: end.stop.Reason, As: end.stop.Model, Usage: end.usage, Fault: end.fault})
}

// summarised tells of the exchange for a summary that is over; err is nil if it came to something.
func (s *state) summarised(c *compacting, sum summary, err error) {
	if s.cfg.Called == nil {
		return
	}
	r := CallReport{Session: s.id, Turn: c.turn, Model: c.ref(), API: c.choice.model.API, Reasoning: c.decision, Summary: true,
		Begun: c.begun, Ended: time.Now(), Usage: sum.usage}
	if r.Stop = provider.StopEndTurn; err != nil {
		r.Stop, r.Fault = "", s.faultOf(err)
	}
	s.cfg.Called(r)
}

// ran tells of a call of a tool that is over, if it had begun.
func (s *state) ran(c *toolCall, fault string) {
	if s.cfg.Ran == nil || c.begun.IsZero() {
		return
	}
	s.cfg.Ran(ToolReport{Session: s.id, Turn: s.run.ID, Name: c.Name, CallID: c.ID, Client: c.tool.Host == tool.Client,
		Begun: c.begun, Ended: time.Now(), Fault: fault})
}

// faultOf is an error in one word. What ends with the agent ends by it, whatever it says.
func (s *state) faultOf(err error) string {
	if s.ctx.Err() != nil {
		return string(session.StopInterrupted)
	}
	if pe, ok := errors.AsType[*provider.Error](err); ok {
		return string(pe.Kind)
	}
	if errors.Is(err, errNoSummary) {
		return string(session.StopCancelled)
	}
	return "internal"
}
