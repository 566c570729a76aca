package node

import (
	"context"
	"sync"
	"time"

	"github.com/thinkd/thinkd/rpc/cluster/heartbeat"
	"github.com/thinkd/thinkd/session"
)

// abandonTime is how long a node is cut off before it ends what runs.
const abandonTime = 15 * time.Second

// look is how often a node looks after its contact and its peers.
const look = 250 * time.Millisecond

// contact bounds what waits for the store servers.
type contact struct {
	beats *heartbeat.Node

	mu   sync.Mutex
	lost context.Context // ends when the node was cut off for abandonTime; a new one begins with the next contact
	end  context.CancelCauseFunc
}

func newContact(beats *heartbeat.Node) *contact {
	c := &contact{beats: beats}
	c.lost, c.end = context.WithCancelCause(context.Background())
	return c
}

// observe takes note of the contact as it is now. It reports whether it has just been lost for abandonTime.
func (c *contact) observe() (abandon bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch at := c.beats.Confirmed(); {
	case c.beats.InContact():
		if c.lost.Err() != nil {
			c.lost, c.end = context.WithCancelCause(context.Background())
		}
	case at > 0 && c.beats.Clock()-at >= abandonTime && c.lost.Err() == nil:
		c.end(session.ErrCutOff)
		return true
	}
	return false
}

// bound is a context that ends with the contact too.
func (c *contact) bound(ctx context.Context) (context.Context, func()) {
	c.mu.Lock()
	lost := c.lost
	c.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(lost, func() { cancel(session.ErrCutOff) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// wait waits until the node is in contact.
func (c *contact) wait(ctx context.Context) error {
	tick := time.NewTicker(look / 5)
	defer tick.Stop()
	for !c.beats.InContact() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
