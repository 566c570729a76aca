package wire

import (
	"slices"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/rpc/failure"
	"github.com/thinkd/thinkd/session"
)

// Step is what happened between two messages of a turn, as clients see it. One of FellBack and Parked is set.
type Step struct {
	Turn  session.TurnID    `json:"turn_id"`
	After session.MessageID `json:"after,omitempty"` // the message before it; absent: none of the turn is
	Time  int64             `json:"ts"`              // of the change, or when the turn was not parked any more

	FellBack *fellBack         `json:"fell_back,omitempty"`
	Parked   *Parked           `json:"parked,omitempty"`
	By       session.ResumedBy `json:"by,omitempty"` // what resumed the turn; absent: it ended
}

// maxPageSteps is how many steps are in a page of messages: the last ones.
const maxPageSteps = 1000

// StepsInPage shows the steps that belong to a page of messages, in order; nil if there are none.
func StepsInPage(messages []agent.Message) (shown []Step) {
	for _, m := range slices.Backward(messages) {
		for _, s := range slices.Backward(m.Steps) {
			if len(shown) == maxPageSteps {
				break
			}
			shown = append(shown, newStep(m, s))
		}
	}
	slices.Reverse(shown)
	return shown
}

func newStep(m agent.Message, s session.Step) Step {
	w := Step{Turn: m.Turn, After: m.ID, Time: s.Time, By: s.By}
	if s.At == 0 {
		w.After = ""
	}
	switch {
	case s.Switch != nil:
		w.FellBack = &fellBack{feed.NewFellBack(*s.Switch), failure.OfTurn(s.Switch.Why)}
	case s.Parked != nil:
		w.Parked = new(NewParked(feed.NewTurnParked(*s.Parked)))
		if q := w.Parked.Spending; q != nil { // the quote was for the question
			w.Parked.Spending = &session.Spending{Limit: q.Limit, Used: q.Used, Most: q.Most, Next: q.Next}
		}
	}
	return w
}
