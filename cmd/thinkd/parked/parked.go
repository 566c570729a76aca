// Package parked says in words why a turn waits between two steps, and when it resumes.
package parked

import (
	"fmt"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/costs"
	"github.com/thinkd/thinkd/rpc/conn"
)

// A Turn has the members of turn_parked in protocol.md.
type Turn struct {
	Why     string      `json:"why"`
	Since   int64       `json:"since"` // in Unix milliseconds
	Until   int64       `json:"until"` // in Unix milliseconds; 0: not known
	Resumes string      `json:"resumes"`
	Error   *conn.Error `json:"error"` // why the model call failed; nil: none did

	Spending *costs.Spending `json:"spending"` // what a person decides on; nil: nothing
}

// Text is a sentence about why the turn is parked, and one about when it resumes. Times are those of the location of now.
func (t Turn) Text(now time.Time) string {
	why := t.why()
	if t.Spending != nil {
		why = t.Spending.Question()
	}
	if t.Error != nil {
		why += " (" + t.Error.Message + ")"
	}
	return fmt.Sprintf("Parked since %s: %s. It %s.", clock(t.Since, now), why, t.When(now))
}

func (t Turn) why() string {
	if t.Spending != nil && t.Spending.OfPrompt() {
		return "the prompt was expensive"
	}
	why := map[string]string{"quota": "the provider takes no more requests for now", "outage": "the provider cannot be reached, or is overloaded",
		"approval": "a question waits for an answer", "client": "the prompt is for a later time", "budget": "a limit for money is reached"}[t.Why]
	if why == "" {
		return t.Why // of a later version
	}
	return why
}

// Past says why the turn was parked, and until when. Times are those of the location of now.
func (t Turn) Past(ended int64, now time.Time) string {
	return fmt.Sprintf("Parked from %s to %s: %s.", clock(t.Since, now), clock(ended, now), t.why())
}

// When says when the turn resumes: "resumes automatically at 15:00".
func (t Turn) When(now time.Time) string {
	switch {
	case t.Spending != nil && t.Spending.OfPrompt():
		return "waits for a person to send or end it"
	case t.Why == "budget":
		return "waits for a person to allow more"
	case t.Why == "approval":
		return "resumes with the answer"
	case t.Resumes != "automatically":
		return "resumes on request only"
	case t.Until == 0:
		return "resumes automatically"
	}
	return "resumes automatically at " + clock(t.Until, now)
}

// clock is the time of day, with the date if that is not today's.
func clock(ms int64, now time.Time) string {
	at := time.UnixMilli(ms).In(now.Location())
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}
