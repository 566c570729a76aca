package agent

import (
	"time"

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
		Calls: r.calls, Again: r.again, End: end})
}
