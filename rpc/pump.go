package rpc

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/thinkd/thinkd/session"
)

// pump carries a session's updates to the client: one goroutine for each session that the client follows.
type pump struct {
	stop context.CancelFunc
	done chan struct{}
}

// follow runs a pump for a session until unfollow, the next follow of the session, or the end of the connection. run
// takes updates from a subscription and gives them to [client.notify]; it returns soon after its context has ended.
// Called by a method, nothing that run says is written before that method's answer.
//
// A pump that ran for the session before has ended when follow returns, so no update comes twice.
func (c *client) follow(id session.ID, run func(context.Context) error) {
	c.unfollow(id)
	ctx, stop := context.WithCancel(c.stream.ctx)
	p := &pump{stop: stop, done: make(chan struct{})}
	c.pumpsMu.Lock()
	c.pumps[id] = p
	c.pumpsMu.Unlock()
	c.run(func() { // ended by unfollow or with the stream's context; serve waits
		defer close(p.done)
		defer stop()
		_, err := guard(func() (struct{}, error) { return struct{}{}, run(ctx) })
		if err != nil && ctx.Err() == nil {
			c.pumpFailed(id, err)
		}
		c.pumpsMu.Lock()
		if c.pumps[id] == p {
			delete(c.pumps, id)
		}
		c.pumpsMu.Unlock()
	})
}

// follows reports whether a pump runs for a session.
func (c *client) follows(id session.ID) bool {
	c.pumpsMu.Lock()
	defer c.pumpsMu.Unlock()
	return c.pumps[id] != nil
}

// unfollow ends a session's pump, if there is one, and returns when it has ended. A pump must not call it on itself.
func (c *client) unfollow(id session.ID) {
	c.pumpsMu.Lock()
	p := c.pumps[id]
	delete(c.pumps, id)
	c.pumpsMu.Unlock()
	if p != nil {
		p.stop()
		<-p.done
	}
}

// notify queues an update: a whole notification, encoded, which nobody changes any more. Only pumps call it: it waits
// while the client is slow and while a request is being handled.
func (c *client) notify(ctx context.Context, message []byte) error {
	return c.stream.notify(ctx, message)
}

// pumpFailed ends the connection: a client whose updates end without a word would wait for them for ever.
func (c *client) pumpFailed(id session.ID, err error) {
	ref := rand.Text()
	log := c.server.config.Log.With(keyRef, ref, "session", id)
	if p, ok := errors.AsType[*panicError](err); ok {
		log.Error("panic in a session's updates", keyError, p.value, "stack", string(p.stack))
	} else {
		log.Error("a session's updates failed", keyError, err)
	}
	c.stream.end(err)
}
