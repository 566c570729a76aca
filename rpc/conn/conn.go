package conn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/sourcegraph/jsonrpc2"
)

// Conn is one connection of a client: requests come in, answers and updates go out.
type Conn struct {
	stream *stream
	log    *slog.Logger
}

// Config is what a [Conn] depends on.
type Config struct {
	Log      *slog.Logger // required
	Limit    int          // bytes of a message, in and out
	Protocol Protocol
}

// New makes a connection that ends with ctx. [Conn.Serve] must be called: it closes the frames.
func New(ctx context.Context, f Frames, c Config) *Conn {
	return &Conn{stream: newStream(ctx, f, c.Limit, c.Protocol), log: c.Log}
}

// Speak changes the protocol, and how large a message may be. A handler calls it, or the caller of Serve before.
func (c *Conn) Speak(p Protocol, limit int) {
	c.stream.protocol, c.stream.limit = p, limit
	if f, ok := c.stream.frames.(interface{ SetLimit(int) }); ok {
		f.SetLimit(limit)
	}
}

// Serve serves the connection until its end. It passes requests to handle one after another, in the order sent, on one
// goroutine, which reads the next request when handle has returned. So handle must not wait: an answer that takes time
// is sent later, from another goroutine. Updates are written after the answer to a request that is being handled.
//
// Serve returns nil at the end of the client's input, the cause when the context has ended, the error of a read or
// write that failed (a client that hangs up while it is written to), or why we ended the connection. Then nothing of it
// is left running. What waits when the end comes has five seconds to be written.
func (c *Conn) Serve(handle func(*Call)) error {
	s := c.stream
	jsonrpc2.NewConn(s.ctx, s, handler{s, handle}, jsonrpc2.SetLogger(libraryLog{c.log}))
	writeErr := s.write() // returns when the stream was closed, and the reader ends then
	<-s.done
	cause := context.Cause(s.ctx)
	switch {
	case errors.Is(writeErr, ErrStalled):
		return writeErr // the reader may have been the first to find the connection closed
	case errors.Is(cause, io.EOF):
		return nil
	}
	return cause
}

// Context ends with the connection.
func (c *Conn) Context() context.Context { return c.stream.ctx }

// End ends the connection with a cause, from any goroutine.
func (c *Conn) End(cause error) { c.stream.end(cause) }

// Dropped returns how many responses of the client were dropped, because we had sent no request. Call it after Serve has returned.
func (c *Conn) Dropped() int { return c.stream.responses }

// Notify sends an update: a whole message, which nobody changes any more. It may be called from any goroutine but that
// of a handler, for it waits while the client is slow and while a request is being handled. It fails with [ErrGone] when
// the connection has ended, with the cause of ctx's end, or with an [*Error] for a message that is too large.
func (c *Conn) Notify(ctx context.Context, message []byte) error {
	return c.stream.notify(ctx, message)
}

// Subscribe makes a subscription to a source. The connection takes messages from it when it has room for them, after the
// first [Subscription.Ready]. A message may not be larger than the connection's limit. The caller closes the
// subscription when Serve has returned, at the latest.
func (c *Conn) Subscribe(s Source) *Subscription { return c.stream.out.subscribe(s) }

// handler gives the library's requests to ours.
type handler struct {
	stream *stream
	handle func(*Call)
}

// Handle runs one request. The library alternates between it and the stream's ReadObject, on one
// goroutine.
func (h handler) Handle(_ context.Context, library *jsonrpc2.Conn, req *jsonrpc2.Request) {
	call := h.stream.call(req.ID.Num)
	call.library = library
	h.handle(call)
}

// libraryLog gets what the library has to say, which is why it closed a connection.
type libraryLog struct{ log *slog.Logger }

func (l libraryLog) Printf(format string, args ...any) { l.log.Debug(fmt.Sprintf(format, args...)) }
