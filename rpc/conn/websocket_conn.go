package conn

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"
)

// socket is the connection under a WebSocket. The library writes each frame alone, and a write costs a system call. So
// what it writes is gathered here, and goes out in pieces with a time limit each:
//
//	the writer:  hold ─► frame, frame, frame … ─► flush ─► release
//	the reader:              pong ─────────────────┘ goes out with the rest
//
// Only one goroutine sends at once. That is nearly always the writer, which holds the connection meanwhile. If the reader
// answers a ping then, its pong is only added to out, and the sender takes it along: reading never waits for writing.
type socket struct {
	net.Conn
	early []byte // what came with the handshake's request; the reader's

	mu       sync.Mutex
	idle     sync.Cond // no goroutine sends
	sending  bool
	stalled  bool // nothing more is sent, except within the time that finish set
	out      []byte
	spare    []byte    // for the next out
	broken   error     // of a write; there is no other
	readErr  error     // of the last read
	cause    error     // of an interruption
	last     time.Time // when all ends; zero: it does not
	received bool      // anything, since the last call of receivedMore
	begun    time.Time // the message that is being read; zero: none is
	size     int       // what came of it
}

// hijacker takes the connection from the HTTP server and gives the library one with buffers of its own: most
// connections are idle, and those of the server are large.
type hijacker struct {
	http.ResponseWriter
	conn *socket
}

const (
	webSocketReadBuffer  = 1 << 10
	webSocketWriteBuffer = 128 // for the headers of frames; the rest is gathered beneath

	messageTime = 30 * time.Second // a message has from its first frame to its last, and more while it comes
	messageRate = 16 << 10         // for so many bytes of it, it has a second more

	closeTime = time.Second // for what is on its way when we close, and for the client's own close
)

func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early, err := rw.Reader.Peek(rw.Reader.Buffered())
	if err == nil {
		err = rw.Writer.Flush() // the answer to the handshake
	}
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	h.conn = &socket{Conn: conn, early: slices.Clone(early), received: true}
	h.conn.idle.L = &h.conn.mu
	return h.conn, bufio.NewReadWriter(bufio.NewReaderSize(h.conn, webSocketReadBuffer),
		bufio.NewWriterSize(h.conn, webSocketWriteBuffer)), nil
}

func (c *socket) Read(p []byte) (int, error) {
	n, err := len(c.early), error(nil)
	if n > 0 {
		n = copy(p, c.early)
		c.early = c.early[n:]
	} else {
		n, err = c.Conn.Read(p)
	}
	c.mu.Lock()
	c.received = c.received || n > 0
	c.readErr = err
	if !c.begun.IsZero() {
		c.size += n
		c.boundMessage()
	}
	c.mu.Unlock()
	return n, err
}

func (c *socket) readError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.readErr
}

// receivedMore reports whether anything came since the last call.
func (c *socket) receivedMore() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	more := c.received
	c.received = false
	return more
}

// beginMessage bounds the time until endMessage. A client that sends nothing, or a byte now and then, is cut off after messageTime. A large
// message over a slow connection has more time as it comes: otherwise a picture would never arrive, however often its client connects again.
func (c *socket) beginMessage() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun, c.size = time.Now(), 0
	c.boundMessage()
}

func (c *socket) endMessage() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun = time.Time{}
	c.readBefore(time.Time{})
}

// boundMessage sets the time limit of the message that is being read. The caller holds mu.
func (c *socket) boundMessage() {
	c.readBefore(c.begun.Add(messageTime + time.Duration(c.size/messageRate)*time.Second))
}

// readBefore bounds reading; the zero time: it is not bounded. The caller holds mu.
func (c *socket) readBefore(t time.Time) {
	if c.cause == nil && c.last.IsZero() {
		c.Conn.SetReadDeadline(t) // fails on a closed connection only, and so does the read
	}
}

// interrupt ends a Read under way and all that follow, for a cause.
func (c *socket) interrupt(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil && c.last.IsZero() {
		c.cause = cause
		c.Conn.SetReadDeadline(time.Unix(1, 0))
	}
}

func (c *socket) interruptedBy() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// finish bounds all that is still read and written.
func (c *socket) finish(last time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = last
	c.Conn.SetDeadline(last)
}

// Write is called by the library, with one part of a frame, from any goroutine.
func (c *socket) Write(p []byte) (int, error) {
	c.mu.Lock()
	if c.broken != nil {
		defer c.mu.Unlock()
		return 0, c.broken
	}
	c.out = append(c.out, p...)
	if c.sending {
		c.mu.Unlock()
		return len(p), nil
	}
	c.sending = true
	c.mu.Unlock()
	defer c.release()
	if err := c.flush(); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close is called by the library when it has written everything: what was gathered goes out first. Then it waits for
// the client's own end, since a connection that is closed with bytes unread is reset, and the client would lose the
// close frame that it has not read yet. All that ends within closeTime.
func (c *socket) Close() error {
	c.mu.Lock()
	if c.last.IsZero() {
		c.last = time.Now().Add(closeTime)
		c.Conn.SetDeadline(c.last)
	}
	c.mu.Unlock()
	c.hold()
	c.release()
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		io.Copy(io.Discard, c.Conn) // how it ends does not matter
	}
	return c.Conn.Close()
}

// hold makes the caller the one who sends, until release.
func (c *socket) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.sending {
		c.idle.Wait()
	}
	c.sending = true
}

// release sends what others added meanwhile, and lets another send. What it cannot send waits for the next, or for
// nobody where the connection is broken.
func (c *socket) release() {
	var err error
	for {
		c.mu.Lock()
		if len(c.out) == 0 || err != nil || c.stalled && c.last.IsZero() {
			break
		}
		c.mu.Unlock()
		err = c.flush()
	}
	c.sending = false
	c.idle.Signal()
	c.mu.Unlock()
}

// flushAbove keeps what is gathered small.
func (c *socket) flushAbove(size int) error {
	c.mu.Lock()
	waits := len(c.out)
	c.mu.Unlock()
	if waits < size {
		return nil
	}
	return c.flush()
}

// flush sends what was gathered. ErrStalled says that the client took nothing for stallLimit; what it has not taken
// stays at the front, so that a close frame may still follow it. Only the one who sends calls it.
func (c *socket) flush() error {
	c.mu.Lock()
	data, err := c.out, c.broken
	c.out, c.spare = c.spare[:0], nil
	c.mu.Unlock()
	rest := data
	for len(rest) > 0 && err == nil {
		piece := rest[:min(len(rest), pieceSize)]
		c.writeBefore(time.Now().Add(stallLimit))
		var n int
		n, err = c.Conn.Write(piece)
		rest = rest[n:]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.Is(err, os.ErrDeadlineExceeded) && c.last.IsZero() {
		c.out, c.stalled = append(rest, c.out...), true
		return ErrStalled
	}
	if err != nil {
		c.broken = fmt.Errorf("write: %w", err)
		return err
	}
	if c.spare == nil && cap(data) <= keepBuffer {
		c.spare = data
	}
	return nil
}

func (c *socket) writeBefore(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last.IsZero() {
		c.Conn.SetWriteDeadline(t)
	}
}
