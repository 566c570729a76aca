package feed

import (
	"cmp"
	"errors"
	"sync"

	"github.com/thinkd/thinkd/session"
)

// ErrClosed says that the session is not running any more: it was closed, or unloaded because it was idle. Loading it again
// helps. Calls of the session's agent end with it, and so do subscriptions, unless the session has ended for another reason.
var ErrClosed = errors.New("session is closed")

// Update is an event under its number: a notification of the protocol. All subscribers share it, and it never changes.
type Update struct {
	Session  session.ID
	Seq      uint64
	FirstSeq uint64 // of merged growth: the first number that it stands for; else 0
	Time     int64  // Unix milliseconds
	Turn     session.TurnID
	Event    Event

	weight  int // what it counts while it waits for a subscriber
	once    sync.Once
	encoded []byte
}

// first is the first number that u stands for.
func (u *Update) first() uint64 { return cmp.Or(u.FirstSeq, u.Seq) }

// Encoded is the result of encode, which is called once for all subscribers.
func (u *Update) Encoded(encode func(*Update) []byte) []byte {
	u.once.Do(func() { u.encoded = encode(u) })
	return u.encoded
}
