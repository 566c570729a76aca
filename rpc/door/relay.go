package door

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/rpc/conn"
)

// errLeft ends the search for a daemon when there is no client any more.
var errLeft = errors.New("the client disconnected")

// relay joins a client to one daemon after another.
//
//	client ──► read ──► in ──► send ──► daemon          ledger.sent(each)
//	client ◄── write ◄── out ◄── join ◄── daemon        ledger.received(each)
//
// read and write run as long as the client is there; send and join as long as one daemon is. When a daemon has ended,
// follow answers from the ledger what it left unanswered, finds the next daemon, repeats the client's initialize there,
// and puts stale for each session that the client follows. What the client sends meanwhile waits in the queue in, and
// goes to the next daemon. in and out are the bounded queues of package conn, so a side that does not read holds up the
// other one, and nothing grows.
type relay struct {
	dial   func(context.Context) (*Link, error)
	client *conn.ByteFrames
	in     *conn.Queue   // from the client; closed when it has left
	out    *conn.Queue   // to the client
	left   chan struct{} // closed when the client's input has ended
	ledger *ledger
	end    context.CancelCauseFunc

	refusals int // how many answers in a row said that a message is malformed

	readErr error // why the client's input ended; after that
}

// read takes what the client sends until it leaves.
func (c *relay) read(ctx context.Context) error {
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

func (c *relay) write() error {
	for {
		messages := c.out.Take()
		if messages == nil {
			return nil
		}
		if err := c.client.Write(messages); err != nil {
			return err
		}
		c.out.Written()
		tidy(messages)
	}
}

// largeMessages is from what size on, in bytes, the memory of messages that were passed on is given back to the system.
const largeMessages = 1 << 20

// tidy gives back the memory of messages that were passed on, if they were large. A door needs little memory and collects its garbage
// rarely, so Go would keep several copies of a large message for minutes. This takes about a ms, a fraction of what such messages cost.
func tidy(messages [][]byte) {
	size := 0
	for _, m := range messages {
		size += len(m)
	}
	if size >= largeMessages {
		debug.FreeOSMemory()
	}
}

const (
	// shortLife is how long a daemon lives at least that is worth another one after it.
	shortLife = time.Second

	// maxShortLives is how many daemons in a row may live shorter and say nothing.
	maxShortLives = 5
)

var errShortLives = errors.New("the daemon ends as soon as it has started; thinkd.log in the data directory may say why")

// follow relays messages with one daemon after another. It returns nil when the client has left.
func (c *relay) follow(ctx context.Context, link *Link) error {
	for short := 0; ; {
		began := time.Now()
		answered, done := c.join(ctx, link)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case done:
			return nil
		}
		if err := c.answerUnanswered(ctx); err != nil {
			return err
		}
		if c.refusals >= conn.MaxMalformed { // the daemon has ended this connection for it, and would end the next one
			return conn.ErrMalformed
		}
		if short++; answered || time.Since(began) >= shortLife {
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
			for _, message := range c.in.Take() { // what no daemon got
				c.ledger.sent(message)
			}
			answerErr := c.answerUnanswered(ctx)
			if errors.Is(err, errLeft) {
				return answerErr
			}
			return errors.Join(err, answerErr)
		}
	}
}

// join relays messages until the daemon ends, or the client leaves. It reports whether the daemon sent anything, and
// whether the client has left and the daemon got all of what it had asked.
func (c *relay) join(ctx context.Context, link *Link) (answered, done bool) {
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
		if link.skip {
			link.skip = false
			continue
		}
		answered = true
		c.ledger.received(frame)
		c.count(frame)
		if c.out.Put(ctx, conn.Update, bytes.Clone(frame)) != nil {
			break // ctx has ended
		}
	}
	close(gone)
	link.Close()
	sending.Wait()
	return answered, done
}

// count counts answers about malformed messages. Any other answer says that the client sends sound ones; notifications say nothing.
func (c *relay) count(frame []byte) {
	switch {
	case bytes.HasPrefix(frame, notificationStart):
	case isRefusal(frame):
		c.refusals++
	default:
		c.refusals = 0
	}
}

// isRefusal reports whether an answer, or each answer of a batch, refuses a message as malformed.
func isRefusal(frame []byte) bool {
	answers := []gjson.Result{gjson.ParseBytes(frame)}
	if frame[0] == '[' {
		answers = answers[0].Array()
	}
	for _, a := range answers {
		switch conn.Code(a.Get("error.code").Int()) {
		case conn.CodeParse, conn.CodeInvalidRequest, conn.CodeTooLarge:
		default:
			return false
		}
	}
	return true
}

// send gives the daemon what the client sends. When the client has left, it closes its direction of the link, and the
// daemon has conn.DrainLimit for what it still has to send: then all is done.
func (c *relay) send(link *Link, gone <-chan struct{}) (done bool) {
	for {
		messages := c.in.TakeUntil(gone)
		if messages == nil {
			break
		}
		for _, m := range messages {
			c.ledger.sent(m)
		}
		err := link.frames.Write(messages)
		c.in.Written()
		if err != nil {
			link.Close() // which ends the reader
			return false
		}
		tidy(messages)
	}
	select {
	case <-gone:
		return false
	default:
	}
	var answered <-chan struct{} // nil: the daemon ends the link when it has answered all
	if !link.halves() {
		answered = c.ledger.idle()
	} else if link.closeWrite() != nil {
		link.Close()
		return false
	}
	drain := time.NewTimer(conn.DrainLimit)
	defer drain.Stop()
	select {
	case <-gone:
	case <-answered:
		link.Close()
	case <-drain.C:
		link.Close()
	}
	return true
}

// next is the next daemon, which knows this client. The client gets stale for what it has to attach to again. The search
// begins after a random time below spread: the first door to look starts the daemon, and not all of them at once.
func (c *relay) next(ctx context.Context, spread time.Duration) (*Link, error) {
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
		return nil, errLeft // no daemon is started without a client
	default:
	}
	if err := waitRandom(ctx, spread); err != nil {
		return nil, err
	}
	link, err := c.dial(ctx)
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
	for _, message := range c.ledger.dialect.stale(c.ledger) {
		if err := c.out.Put(ctx, conn.Update, message); err != nil {
			link.Close()
			return nil, err
		}
	}
	return link, nil
}

// introduce repeats the client's initialize, and is false if this daemon has ended as well.
func (c *relay) introduce(ctx context.Context, link *Link) bool {
	if !link.becomeDoor(c.ledger.dialect.protocol) {
		return false
	}
	link.Notify = func(n Notification) error { return c.out.Put(ctx, conn.Update, bytes.Clone(n.Raw)) }
	defer func() { link.Notify = nil }()
	for _, r := range c.ledger.introduction() {
		if !link.ask(r.method, r.params) {
			return false
		}
	}
	return true
}

// answerUnanswered answers every request that the daemon left unanswered.
func (c *relay) answerUnanswered(ctx context.Context) error {
	messages, err := c.ledger.settle()
	for _, m := range messages {
		err = errors.Join(err, c.out.Put(ctx, conn.Answer, m))
	}
	return err
}

// waitRandom waits for a random time below a bound. The error is the cause of ctx's end, if that came first.
func waitRandom(ctx context.Context, bound time.Duration) error {
	timer := time.NewTimer(rand.N(max(bound, 1)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
