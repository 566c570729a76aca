package conn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/tidwall/gjson"
)

const (
	// MaxInFlight is how many requests of one connection may be without their answers.
	MaxInFlight = 256

	maxUrgent = 16 // more, of Protocol.Urgent: it ends what fills the connection

	// DrainLimit is how long what waits may still be written after the end of a connection.
	DrainLimit = 5 * time.Second
)

// ErrCancelled is the cause of a request's end by its client.
var ErrCancelled = errors.New("cancelled by the client")

// Protocol has the points in which the protocols on a connection differ.
type Protocol struct {
	Cancel, CancelID string             // the notification that cancels a request, and its member with the id
	Urgent           string             // the method that may come when MaxInFlight are in flight
	Single           bool               // batches are refused
	Response         func(frame []byte) // gets the answers to what we ask; nil: we ask nothing. It must not wait.
}

// stream is a connection as the JSON-RPC library sees it (a jsonrpc2.ObjectStream): checked requests with numbers for
// ids, one after the other, and answers to them.
//
//	frames.Read ──► check ──► batch ──► admit ──► {"id":7,"method":"…"} ──► the library ──► handle(Call)
//	                  │         │         │ calls[7] = Call{id, params, …}                      │
//	                  ▼         ▼         ▼                                                     ▼
//	frames.Write ◄── queue ◄────┴──── answers ◄──── WriteObject({"id":7}) ◄── the library ◄── Call.Send
//
// Params, ids and results do not pass through the library, which would decode params into maps, refuses some ids and
// changes others. They wait here as a [Call] meanwhile, under the number that the library has for an id.
//
// The library calls ReadObject and its handler alternately, on one goroutine. All that reading does (batches, the hold on
// updates, cancelling) belongs to that goroutine. Another one writes, see write.
type stream struct {
	frames   Frames
	limit    int // bytes of a message, in and out
	out      *Queue
	ctx      context.Context // of this connection: ends with it
	end      context.CancelCauseFunc
	protocol Protocol

	// What follows belongs to the reading goroutine.
	batch     *batch
	malformed int           // in a row
	responses int           // dropped: we asked nothing
	done      chan struct{} // closed by ReadObject with its error, after which the library calls it no more

	mu      sync.Mutex
	calls   map[uint64]*Call
	ids     map[string]uint64 // of requests in flight, as sent: 1 and 1.0 are two ids, since both come back as they were
	last    uint64
	drain   *time.Timer // bounds what is written after the end
	written bool        // nothing more is
}

// Call is a request from its admission to its answer. Exactly one answer is sent.
type Call struct {
	stream  *stream
	library *jsonrpc2.Conn
	number  uint64 // that the library has for its id
	id      string // as sent; empty: a notification, which is not answered
	method  string
	quoted  []byte // the method as sent
	params  json.RawMessage
	batch   *batch // nil: it stands alone
	place   int    // in the batch
	answer  []byte // set before the library sends
	ctx     context.Context
	end     context.CancelCauseFunc
}

// Method returns the method's name.
func (c *Call) Method() string { return c.method }

// Params are an object or an array; nil: there are none. They are valid until the handler returns.
func (c *Call) Params() json.RawMessage { return c.params }

// Context ends with the answer, with cause [ErrCancelled] when the client cancels the request, and with the connection.
func (c *Call) Context() context.Context { return c.ctx }

// ContextWithID is Context with the id of the request, for [RequestID].
func (c *Call) ContextWithID() context.Context { return context.WithValue(c.ctx, requestID{}, c.id) }

// requestID is the key of a request's id in its context.
type requestID struct{}

// RequestID returns the id of the request, as JSON, for a context of [Call.ContextWithID]; null for other contexts and for a notification.
func RequestID(ctx context.Context) json.RawMessage {
	id, _ := ctx.Value(requestID{}).(string)
	if id == "" {
		return json.RawMessage("null")
	}
	return json.RawMessage(id)
}

// InBatch says that the answer must be sent before the handler returns.
func (c *Call) InBatch() bool { return c.batch != nil }

// Result encodes the answer to a request that went well. If that is too large, it is an error that says so. also is nil, or a JSON
// object whose members are added if the value is an object and there is room for them.
func (c *Call) Result(value any, also []byte) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(`{"jsonrpc":"2.0","id":`)
	b.WriteString(c.id)
	b.WriteString(`,"result":`)
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	b.Truncate(b.Len() - 1) // the encoder's newline
	if text := b.Bytes(); len(also) > 0 && text[len(text)-1] == '}' && b.Len()+len(also) < c.stream.limit {
		b.Truncate(b.Len() - 1)
		if text[len(text)-2] != '{' {
			b.WriteByte(',')
		}
		b.Write(also[1:])
	}
	b.WriteByte('}')
	if b.Len() > c.stream.limit {
		return c.Failure(TooLarge("the answer", c.stream.limit))
	}
	return b.Bytes(), nil
}

