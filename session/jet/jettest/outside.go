package jettest

import (
	"context"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session/jet"
)

// outside is a link that a store in a bubble of testing/synctest can use, although the connections are outside. A goroutine that waits for a
// connection holds the clock of its bubble for ever. Here it waits for a channel of outside instead, so the clock stands still while
// a request runs, as it does for a store that writes files.
type outside struct {
	link jet.Link
	free chan *call
	jobs chan *call
}

// call is one request. It is made outside, because a channel belongs to the bubble that makes it.
type call struct {
	mu       sync.Mutex
	cancel   context.CancelFunc
	canceled bool

	run  func(context.Context)
	done chan struct{}
}

// Outside makes a link for stores in bubbles. Call it outside of them.
func Outside(t testing.TB, link jet.Link) jet.Link {
	o := &outside{link, make(chan *call, 64), make(chan *call)}
	for range cap(o.free) {
		c := &call{done: make(chan struct{})}
		o.free <- c
		testgo.Go(t, func() { // ends with the test
			for c := range o.jobs {
				c.do()
			}
		})
	}
	t.Cleanup(func() { close(o.jobs) })
	return o
}

func (c *call) do() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.mu.Lock()
	c.cancel = cancel
	if c.canceled {
		cancel()
	}
	c.mu.Unlock()
	c.run(ctx)
	c.done <- struct{}{}
}

func (c *call) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.canceled = true
	if c.cancel != nil {
		c.cancel()
	}
}

func (o *outside) do(ctx context.Context, run func(context.Context)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := <-o.free
	c.cancel, c.canceled, c.run = nil, false, run
	over := make(chan struct{})
	forget := context.AfterFunc(ctx, func() {
		defer close(over)
		c.stop()
	})
	o.jobs <- c
	<-c.done
	if !forget() {
		<-over // it must not stop the next request of this call
	}
	o.free <- c
	return nil
}

func (o *outside) Request(ctx context.Context, try int, m *nats.Msg) (answer *nats.Msg, err error) {
	if ended := o.do(ctx, func(ctx context.Context) { answer, err = o.link.Request(ctx, try, m) }); ended != nil {
		return nil, ended
	}
	return answer, err
}

func (o *outside) Collect(ctx context.Context, try int, m *nats.Msg) (list []*nats.Msg, err error) {
	if ended := o.do(ctx, func(ctx context.Context) { list, err = o.link.Collect(ctx, try, m) }); ended != nil {
		return nil, ended
	}
	return list, err
}
