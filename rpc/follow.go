package rpc

import (
	"errors"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/rpc/failure"
	"github.com/thinkd/thinkd/session"
)

// A client follows sessions, each of them in one of two ways:
//
//	feed.Subscription ──► subscription ──► the connection's queue      a native client
//	feed.Subscription ──► sender ──► Client.Notify ──► the same queue  an editor
//
// A subscription has no goroutine: the connection takes the next update when it has room. An idle session costs next to
// nothing, and a slow client leaves its updates where they merge. But taking must not wait. What an editor gets of one
// update may be several messages, with images that have to be loaded and questions to the agent, so it has a sender: a
// goroutine that may wait.

// subscription is the source of a conn.Subscription.
type subscription struct {
	c       *client
	id      session.ID
	updates updates
	seq     uint64             // of the last update that was taken; for the goroutine that calls Next
	conn    *conn.Subscription // set before the first update
}

// updates are those of a session: an *feed.Subscription.
type updates interface {
	TryNext() (*feed.Update, error)
	Close()
}

// subscribe carries a session's updates to the client from now on; the answer to the request comes first. It ends
// with the session, or with stale.
func (c *client) subscribe(id session.ID, seq uint64, updates *feed.Subscription) {
	s := c.subscription(id, seq, updates)
	updates.Notify(s.conn.Ready)
}

func (c *client) subscription(id session.ID, seq uint64, updates updates) *subscription {
	s := &subscription{c: c, id: id, updates: updates, seq: seq}
	s.conn = c.Conn.Subscribe(s)
	c.Hold() // until Close
	c.Enter(id, s)
	return s
}

func (s *subscription) End() { s.conn.Close() }

// Close is called once, by the connection.
func (s *subscription) Close() {
	s.updates.Close()
	s.c.Leave(s.id, s)
	s.c.Release()
}

// Next encodes the next update. After a failure, which has ended the connection, nothing more comes.
func (s *subscription) Next() (message []byte, last bool) {
	message, err := failure.Guard(func() (message []byte, err error) {
		message, last, err = s.next()
		return message, err
	})
	if err != nil {
		s.c.UpdatesFailed(s.id, err)
		return nil, true
	}
	return message, last
}

func (s *subscription) next() (message []byte, last bool, err error) {
	u, err := s.updates.TryNext()
	if stale, ok := errors.AsType[*feed.Stale](err); ok {
		return door.Stale(string(s.id), stale.After), true, nil
	}
	if errors.Is(err, feed.ErrClosed) { // the session was closed under this client
		return door.Stale(string(s.id), s.seq), true, nil
	}
	if u == nil || err != nil {
		return nil, err != nil, err
	}
	message = u.Encoded(s.c.server.out.Update)
	if len(message) > s.c.server.config.MessageBytes { // growth in one piece: an answer to attach can cut it
		return door.Stale(string(s.id), s.seq), true, nil
	}
	s.seq = u.Seq
	e, ok := u.Event.(feed.SessionUpdate)
	return message, ok && e.Deleted, nil
}
