package watch

import (
	"fmt"

	"github.com/thinkd/thinkd/rpc/conn"
)

// Short is the error of a turn that ended before the model did: at a limit, by a refusal or a cancel.
type Short struct {
	Reason  string // the stop_reason of the protocol
	Limit   string
	Failure *conn.Error // what the vendor said, if anything
}

func (e *Short) Error() string {
	switch {
	case e.Failure != nil:
		return e.Failure.Error()
	case e.Limit != "":
		return fmt.Sprintf("the turn ended: %s (%s)", e.Reason, e.Limit)
	}
	return "the turn ended: " + e.Reason
}

// Outcome is the error of a turn that ended so: nil if it ended well, a [*Short] if its answer is incomplete.
func Outcome(reason, limit string, failure *conn.Error) error {
	switch {
	case reason == "end_turn":
		return nil
	case failure != nil && reason != "refusal":
		return failure
	}
	return &Short{reason, limit, failure}
}
