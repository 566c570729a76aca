package rpc

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/thinkd/thinkd/session"
)

// followed is a session that a client follows: a tap, or a pump.
type followed interface {
	// end returns when nothing of the session will be written that is not in the queue by then.
	end()
}

// pump carries a session's updates to the client with a goroutine of its own, which may wait: for an editor, whom more is
// told than what the updates say.
type pump struct {
	stop context.CancelFunc
	done chan struct{}
}

// follow runs a pump for a session until unfollow, the next that enters for the session, or the end of the connection. run
// takes updates from a subscription and gives them to [client.notify]; it returns soon after its context has ended.
// Called by a method, nothing that run says is written before that method's answer.
func (c *client) follow(id session.ID, run func(context.Context) error) {
	ctx, stop := context.WithCancel(c.stream.ctx)
	p := &pump{stop: stop, done: make(chan struct{})}
	c.enter(id, p)
	c.run(func() { // ended by end or with the stream's context; serve waits
		defer close(p.done)
		defer stop()
		_, err := guard(func() (struct{}, error) { return struct{}{}, run(ctx) })
		if err != nil && ctx.Err() == nil {
			c.updatesFailed(id, err)
		}
		c.leave(id, p)
	})
}

// end must not be called by what the pump runs.
func (p *pump) end() {
	p.stop()
	<-p.done
}

// enter is for what follows a session from now on. What did before has ended then, so that no update comes twice.
func (c *client) enter(id session.ID, f followed) {
	c.unfollow(id)
	c.followsMu.Lock()
	defer c.followsMu.Unlock()
	c.followed[id] = f
}

// leave is for what has ended by itself.
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

// notify queues an update: a whole notification, encoded, which nobody changes any more. Only pumps call it: it waits
// while the client is slow and while a request is being handled.
func (c *client) notify(ctx context.Context, message []byte) error {
	return c.stream.notify(ctx, message)
}

// updatesFailed ends the connection: a client whose updates end without a word would wait for them for ever.
func (c *client) updatesFailed(id session.ID, err error) {
	ref := rand.Text()
	log := c.server.config.Log.With(keyRef, ref, "session", id)
	if p, ok := errors.AsType[*panicError](err); ok {
		log.Error("panic in a session's updates", keyError, p.value, "stack", string(p.stack))
	} else {
		log.Error("a session's updates failed", keyError, err)
	}
	c.stream.end(err)
}
