package feed

import (
	"slices"

	"github.com/thinkd/thinkd/session"
)

// Feed publishes the updates of one session to its subscribers and remembers the latest. It belongs to one goroutine, that of
// the session; only the subscriptions are shared. No method waits.
type Feed struct {
	session session.ID
	seq     uint64 // of the last update
	base    uint64 // what seq was at the start
	subs    []*Subscription
	memory  memory
}

// newFeed is a feed whose first update has the number seq + 1.
func New(id session.ID, seq uint64) *Feed {
	return &Feed{session: id, seq: seq, base: seq, memory: memory{after: seq}}
}

// Seq returns the number of the last update.
func (f *Feed) Seq() uint64 { return f.seq }

// Base is what Seq was when the feed was made: every update has a higher number.
func (f *Feed) Base() uint64 { return f.base }

// Publish sends an event under the next number to all subscribers. now is in Unix milliseconds.
func (f *Feed) Publish(turn session.TurnID, now int64, e Event) {
	f.seq++
	f.send(&Update{Session: f.session, Seq: f.seq, Time: now, Turn: turn, Event: e}, nil)
}

// PublishGrowth is Publish for growth that came in several pieces: ends says where the text of each ends in that of e. The
// update stands for as many numbers as there are ends, at least one.
func (f *Feed) PublishGrowth(turn session.TurnID, now int64, e Event, ends []int) {
	first := f.seq + 1
	f.seq += uint64(max(len(ends), 1))
	u := &Update{Session: f.session, Seq: f.seq, Time: now, Turn: turn, Event: e}
	if u.Seq > first {
		u.FirstSeq = first
	}
	f.send(u, ends)
}

func (f *Feed) send(u *Update, ends []int) {
	u.weight = weight(u.Event)
	what, text := grown(u.Event)
	f.memory.add(u, what, text, ends)
	if len(f.subs) == 0 {
		return
	}
	f.subs = slices.DeleteFunc(f.subs, func(sub *Subscription) bool { return !sub.push(u, what, text) })
}

// Since returns the updates after a number, with growth merged. It is nil if the feed does not remember that far back, or
// has not published that number yet, and empty if there are no later updates.
func (f *Feed) Since(after uint64) []*Update { return f.memory.since(after) }

// Forget drops the updates that Since could return. A session calls it while no turn runs.
func (f *Feed) Forget() { f.memory.forget(f.seq) }

// Add makes sub a subscription to all updates from now on. A closed one is dropped again.
func (f *Feed) Add(sub *Subscription) {
	sub.begin(f.seq)
	f.subs = append(f.subs, sub)
}

// Subscribed reports whether there are subscriptions. Closed ones count until the next update or Prune.
func (f *Feed) Subscribed() bool { return len(f.subs) > 0 }

// Subscribers is how many there are.
func (f *Feed) Subscribers() int { return len(f.subs) }

// CanConfirm reports whether there is a subscriber that can ask a person.
func (f *Feed) CanConfirm() bool {
	return slices.ContainsFunc(f.subs, func(sub *Subscription) bool { return sub.confirms.Load() && !sub.over() })
}

// Prune drops the subscriptions that their owners closed.
func (f *Feed) Prune() {
	f.subs = slices.DeleteFunc(f.subs, (*Subscription).over)
}

// Close ends all subscriptions: each returns its waiting updates first, then err. ErrClosed says that the session was unloaded, as at the end of the
// process. Other errors say why the session cannot go on: it is at another node, or the store failed.
func (f *Feed) Close(err error) {
	for _, sub := range f.subs {
		sub.end(err)
	}
	f.subs = nil
}
