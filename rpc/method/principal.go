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
	return Forbidden(right, name)
}

// OwnsMachine reports whether the principal is the person who runs the daemon. Others have no tools on the machine, learn nothing about
// keys and settings, and cannot go beyond limits for all sessions.
func (p Principal) OwnsMachine() bool { return p.Owner == session.Operator }

// Forbidden refuses what needs a right that the client does not have. what is the subject of its sentence.
func Forbidden(right Right, what string) *conn.Error {
	return &conn.Error{Code: conn.CodeForbidden, Message: what + " needs the right " + right.String() + ", which this client does not have",
		Data: map[string]any{"right": right.String()}}
}
