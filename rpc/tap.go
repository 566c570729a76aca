package rpc

import (
	"errors"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/session"
)

// tap is a session that a client follows, without a goroutine: the session says that it has something to tell, and the
// connection's queue takes it when there is room for it.
type tap struct {
	c   *client
	id  session.ID
	sub updates
	seq uint64 // of the last update that was taken; for whoever draws

	// What follows belongs to the queue, under its lock.
	waits  bool // in the queue's list of taps that may have something
	behind *tap // the next in that list
	over   bool // nothing of it comes in any more
}

// updates are those of a session: a *feed.Subscription.
type updates interface {
	TryNext() (*feed.Update, error)
	Close()
}

// subscribe carries a session's updates to the client from now on; the answer to the request comes first. It ends
// with the session, or with stale.
func (c *client) subscribe(id session.ID, seq uint64, sub *feed.Subscription) {
	t := c.tapInto(id, seq, sub)
	sub.Notify(func() { c.stream.out.offer(t) })
}

func (c *client) tapInto(id session.ID, seq uint64, sub updates) *tap {
	t := &tap{c: c, id: id, sub: sub, seq: seq}
	c.server.busy.add(1) // until end
	c.enter(id, t)
	return t
}

// end has nothing of the session come in any more. Calling it twice is harmless.
func (t *tap) end() {
	if t.c.stream.out.drop(t) {
		t.sub.Close()
		t.c.server.busy.add(-1)
	}
}

// message is what the client is told of what the subscription gave; last: nothing follows. It is nil where there is no
// telling, which has ended the connection.
func (t *tap) message(u *feed.Update, err error) (message []byte, last bool) {
	message, err = guard(func() ([]byte, error) {
		message, last, err = t.encode(u, err)
		return message, err
	})
	if err != nil {
		t.c.updatesFailed(t.id, err)
		return nil, true
	}
	return message, last
}

func (t *tap) encode(u *feed.Update, err error) (message []byte, last bool, failed error) {
	if stale, ok := errors.AsType[*feed.Stale](err); ok {
		return encodeStale(t.id, stale.After), true, nil
	}
	if errors.Is(err, feed.ErrClosed) { // the session was closed under this client
		return encodeStale(t.id, t.seq), true, nil
	}
	if err != nil {
		return nil, true, err
	}
	message = u.Encoded(t.c.server.encodeUpdate)
	if len(message) > t.c.server.config.MessageBytes { // growth in one piece: an answer to attach can cut it
		return encodeStale(t.id, t.seq), true, nil
	}
	t.seq = u.Seq
	e, ok := u.Event.(feed.SessionUpdate)
	return message, ok && e.Deleted, nil
}
