package method

import (
	"slices"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/session"
)

// Principal is the one for whom the requests of a connection are made.
type Principal struct {
	Name   string        // for logs, and for the marks of what the principal has read
	Owner  session.Owner // whose sessions they are about
	Rights []Right       // what the principal may do
}

// Operator is the principal of all clients of a daemon that serves one person: those of its socket, and those with its token. It
// has all rights.
func Operator() Principal { return Principal{"operator", session.Operator, Rights()} }

// Check refuses a method for which the principal lacks the right.
func (p Principal) Check(name string, right Right) error {
	if slices.Contains(p.Rights, right) {
		return nil
	}
	return &conn.Error{Code: conn.CodeUnauthorized, Message: name + " needs the right " + right.String() + ", which this client does not have",
		Data: map[string]any{"right": right.String()}}
}
