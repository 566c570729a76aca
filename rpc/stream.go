package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

const (
	maxInFlight  = 256 // requests of one connection without their answers
	maxCancels   = 16  // more, of session/cancel: it ends what fills the connection
	maxMalformed = 20  // messages in a row

	// drainLimit is how long what waits may still be written after the end of a connection.
	drainLimit = 5 * time.Second

	// revokeLimit is how long a write under way may take, and then the close, where the client's token is void: with the
	// look for a new token it is gone within a second.
	revokeLimit = 250 * time.Millisecond
)

var errMalformed = fmt.Errorf("%d malformed messages in a row", maxMalformed)

// Stream is a connection as the JSON-RPC library sees it (a jsonrpc2.ObjectStream): checked requests with ids of ours,
// one at a time, and answers to them. Params, ids and results do not pass through the library, which would decode
// params into maps, refuses some ids and changes others; they are kept here as a [call] meanwhile.
//
// The library calls ReadObject and its handler by turns on one goroutine. All that reading does (batches, the hold on
// updates, cancelling) belongs to that goroutine.
type Stream struct {
	frames frames
	limit  int // bytes of a message, in and out
	out    *queue
	ctx    context.Context // of this connection: ends with it
	end    context.CancelCauseFunc
	habits habits // set before anything is read that depends on them

	// What follows belongs to the reading goroutine.
	batch     *batch
	malformed int           // in a row
	responses int           // dropped: we asked nothing
	done      chan struct{} // closed by ReadObject with its error, after which the library calls it no more

	mu      sync.Mutex
	calls   map[uint64]*call
	ids     map[string]uint64 // of requests in flight, as sent: 1 and 1.0 are two ids, since both come back as they were
	last    uint64
	drain   *time.Timer // bounds what is written after the end
	written bool        // nothing more is
}

// habits is where the protocols on a Stream differ.
type habits struct {
	cancel, member string             // the notification that cancels a request, and its member with the id
	single         bool               // batches are refused
	response       func(frame []byte) // takes the answers to what we ask; nil: we ask nothing. It does not wait.
}

var nativeHabits = habits{cancel: "$/cancelRequest", member: "id"}

// call is a request from its admission to its answer.
type call struct {
	id     string // as sent; empty: a notification, which is not answered
	method string
	params json.RawMessage // valid until the handler that is called with it returns
	batch  *batch          // nil: it stands alone
	place  int             // in the batch
	answer []byte          // set by the handler before it sends
	ctx    context.Context // ends with the answer, by $/cancelRequest, and with the connection
	end    context.CancelCauseFunc
}

// newStream begins a connection that ends with ctx. The caller hands the stream to the library and runs write.
func newStream(ctx context.Context, f frames, limit int) *Stream {
	s := &Stream{frames: f, limit: limit, habits: nativeHabits, out: newQueue(), done: make(chan struct{}),
		calls: make(map[uint64]*call), ids: make(map[string]uint64)}
	s.ctx, s.end = context.WithCancelCause(ctx)
	return s
}

