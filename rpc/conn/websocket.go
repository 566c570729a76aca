package conn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
)

const (
	pingEvery  = 30 * time.Second
	maxMissed  = 2  // pings in a row
	maxControl = 50 // pings and pongs from a client in a second

	// fragment is the most of a message in one frame. Between fragments there is room for a pong, which a client may
	// wait for while a large answer is on its way (RFC 6455, section 5.4).
	fragment = 128 << 10
)

// Reasons to end a WebSocket, in addition to those of all connections; closeCode has their codes.
var (
	errBinary      = errors.New("a message is text, not binary")
	errNotUTF8     = errors.New("the message is not UTF-8")
	errTooLarge    = errors.New("the message is too large")
	errSlowMessage = fmt.Errorf("the message was not whole in %v and 1s for each %d KiB", messageTime, messageRate>>10)
	errFlood       = fmt.Errorf("more than %d pings in a second", maxControl)
	errSilent      = fmt.Errorf("%d pings were not answered", maxMissed)
	errProtocol    = errors.New("not as RFC 6455 has it")
)

// closeCode is what a client reads for a cause (RFC 6455, section 7.4.1). A cause that is none of ours is a fault of
// ours, and its text may name what is no business of a client.
func closeCode(cause error) (websocket.StatusCode, string) {
	for _, row := range []struct {
		cause error
		code  websocket.StatusCode
	}{
		{ErrClosing, websocket.StatusGoingAway},
		{ErrExpired, 4001},
		{ErrRevoked, 4001},
		{ErrUnconfirmed, websocket.StatusTryAgainLater},
		{ErrStalled, websocket.StatusTryAgainLater},
		{errBinary, websocket.StatusUnsupportedData},
		{errNotUTF8, websocket.StatusInvalidFramePayloadData},
		{errTooLarge, websocket.StatusMessageTooBig},
		{errProtocol, websocket.StatusProtocolError},
		{ErrMalformed, websocket.StatusPolicyViolation},
		{errSlowMessage, websocket.StatusPolicyViolation},
		{errFlood, websocket.StatusPolicyViolation},
		{errSilent, websocket.StatusPolicyViolation},
	} {
		if errors.Is(cause, row.cause) {
			return row.code, row.cause.Error()
		}
	}
	if errors.Is(cause, context.Canceled) {
		return websocket.StatusGoingAway, ErrClosing.Error()
	}
	return websocket.StatusInternalError, "internal error"
}

// webSocketFrames are text messages of a WebSocket, each one JSON-RPC message.
//
// The library gets no context that ends: an expired one would cut the connection without a word. Deadlines are set on
// the connection beneath instead, where a missed one leaves room for the close frame.
type webSocketFrames struct {
	ws    *websocket.Conn
	conn  *socket
	limit int // bytes of a message

	// What follows belongs to the reader.
	message  []byte
	refused  error // what the next Read ends with
	second   time.Time
	controls int // in this second

	reading atomic.Bool // a Read is under way, so that pongs are seen

	closing sync.Once

	mu     sync.Mutex
	timer  *time.Timer // of the next ping
	missed int
	closed bool
	pings  sync.WaitGroup // those under way
}

// AcceptWebSocket answers the handshake, and offers one subprotocol. A message has at most limit bytes. The origin and
// the token are not checked here. With an error, the answer is written.
func AcceptWebSocket(w http.ResponseWriter, r *http.Request, subprotocol string, limit int) (Frames, error) {
	f := &webSocketFrames{limit: limit}
	h := &hijacker{ResponseWriter: w}
	var err error
	f.ws, err = websocket.Accept(h, r, &websocket.AcceptOptions{
		Subprotocols:       []string{subprotocol},
		InsecureSkipVerify: true, // the gate has looked at the origin
		CompressionMode:    websocket.CompressionDisabled,
		OnPingReceived:     func(context.Context, []byte) bool { return f.control() },
		OnPongReceived:     func(context.Context, []byte) { f.control() },
	})
	if err != nil {
		return nil, err
	}
	f.conn = h.conn
	f.ws.SetReadLimit(-1) // read counts itself: the client is answered before the connection ends
	f.mu.Lock()
	defer f.mu.Unlock()
	f.timer = time.AfterFunc(pingEvery, f.ping) // each sets the next; Close stops and waits
	return f, nil
}