// Failure encodes the answer to a failed request.
func (c *Call) Failure(e *Error) ([]byte, error) { return EncodeFailure(c.id, e) }

// Send sends the answer, which Result or Failure made. It may be called from any goroutine, and waits while the client
// is slow. It fails when the connection has ended.
func (c *Call) Send(answer []byte) error {
	c.answer = answer
	null := json.RawMessage("null") // the library's result; the stream has the real one
	return c.library.SendResponse(c.ctx, &jsonrpc2.Response{ID: jsonrpc2.ID{Num: c.number}, Result: &null})
}

// newStream begins a connection that ends with ctx. The caller hands the stream to the library and runs write.
func newStream(ctx context.Context, f Frames, limit int, p Protocol) *stream {
	s := &stream{frames: f, limit: limit, protocol: p, out: NewQueue(), done: make(chan struct{}),
		calls: make(map[uint64]*Call), ids: make(map[string]uint64)}
	s.ctx, s.end = context.WithCancelCause(ctx)
	return s
}

// ReadObject gives the library the next request.
func (s *stream) ReadObject(v any) error {
	object, err := s.next()
	if err == nil {
		err = context.Cause(s.ctx) // what comes after the end takes no effect, however long the end takes
	}
	if err == nil {
		err = json.Unmarshal(object, v)
	}
	if err != nil {
		s.end(err)
		close(s.done)
	}
	return err
}

// next is a request in the library's terms. What was handled before it has its answer in the queue by now, unless
// that is late.
func (s *stream) next() ([]byte, error) {
	for {
		if s.batch != nil {
			if object, err := s.nextOfBatch(); object != nil || err != nil {
				return object, err
			}
		}
		s.out.hold(false)
		if s.malformed >= MaxMalformed {
			return nil, ErrMalformed
		}
		frame, err := s.frames.Read()
		if refused, ok := errors.AsType[*Error](err); ok {
			s.malformed++
			err = s.refuse("", refused)
			frame = nil
		}
		if err != nil {
			return nil, err
		}
		if frame == nil {
			continue
		}
		if object, err := s.readFrame(frame); object != nil || err != nil {
			return object, err
		}
	}
}

// readFrame is the request in a frame; nil: there is none, or there is a batch now.
func (s *stream) readFrame(frame []byte) ([]byte, error) {
	isBatch, refused := checkFrame(frame)
	if isBatch && refused == nil && s.protocol.Single {
		refused = InvalidRequest("this protocol has no batches")
	}
	if isBatch && refused == nil {
		s.batch, refused = newBatch(frame)
	}
	switch {
	case refused != nil:
		s.malformed++
		return nil, s.refuse("", refused)
	case isBatch:
		return nil, nil
	}
	m, refused := readMessage(frame)
	if refused != nil {
		s.malformed++
		return nil, s.refuse(m.ID, refused)
	}
	s.malformed = 0
	if m.Response && s.protocol.Response != nil {
		s.protocol.Response(frame)
		return nil, nil
	}
	object, refused := s.admit(m, nil, 0)
	if refused != nil {
		return nil, s.refuse(m.ID, refused)
	}
	return object, nil
}

// nextOfBatch is the batch's next request; nil: it has no more, and its answers are in the queue.
func (s *stream) nextOfBatch() ([]byte, error) {
	b := s.batch
	for b.next < len(b.elements) {
		place := b.next
		b.next++
		m, refused := readMessage(b.elements[place])
		b.ids[place] = m.ID
		if refused == nil {
			b.sound = true
			var object []byte
			if object, refused = s.admit(m, b, place); object != nil {
				b.taken = append(b.taken, m.ID)
				return object, nil
			}
		}
		if refused != nil {
			var err error
			if b.answers[place], err = EncodeFailure(m.ID, refused); err != nil {
				return nil, err
			}
		}
	}
	return nil, s.finishBatch()
}

func (s *stream) finishBatch() error {
	b := s.batch
	s.batch = nil
	s.malformed++
	if b.sound {
		s.malformed = 0
	}
	array, err := b.join(s.limit)
	if err != nil {
		return err
	}
	s.mu.Lock()
	for _, id := range b.taken {
		delete(s.ids, id)
	}
	s.mu.Unlock()
	if array == nil {
		return nil
	}
	return s.out.Put(s.ctx, Answer, array)
}

