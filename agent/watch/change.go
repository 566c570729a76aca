package watch

import (
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Need is what a session needs of a person.
type Need string

const (
	Approval Need = "approval" // of a call of a tool
	Answer   Need = "answer"   // the result of a call that a client runs
	Parked   Need = "parked"   // somebody to resume a parked turn, or the queue
	Read     Need = "read"     // a turn ended that the principal has not read
)

// Words lists all needs, the most urgent first.
func (Need) Words() []string { return provider.Words(Approval, Answer, Parked, Read) }

// Kind says what happened to a session.
type Kind int

const (
	Created Kind = iota
	Changed
	Removed
)

// Change is a session after a change.
type Change struct {
	Kind    Kind
	Session session.Session // as [session.Session.Changing]; Status and Usage are live. Of one that was removed there is only the ID
	Of      session.Owner   // whose session it is; set by the hub
	Needs   Need            // of any person; empty: nothing. It is never Read: see NeedsOf
	Epoch   uint64          // of the claim of the log by the daemon that publishes the change; 0: it has not claimed the log
}

// NeedsOf is what the session needs of a principal.
func (c Change) NeedsOf(principal string) Need {
	if c.Needs == "" && c.Session.Unread(principal) {
		return Read
	}
	return c.Needs
}

// merge is this change after an earlier one that the subscriber has not seen.
func (c Change) merge(earlier Change) Change {
	switch {
	case earlier.Kind == Removed && c.Kind != Created: // nothing comes after it, unless a sharing has begun again
		return earlier
	case earlier.Kind == Created && c.Kind == Changed:
		c.Kind = Created
	}
	return c
}

// weight is about how much memory the change takes while it waits, in bytes.
func (c Change) weight() int {
	return 1<<10 + len(c.Session.Title) + len(c.Session.CWD) + session.MetadataSize(c.Session.Metadata)
}
