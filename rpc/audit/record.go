package audit

import (
	"time"

	"github.com/thinkd/thinkd/session"
)

// Record is one line of a file.
type Record struct {
	Time   string `json:"time"`             // RFC 3339 in UTC, with milliseconds
	User   string `json:"user,omitempty"`   // absent: the operator
	Tenant string `json:"tenant,omitempty"` // of the user
	From   string `json:"from,omitempty"`   // an address, an account as "uid 1001", "socket", or "command"
	Token  string `json:"token_id,omitempty"`
	Node   string `json:"node,omitempty"` // that answered; only in answers of a cluster, and in no file

	Method  string `json:"method"` // empty: none that there is
	Session string `json:"session_id,omitempty"`
	Made    string `json:"new_session_id,omitempty"`
	About   *About `json:"about,omitempty"` // the user whom a command of the operator is about

	Code int    `json:"code"`           // of the error; 0: it went well
	Kind string `json:"kind,omitempty"` // the word of the error

	Others int `json:"others,omitempty"` // refused logins before this one that were too many to record

	Lost int `json:"lost,omitempty"` // records before this one that could not be written
}

// About names a user.
type About struct {
	Tenant string `json:"tenant,omitempty"`
	User   string `json:"user"`
}

// Stamp is a time as records have it.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// day is the day of a record, which names its file.
func (r Record) day() session.Day { return session.Day(r.Time[:len(time.DateOnly)]) }