// admit makes a call of a message, nil if it is none. A refusal of a notification goes nowhere.
func (s *stream) admit(m Message, b *batch, place int) ([]byte, *Error) {
	if m.Response {
		s.responses++
		return nil, nil
	}
	if m.ID == "" && m.Method == s.protocol.Cancel {
		s.cancel(m.Params)
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var refused *Error
	switch _, taken := s.ids[m.ID]; {
	case taken && m.ID != "":
		refused = InvalidRequest("a request with this id is in flight")
	case len(s.calls) >= MaxInFlight && !(m.Method == s.protocol.Urgent && len(s.calls) < MaxInFlight+maxUrgent):
		refused = &Error{Code: CodeOverloaded, Message: fmt.Sprintf("%d requests are in flight", MaxInFlight)}
	}
	if refused != nil {
		if m.ID == "" {
			return nil, nil
		}
		return nil, refused
	}
	s.last++
	c := &Call{stream: s, number: s.last, id: m.ID, method: m.Method, quoted: m.quoted, params: m.Params, batch: b, place: place}
	c.ctx, c.end = context.WithCancelCause(s.ctx)
	s.calls[c.number] = c
	if c.id != "" {
		s.ids[c.id] = c.number
	}
	s.out.hold(true)
	return fmt.Appendf(nil, `{"id":%d,"method":%s}`, c.number, m.quoted), nil
}

// cancel ends the context of the request in flight that has the id, if there is one.
func (s *stream) cancel(params json.RawMessage) {
	if len(params) == 0 || params[0] != '{' {
		return
	}
	for name, value := range Members(params) {
		if name != s.protocol.CancelID {
			continue
		}
		s.mu.Lock()
		if c := s.calls[s.ids[string(value)]]; c != nil {
			c.end(ErrCancelled)
		}
		s.mu.Unlock()
	}
}

// call is the request that the library has under a number.
func (s *stream) call(number uint64) *Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[number]
}

// WriteObject is called by the library when a call has its answer. It queues the answer, or adds it to the batch.
func (s *stream) WriteObject(object any) error {
	encoded, err := json.Marshal(object)
	if err != nil {
		return err
	}
	number := gjson.GetBytes(encoded, "id").Uint()
	s.mu.Lock()
	c := s.calls[number]
	if c != nil {
		delete(s.calls, number)
		if c.batch == nil { // in a batch an id is free when the array is out
			delete(s.ids, c.id)
		}
	}
	s.mu.Unlock()
	if c == nil {
		return fmt.Errorf("no request %d is in flight", number)
	}
	c.end(nil)
	switch {
	case s.ctx.Err() != nil:
		return ErrGone // the end itself may have caused this answer
	case c.id == "":
		return nil
	case c.batch != nil:
		c.batch.answers[c.place] = c.answer
		return nil
	}
	return s.out.Put(s.ctx, Answer, c.answer)
}

// refuse answers what the library never sees. An empty id is null.
func (s *stream) refuse(id string, refused *Error) error {
	message, err := EncodeFailure(id, refused)
	if err != nil {
		return err
	}
	return s.out.Put(s.ctx, Answer, message)
}

// notify queues an update. It waits while the client is slow and while a request is being handled.
func (s *stream) notify(ctx context.Context, message []byte) error {
	if len(message) > s.limit {
		return TooLarge("an update", s.limit)
	}
	return s.out.Put(ctx, Update, message)
}

// write writes until the connection has ended and what waited is out, and closes it. It runs on the goroutine that
// serves the connection.
func (s *stream) write() error {
	defer s.finish()
	for {
		messages := s.out.Take()
		if messages == nil {
			return nil
		}
		if err := s.frames.Write(messages); err != nil {
			s.end(err)
			return err
		}
		s.out.Written()
	}
}

func (s *stream) finish() {
	s.mu.Lock()
	s.written = true
	if s.drain != nil {
		s.drain.Stop()
	}
	s.mu.Unlock()
	s.out.Close()
	s.frames.Close(context.Cause(s.ctx)) // the reader or the writer has reported its error
}

// Close ends the connection: nothing more is taken in, and what waits has DrainLimit to be written, unless the client has
// no right to it any more. The library calls it once, when the connection's context has ended or ReadObject has failed.
func (s *stream) Close() error {
	s.end(ErrGone)
	s.out.Close()
	limit, why := DrainLimit, ErrStalled
	if cause := context.Cause(s.ctx); errors.Is(cause, ErrRevoked) {
		limit, why = revokeLimit, cause
		s.out.forget()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.written {
		s.drain = time.AfterFunc(limit, func() { s.frames.Close(why) })
	}
	return nil
}
