package session

import "github.com/thinkd/thinkd/provider"

// Access says what a user may do with a session that another user shares.
type Access string

// The accesses that there are.
const (
	ReadAccess  Access = "read"
	WriteAccess Access = "write" // and read
)

// Words lists all accesses.
func (Access) Words() []string { return provider.Words(ReadAccess, WriteAccess) }