// Read is the next message. One that is too large is answered, and then the connection ends: the rest of it could be
// skipped, but the length of a fragmented message is unknown.
func (f *webSocketFrames) Read() ([]byte, error) {
	if f.refused != nil {
		return nil, f.refused
	}
	f.reading.Store(true)
	defer f.reading.Store(false)
	if cap(f.message) > keepBuffer {
		f.message = nil
	}
	kind, r, err := f.ws.Reader(context.Background())
	if err != nil {
		return nil, f.failed(err)
	}
	if kind != websocket.MessageText {
		return nil, errBinary
	}
	f.conn.beginMessage()
	if err := f.readAll(r); err != nil {
		return nil, err
	}
	f.conn.endMessage()
	switch {
	case f.isClosed():
		return nil, ErrGone // it came behind our close frame
	case len(f.message) == 0:
		return nil, ErrParse
	case !utf8.Valid(f.message): // the library leaves this to us; RFC 6455, section 8.1, ends the connection
		return nil, errNotUTF8
	}
	return f.message, nil
}

func (f *webSocketFrames) readAll(r io.Reader) error {
	f.message = f.message[:0]
	for {
		if n := len(f.message); n == cap(f.message) { // twice the room each time, up to the limit: see keep
			f.message = slices.Grow(f.message, max(512, min(n, f.limit-n)))
		}
		n, err := r.Read(f.message[len(f.message):cap(f.message)])
		f.message = f.message[:len(f.message)+n]
		switch {
		case len(f.message) > f.limit:
			f.message, f.refused = nil, errTooLarge
			return TooLarge("the message", f.limit)
		case errors.Is(err, io.EOF) && f.conn.readError() == nil: // the library takes the connection's end for a message's
			return nil
		case err != nil:
			return f.failed(err)
		}
	}
}

// failed is the reason why reading failed. Errors of the library have no types.
func (f *webSocketFrames) failed(err error) error {
	broken := f.conn.readError()
	switch {
	case f.conn.interruptedBy() != nil:
		return f.conn.interruptedBy()
	case websocket.CloseStatus(err) != -1, errors.Is(broken, io.EOF):
		return io.EOF
	case errors.Is(broken, os.ErrDeadlineExceeded):
		return errSlowMessage
	case broken != nil:
		return broken
	case errors.Is(err, context.DeadlineExceeded):
		return ErrStalled // for five seconds there was no room for a pong
	case f.isClosed():
		return ErrGone
	}
	return fmt.Errorf("%w: %w", errProtocol, err)
}

// control counts a ping or a pong, and reports whether it is worth an answer. The reader calls it.
func (f *webSocketFrames) control() bool {
	if now := time.Now(); now.Sub(f.second) >= time.Second {
		f.second, f.controls = now, 0
	}
	f.controls++
	if f.controls > maxControl {
		f.conn.interrupt(errFlood)
		return false
	}
	return true
}

// ping checks that the client is there: any byte since the last ping shows it. While the reader does not read, nothing
// is known, and no ping counts as missed.
func (f *webSocketFrames) ping() {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return
	}
	f.pings.Add(1)
	defer f.pings.Done()
	f.timer.Reset(pingEvery)
	f.missed++
	if f.conn.receivedMore() || !f.reading.Load() {
		f.missed = 0
	}
	silent := f.missed >= maxMissed
	f.mu.Unlock()
	if silent {
		f.conn.interrupt(errSilent)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), pingEvery)
	defer cancel()
	_ = f.ws.Ping(ctx) // what matters of its answer is seen above
}

// Write writes messages in order. Frames are gathered, so that many messages are one write.
func (f *webSocketFrames) Write(messages [][]byte) error {
	f.conn.hold()
	defer f.conn.release()
	for _, m := range messages {
		if err := f.write(m); err != nil {
			return err
		}
	}
	return f.conn.flush()
}

func (f *webSocketFrames) write(message []byte) error {
	if len(message) <= fragment {
		if err := f.ws.Write(context.Background(), websocket.MessageText, message); err != nil {
			return err
		}
		return f.conn.flushAbove(pieceSize)
	}
	w, err := f.ws.Writer(context.Background(), websocket.MessageText)
	if err != nil {
		return err
	}
	for piece := range slices.Chunk(message, fragment) {
		if _, err := w.Write(piece); err != nil {
			return err
		}
		if err := f.conn.flushAbove(pieceSize); err != nil {
			return err
		}
	}
	return w.Close()
}

func (f *webSocketFrames) isClosed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

// Close sends the client the cause and waits a moment for its answer. A frame that is under way has that time to be
// taken as well; a client that takes nothing will not read the code.
func (f *webSocketFrames) Close(cause error) (err error) {
	f.closing.Do(func() {
		f.mu.Lock()
		f.closed = true
		f.timer.Stop()
		f.mu.Unlock()
		last := closeTime
		if errors.Is(cause, ErrRevoked) {
			last = revokeLimit
		}
		f.conn.finish(time.Now().Add(last))
		if errors.Is(cause, io.EOF) {
			err = f.ws.CloseNow()
		} else {
			err = f.ws.Close(closeCode(cause))
		}
		f.pings.Wait() // they end with the connection
	})
	return err
}
