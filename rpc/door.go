package rpc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/thinkd/thinkd/rpc/conn"
)

// Door joins a client on a pipe to the daemon, whichever process that is. It reads the client's frames, hands the
// messages on as they are, and hands back what the daemon says in the client's framing.
//
// When the daemon goes, the door answers the requests in flight with 1006, takes the next daemon, says the client's
// initialize again, and sends stale for each session that the client had subscribed to. What the client sends meanwhile
// waits, up to 8 MiB, and goes to the new daemon.
type Door struct {
	// Client is the pipe. Closing it must end a Read and a Write under way; Run closes it.
	Client io.ReadWriteCloser

	// ACP says that the client speaks the Agent Client Protocol. Its initialize is said again as well, and each session that
	// it had open is resumed; it hears of no stale.
	ACP bool

	// Dial finds the daemon or starts one. It gives up by itself, or when ctx ends.
	Dial func(ctx context.Context) (*Link, error)
}

// errLeft ends the search for a daemon when there is no client any more.
var errLeft = errors.New("the client has gone")

// Run is one life of a client. It returns nil when the client's input has ended and what it had asked is answered, as
// far as that is at once; the cause when ctx has ended; Dial's error when there is no daemon to be had, after
// everything was answered with 1006; or the error of a read or write that failed. Then nothing of it is left running.
func (d Door) Run(ctx context.Context) error {
	link, err := d.Dial(ctx)
	if err != nil {
		return errors.Join(err, d.Client.Close())
	}
	limit, words := link.Status.MessageBytes, nativeWords
	if d.ACP {
		limit, words = max(limit, acpMessageBytes), acpWords
	}
	link.becomeDoor(words.protocol) // one that goes meanwhile is found gone below
	c := &crossing{
		door: d, client: conn.NewByteFrames(d.Client, limit), owed: newLedger(words),
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

// crossing is a door in use.
type crossing struct {
	door   Door
	client *conn.ByteFrames
	in     *conn.Queue   // from the client; closed when it has left
	out    *conn.Queue   // to the client
	left   chan struct{} // closed when the client's input has ended
	owed   *ledger
	end    context.CancelCauseFunc

	readErr error // why the client's input ended; after that
}

// read takes what the client says until it leaves.
func (c *crossing) read(ctx context.Context) error {
	defer close(c.left)
	defer c.in.Close()
	for malformed := 0; malformed < conn.MaxMalformed; {
		frame, err := c.client.Read()
		if refused, ok := errors.AsType[*conn.Error](err); ok {
			malformed++
			message, err := conn.EncodeFailure("", refused)
			if err == nil {
				err = c.out.Put(ctx, conn.Answer, message)
			}
			if err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		malformed = 0
		if err := c.in.Put(ctx, conn.Answer, bytes.Clone(frame)); err != nil {
			return err
		}
	}
	return conn.ErrMalformed
}

func (c *crossing) write() error {
	for {
		messages := c.out.Take()
		if messages == nil {
			return nil
		}
		if err := c.client.Write(messages); err != nil {
			return err
		}
		c.out.Written()
	}
}

const (
	// shortLife is how long a daemon lives at least that is worth another one after it.
	shortLife = time.Second

	// maxShortLives is how many daemons in a row may live shorter and say nothing.
	maxShortLives = 5
)

var errShortLives = errors.New("the daemon ends as soon as it has started; thinkd.log in the data directory may say why")

// follow hands messages on to one daemon after another. It returns nil when the client has left.
func (c *crossing) follow(ctx context.Context, link *Link) error {
	for short := 0; ; {
		began := time.Now()
		heard, done := c.join(ctx, link)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case done:
			return nil
		}
		if err := c.answerOwed(ctx); err != nil {
			return err
		}
		if short++; heard || time.Since(began) >= shortLife {
			short = 0
		}
		var err error
		if short == maxShortLives {
			err = errShortLives
		} else {
			link, err = c.next(ctx, time.Duration(link.Status.SpreadMS)*time.Millisecond)
		}
		if err != nil {
			c.in.Close()
			for _, message := range c.in.Take() { // what no daemon was told
				c.owed.asks(message)
			}
			answerErr := c.answerOwed(ctx)
			if errors.Is(err, errLeft) {
				return answerErr
			}
			return errors.Join(err, answerErr)
		}
	}
}

// join hands messages on until the daemon goes, or the client. It reports whether the daemon said anything, and whether
// the client has left and the daemon was told all of what it had asked.
func (c *crossing) join(ctx context.Context, link *Link) (heard, done bool) {
	defer link.Close()
	stop := context.AfterFunc(ctx, func() { link.Close() })
	defer stop()
	gone := make(chan struct{})
	var sending sync.WaitGroup
	sending.Go(func() { done = c.send(link, gone) }) // ends when gone is closed, or the link
	for {
		frame, err := link.frames.Read()
		if err != nil {
			break
		}
		if link.unheard {
			link.unheard = false
			continue
		}
		heard = true
		c.owed.hears(frame)
		if c.out.Put(ctx, conn.Update, bytes.Clone(frame)) != nil {
			break // ctx has ended
		}
	}
	close(gone)
	link.Close()
	sending.Wait()
	return heard, done
}

// send tells the daemon what the client says. When the client has left, the daemon hears of it, and has conn.DrainLimit for
// what it still has to say: then all is done.
func (c *crossing) send(link *Link, gone <-chan struct{}) (done bool) {
	for {
		messages := c.in.TakeUntil(gone)
		if messages == nil {
			break
		}
		for _, m := range messages {
			c.owed.asks(m)
		}
		err := link.frames.Write(messages)
		c.in.Written()
		if err != nil {
			link.Close() // which ends the reader
			return false
		}
	}
	select {
	case <-gone:
		return false
	default:
	}
	if link.closeWrite() != nil {
		link.Close()
		return false
	}
	drain := time.NewTimer(conn.DrainLimit)
	defer drain.Stop()
	select {
	case <-gone:
	case <-drain.C:
		link.Close()
	}
	return true
}

// next is the next daemon, told what this client is. The client is told what it has to attach to again. It is looked for
// after any time below spread: the first door to look starts it, and not all of them at once.
func (c *crossing) next(ctx context.Context, spread time.Duration) (*Link, error) {
	ctx, stop := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() { // ends with ctx, awaited below
		defer close(watched)
		select {
		case <-c.left:
			stop(errLeft)
		case <-ctx.Done():
		}
	}()
	defer func() { stop(nil); <-watched }()
	select {
	case <-c.left:
		return nil, errLeft // nothing is started for nobody
	default:
	}
	if err := apart(ctx, spread); err != nil {
		return nil, err
	}
	link, err := c.door.Dial(ctx)
	switch {
	case ctx.Err() != nil && err == nil:
		link.Close()
		return nil, context.Cause(ctx)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	}
	if !c.introduce(ctx, link) {
		link.Close()
		return link, nil // join finds it closed, and counts it
	}
	for _, message := range c.owed.words.stale(c.owed) {
		if err := c.out.Put(ctx, conn.Update, message); err != nil {
			link.Close()
			return nil, err
		}
	}
	return link, nil
}

// introduce says the client's initialize again, and is false if this daemon went as well.
func (c *crossing) introduce(ctx context.Context, link *Link) bool {
	if !link.becomeDoor(c.owed.words.protocol) {
		return false
	}
	link.Notify = func(n Notification) error { return c.out.Put(ctx, conn.Update, bytes.Clone(n.Raw)) }
	defer func() { link.Notify = nil }()
	for _, said := range c.owed.introduction() {
		if !link.tell(said.method, said.params) {
			return false
		}
	}
	return true
}

// answerOwed gives every request in flight its answer.
func (c *crossing) answerOwed(ctx context.Context) error {
	messages, err := c.owed.settle()
	for _, m := range messages {
		err = errors.Join(err, c.out.Put(ctx, conn.Answer, m))
	}
	return err
}
