package lists

import (
	"math"

	"github.com/thinkd/thinkd/agent/watch"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/lease"
)

// order knows which messages and changes are new. It is not safe for concurrent use.
type order struct {
	last  map[lease.Node]uint64 // the number of the newest message of each other node
	ended map[lease.Node]bool   // those that said that nothing follows

	newest map[session.ID]uint64 // the epoch of the last change of a session that clients watch; never: it was removed
}

// The bounds of what is remembered. What is forgotten is taken for new: a message of a forgotten node is one behind a gap.
const (
	maxNodes    = 1000
	maxSessions = 10_000
)

const never = math.MaxUint64

func newOrder() order {
	return order{make(map[lease.Node]uint64), make(map[lease.Node]bool), make(map[session.ID]uint64)}
}

// message takes the number of a message. fresh: it is new. missed: messages before it are missing, or that itself, if it repeats a number.
func (o *order) message(from lease.Node, number uint64, repeats bool) (fresh, missed bool) {
	last := o.last[from]
	if number <= last {
		return false, false
	}
	for node := range o.last { // any one goes
		if len(o.last) < maxNodes {
			break
		}
		o.forget(node)
	}
	o.last[from] = number
	return !repeats, repeats || number > last+1
}

func (o *order) forget(node lease.Node) {
	delete(o.last, node)
	delete(o.ended, node)
}

// gone forgets the nodes that are not present any more. It reports whether one of them did not say that nothing follows.
func (o *order) gone(present func(lease.Node) bool) (died bool) {
	for node := range o.last {
		if !present(node) {
			died = died || !o.ended[node]
			o.forget(node)
		}
	}
	return died
}

// change reports whether a change is to be published: none of a later owner of the session was.
func (o *order) change(c watch.Change) bool {
	epoch := c.Epoch
	if c.Kind == watch.Removed {
		epoch = never
	}
	if epoch < o.newest[c.Session.ID] {
		return false
	}
	if len(o.newest) >= maxSessions {
		clear(o.newest)
	}
	o.newest[c.Session.ID] = epoch
	return true
}
