package rpc

import (
	"context"
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
//	feed.Subscription ──► sender ──► client.notify ──► the same queue  an editor
//
// A subscription has no goroutine: the connection takes the next update when it has room. An idle session costs next to
// nothing, and a slow client leaves its updates where they merge. But taking must not wait. What an editor gets of one
// update may be several messages, with images that have to be loaded and questions to the agent, so it has a sender: a
// goroutine that may wait.

// followed is a session that a client follows.
type followed interface {
	// end returns when nothing of the session will be written that is not in the queue by then.
	end()
}

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
	s.conn = c.conn.Subscribe(s)
	c.server.busy.add(1) // until Close
	c.enter(id, s)
	return s
}

func (s *subscription) end() { s.conn.Close() }

// Close is called once, by the connection.
func (s *subscription) Close() {
	s.updates.Close()
	s.c.leave(s.id, s)
	s.c.server.busy.add(-1)
}

// Next encodes the next update. After a failure, which has ended the connection, nothing more comes.
func (s *subscription) Next() (message []byte, last bool) {
	message, err := failure.Guard(func() (message []byte, err error) {
		message, last, err = s.next()
		return message, err
	})
	if err != nil {
		s.c.updatesFailed(s.id, err)
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

// sender sends a session's updates with a goroutine of its own, which may wait.
type sender struct {
	stop context.CancelFunc
	done chan struct{}
}

// follow runs a sender for a session until unfollow, the next that enters for the session, or the end of the connection.
// run takes updates from a subscription and gives them to [client.notify]; it returns soon after its context has ended.
// Called by a method, nothing that run sends is written before that method's answer.
func (c *client) follow(id session.ID, run func(context.Context) error) {
	ctx, stop := context.WithCancel(c.conn.Context())
	s := &sender{stop: stop, done: make(chan struct{})}
	c.enter(id, s)
	c.run(func() { // ended by end or with the connection's context; serve waits
		defer close(s.done)
		defer stop()
		_, err := failure.Guard(func() (struct{}, error) { return struct{}{}, run(ctx) })
		if err != nil && ctx.Err() == nil {
			c.updatesFailed(id, err)
		}
		c.leave(id, s)
	})
}

// end must not be called by what the sender runs.
func (s *sender) end() {
	s.stop()
	<-s.done
}

// enter is for what follows a session from now on. What did before has ended then, so that no update comes twice.
func (c *client) enter(id session.ID, f followed) {
	c.unfollow(id)
	c.followsMu.Lock()
	defer c.followsMu.Unlock()
	c.followed[id] = f
}

// leave is for what has ended without unfollow.
func (c *client) leave(id session.ID, f followed) {
	c.followsMu.Lock()
	defer c.followsMu.Unlock()
	if c.followed[id] == f {
		delete(c.followed, id)
	}
}

// follows reports whether the client follows a session.
func (c *client) follows(id session.ID) bool {
	c.followsMu.Lock()
	defer c.followsMu.Unlock()
	return c.followed[id] != nil
}

// unfollow ends what follows a session, if anything does.
func (c *client) unfollow(id session.ID) {
	c.followsMu.Lock()
	f := c.followed[id]
	delete(c.followed, id)
	c.followsMu.Unlock()
	if f != nil {
		f.end()
	}
}

// unfollowAll is for the end of the connection, when nothing runs that could enter.
func (c *client) unfollowAll() {
	for _, f := range c.followed {
		f.end()
	}
}

// notify sends an update: a whole notification, encoded, which nobody changes any more. Only goroutines that may wait
// call it: it waits while the client is slow and while a request is being handled.
func (c *client) notify(ctx context.Context, message []byte) error {
	return c.conn.Notify(ctx, message)
}

// updatesFailed ends the connection: a client whose updates end without a word would wait for them for ever.
func (c *client) updatesFailed(id session.ID, err error) {
	failure.Internal(c.server.config.Log.With("session", id), "a session's updates", err) // the client gets no answer
	c.conn.End(err)
}
