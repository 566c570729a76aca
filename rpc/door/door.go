package door

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/thinkd/thinkd/rpc/conn"
)

// Door joins a client on a pipe to the daemon, also when another process takes its place. It reads the client's frames, sends the
// messages on as they are, and returns what the daemon sends in the client's framing.
//
// When the daemon ends, the door answers the requests in flight with 1006, takes the next daemon, repeats the client's
// initialize, and sends stale for each session that the client had subscribed to. What the client sends meanwhile
// waits, up to 8 MiB, and goes to the new daemon.
type Door struct {
	// Client is the pipe. Closing it must end a Read and a Write under way; Run closes it.
	Client io.ReadWriteCloser

	// ACP says that the client speaks the Agent Client Protocol. Its initialize is repeated as well, and each session that
	// it had open is resumed; it gets no stale.
	ACP bool

	// Dial finds the daemon or starts one. It returns an error after some time, or when ctx ends.
	Dial func(ctx context.Context) (*Link, error)
}

// Run serves a client until its end. When the client's input has ended and its requests are answered, except late ones, Run returns nil.
// When ctx has ended, it returns the cause. If there is no daemon, it answers all requests with 1006 and returns Dial's error. It also
// returns the error of a failed read or write. When it has returned, nothing of it is left running.
func (d Door) Run(ctx context.Context) error {
	link, err := d.Dial(ctx)
	if err != nil {
		return errors.Join(err, d.Client.Close())
	}
	limit, dialect := cmp.Or(link.Status.MessageBytes, conn.DefaultMessageBytes), nativeDialect // a daemon of another machine does not say
	if d.ACP {
		limit, dialect = max(limit, ACPMessageBytes), acpDialect
	}
	link.becomeDoor(dialect.protocol) // one that goes meanwhile is found gone below
	c := &relay{
		dial: d.Dial, client: conn.NewByteFrames(d.Client, limit), ledger: newLedger(dialect),
		in: conn.NewQueue(), out: conn.NewQueue(), left: make(chan struct{}),
	}
	ctx, c.end = context.WithCancelCause(ctx)
	defer c.end(nil)
	var reading, writing sync.WaitGroup
	reading.Go(func() { c.readErr = c.read(ctx) }) // ends when the client's side is closed below
	writing.Go(func() {                            // ends when out is closed below, and empty
		if err := c.write(); err != nil {
			c.end(err)
		}
	})
	err = c.follow(ctx, link)

	c.out.Close()
	drain := time.AfterFunc(conn.DrainLimit, func() { c.client.Close(conn.ErrStalled) })
	writing.Wait()
	drain.Stop()
	c.client.Close(err)
	c.in.Close()
	reading.Wait()
	switch {
	case err != nil:
		return err
	case errors.Is(c.readErr, io.EOF):
		return nil
	}
	return c.readErr
}