// ReadObject gives the library the next request.
func (s *Stream) ReadObject(v any) error {
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
func (s *Stream) next() ([]byte, error) {
	for {
		if s.batch != nil {
			if object, err := s.nextOfBatch(); object != nil || err != nil {
				return object, err
			}
		}
		s.out.hold(false)
		if s.malformed >= maxMalformed {
			return nil, errMalformed
		}
		frame, err := s.frames.Read()
		if refused, ok := errors.AsType[*Error](err); ok {
			s.malformed++
			err = s.answerRefused("", refused)
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
func (s *Stream) readFrame(frame []byte) ([]byte, error) {
	isBatch, refused := readFrame(frame)
	if isBatch && refused == nil && s.habits.single {
		refused = refuse("this protocol has no batches")
	}
	if isBatch && refused == nil {
		s.batch, refused = newBatch(frame)
	}
	switch {
	case refused != nil:
		s.malformed++
		return nil, s.answerRefused("", refused)
	case isBatch:
		return nil, nil
	}
	m, refused := readMessage(frame)
	if refused != nil {
		s.malformed++
		return nil, s.answerRefused(m.id, refused)
	}
	s.malformed = 0
	if m.response && s.habits.response != nil {
		s.habits.response(frame)
		return nil, nil
	}
	object, refused := s.admit(m, nil, 0)
	if refused != nil {
		return nil, s.answerRefused(m.id, refused)
	}
	return object, nil
}

// admit makes a call of a message, nil if it is none. A refusal of a notification goes nowhere.
func (s *Stream) admit(m message, b *batch, place int) ([]byte, *Error) {
	if m.response {
		s.responses++
		return nil, nil
	}
	if m.id == "" && m.method == s.habits.cancel {
		s.cancel(m.params)
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var refused *Error
	switch _, taken := s.ids[m.id]; {
	case taken && m.id != "":
		refused = refuse("a request with this id is in flight")
	case len(s.calls) >= maxInFlight && !(m.method == "session/cancel" && len(s.calls) < maxInFlight+maxCancels):
		refused = &Error{Code: CodeOverloaded, Message: fmt.Sprintf("%d requests are in flight", maxInFlight)}
	}
	if refused != nil {
		if m.id == "" {
			return nil, nil
		}
		return nil, refused
	}
	c := &call{id: m.id, method: m.method, params: m.params, batch: b, place: place}
	c.ctx, c.end = context.WithCancelCause(s.ctx)
	s.last++
	s.calls[s.last] = c
	if c.id != "" {
		s.ids[c.id] = s.last
	}
	s.out.hold(true)
	return fmt.Appendf(nil, `{"id":%d,"method":%s}`, s.last, m.quoted), nil
}

// cancel ends the context of the request in flight that has the id, if there is one.
func (s *Stream) cancel(params json.RawMessage) {
	if len(params) == 0 || params[0] != '{' {
		return
	}
	for name, value := range members(params) {
		if name != s.habits.member {
			continue
		}
		s.mu.Lock()
		if c := s.calls[s.ids[string(value)]]; c != nil {
			c.end(errCancelRequest)
		}
		s.mu.Unlock()
	}
}

// call is the request that the library has under a number.
func (s *Stream) call(number uint64) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[number]
}

// WriteObject takes the library's word that a call has its answer, and puts that where it belongs.
func (s *Stream) WriteObject(object any) error {
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
		return errGone // what the end itself caused is nobody's answer
	case c.id == "":
		return nil
	case c.batch != nil:
		c.batch.answers[c.place] = c.answer
		return nil
	}
	return s.out.put(s.ctx, answer, c.answer)
}

// answerRefused answers what the library never sees. An empty id is null.
func (s *Stream) answerRefused(id string, refused *Error) error {
	message, err := s.failure(id, refused)
	if err != nil {
		return err
	}
	return s.out.put(s.ctx, answer, message)
}

// result is the answer to a request that went well; tooLarge instead of one that is.
func (s *Stream) result(id string, value any) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(`{"jsonrpc":"2.0","id":`)
	b.WriteString(id)
	b.WriteString(`,"result":`)
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	b.Truncate(b.Len() - 1) // the encoder's newline
	b.WriteByte('}')
	if b.Len() > s.limit {
		return s.failure(id, tooLarge("the answer", s.limit))
	}
	return b.Bytes(), nil
}

// failure is the answer to a request that did not.
func (s *Stream) failure(id string, refused *Error) ([]byte, error) {
	return encodeFailure(id, refused)
}

// encodeFailure is the answer to a request that was refused; with an empty id, to what could not be read.
func encodeFailure(id string, refused *Error) ([]byte, error) {
	text, err := json.Marshal(refused)
	if err != nil {
		return nil, err
	}
	if id == "" {
		id = "null"
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, id, text), nil
}

// notify queues an update: a whole notification, encoded. It waits while the client is slow and while a request is
// being handled, so that the request's answer is written before what it caused.
func (s *Stream) notify(ctx context.Context, message []byte) error {
	if len(message) > s.limit {
		return tooLarge("an update", s.limit)
	}
	return s.out.put(ctx, update, message)
}

// write writes until the connection has ended and what waited is out, and closes it. It runs on the goroutine that
// serves the connection.
func (s *Stream) write() error {
	defer s.finish()
	for {
		messages := s.out.take()
		if messages == nil {
			return nil
		}
		if err := s.frames.Write(messages); err != nil {
			s.end(err)
			return err
		}
		s.out.written()
	}
}

func (s *Stream) finish() {
	s.mu.Lock()
	s.written = true
	if s.drain != nil {
		s.drain.Stop()
	}
	s.mu.Unlock()
	s.out.close()
	s.frames.Close(context.Cause(s.ctx)) // its error says nothing that the reader or the writer has not said
}

// Close ends the connection: nothing more is taken in, and what waits has drainLimit to be written, unless the client has
// no right to it any more. The library calls it once, when the connection's context has ended or ReadObject has failed.
func (s *Stream) Close() error {
	s.end(errGone)
	s.out.close()
	limit, why := drainLimit, errStalled
	if errors.Is(context.Cause(s.ctx), errTokenReplaced) {
		limit, why = revokeLimit, errTokenReplaced
		s.out.forget()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.written {
		s.drain = time.AfterFunc(limit, func() { s.frames.Close(why) })
	}
	return nil
}
