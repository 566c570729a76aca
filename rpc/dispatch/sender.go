package dispatch

import (
	"context"

	"github.com/thinkd/thinkd/rpc/failure"
	"github.com/thinkd/thinkd/session"
)

// sender sends a session's updates with a goroutine of its own, which may wait.
type sender struct {
	stop context.CancelFunc
	done chan struct{}
}

// Follow runs a sender for a session until Unfollow, the next that enters for the session, or the end of the connection.
// run takes updates from a subscription and gives them to [Client.Notify]; it returns soon after its context has ended.
// Called by a method, nothing that run sends is written before that method's answer.
func (c *Client) Follow(id session.ID, run func(context.Context) error) {
	ctx, stop := context.WithCancel(c.Conn.Context())
	s := &sender{stop: stop, done: make(chan struct{})}
	c.Enter(id, s)
	c.Run(func() { // ended by End or with the connection's context; Serve waits
		defer close(s.done)
		defer stop()
		_, err := failure.Guard(func() (struct{}, error) { return struct{}{}, run(ctx) })
		if err != nil && ctx.Err() == nil {
			c.UpdatesFailed(id, err)
		}
		c.Leave(id, s)
	})
}

// End must not be called by what the sender runs.
func (s *sender) End() {
	s.stop()
	<-s.done
}
