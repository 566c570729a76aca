package conn

import (
	"context"
	"slices"
	"sync"
)

// Queue holds what waits to be written to one client. It has two classes of messages with a bound each, so that neither
// keeps out the other:
//
//	Put(answer) ──► outside ──┐
//	                          ▼  room?
//	Put(update) ──► outside ──► waiting ──► Take ──► the writer ──► Written
//	                          ▲  room, and no request is being handled?
//	subscriptions ──► ready ──┘
//
// The list waiting is what the next Take returns. A message that finds no room stays outside, each class in order, and
// comes in as soon as there is room: the goroutine that makes room lets it in, so that many that wait are not woken for
// one. Written makes room: until then, what was taken still counts.
//
// A subscription has no goroutine and no message here. Its source says that there is something ([Subscription.Ready]),
// and the queue takes one message from each source in turn while updates have room. So a client that reads
// slowly leaves its updates in their sources, which merge or drop them. The goroutine that makes room takes: the writer in
// Take, or the reading goroutine when a request has been answered.
//
// While a request is handled, updates are held. They come in behind its answer: nothing that a request causes is written
// before that.
//
// The methods are safe for concurrent use, except that one goroutine alone calls Take, TakeUntil and Written.
type Queue struct {
	ready chan struct{} // one token: something waits, or the queue was closed

	mu      sync.Mutex
	waiting [][]byte
	bytes   [classes]int // until they are written
	writing [classes]int // the part that the writer has
	outside [classes][]*outsider
	held    bool // updates wait until the request that is being handled has its answer
	closed  bool

	first, last *Subscription // that may have something; each one's behind is the next
	drawing     bool          // a goroutine takes from them
}

// Class says which bound a message counts for.
type Class int

const (
	// Answer is for answers. Above its bound no request is read: a client that takes no answers causes no more of them.
	Answer Class = iota

	// Update is for all else. Its bound is small: what does not fit stays in its source, which merges it.
	Update

	classes
)

// DefaultMessageBytes is the largest size of a message, in bytes, if the operator sets none.
const DefaultMessageBytes = 8 << 20

// bounds of what waits, in bytes. In an empty queue any one message has room.
var bounds = [classes]int{
	Answer: DefaultMessageBytes,
	Update: 64 << 10,
}

// outsider is a message for which there is no room yet.
type outsider struct {
	message []byte
	in      chan struct{} // closed when it is in, or nothing will be any more
	err     error         // then
}

// Source is what a subscription takes messages from.
type Source interface {
	// Next is the next message, which nobody changes any more; nil: there is none now. After the one that is last the
	// source is closed. Only one goroutine calls it at once, any of those of the connection, so it must not wait.
	Next() (message []byte, last bool)

	// Close is called once: after the last message was put in, or by [Subscription.Close]. A Next under way may still
	// return; its message is dropped.
	Close()
}

// Subscription is a source whose messages a connection writes.
type Subscription struct {
	queue  *Queue
	source Source

	// What follows belongs to the queue, under its lock.
	listed bool          // in the list of those that may have something
	behind *Subscription // the next in that list
	over   bool          // nothing of it comes in any more
}

// NewQueue returns an empty queue. It needs no Close if no goroutine waits in it.
func NewQueue() *Queue { return &Queue{ready: make(chan struct{}, 1)} }

// Put adds a message, which nobody changes any more, and waits while there is no room for it. It fails with ErrGone
// when the queue is closed, or with the cause of the context's end.
func (q *Queue) Put(ctx context.Context, class Class, message []byte) error {
	o, err := q.tryPut(class, message)
	if o == nil {
		return err
	}
	select {
	case <-o.in:
		return o.err
	case <-ctx.Done():
	}
	if q.leave(class, o) {
		return context.Cause(ctx)
	}
	return o.err // it came in meanwhile
}

// tryPut returns an outsider to wait for when there is no room.
func (q *Queue) tryPut(class Class, message []byte) (*outsider, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return nil, ErrGone
	case len(q.outside[class]) == 0 && q.roomLocked(class, message):
		q.addLocked(class, message)
		return nil, nil
	}
	o := &outsider{message: message, in: make(chan struct{})}
	q.outside[class] = append(q.outside[class], o)
	return o, nil
}

func (q *Queue) roomLocked(class Class, message []byte) bool {
	return (q.bytes[class] == 0 || q.bytes[class]+len(message) <= bounds[class]) && !(class == Update && q.held)
}

func (q *Queue) addLocked(class Class, message []byte) {
	q.waiting = append(q.waiting, message)
	q.bytes[class] += len(message)
	if len(q.waiting) == 1 { // else the writer was woken before
		q.wake()
	}
}

// letInLocked lets in the outsiders for which there is room now.
func (q *Queue) letInLocked() {
	for class := range classes {
		list := q.outside[class]
		for len(list) > 0 && q.roomLocked(class, list[0].message) {
			q.addLocked(class, list[0].message)
			close(list[0].in)
			list[0] = nil
			list = list[1:]
		}
		q.outside[class] = list
	}
}

// leave is false if it is too late for that.
func (q *Queue) leave(class Class, o *outsider) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.outside[class], o)
	if i < 0 {
		return false
	}
	q.outside[class] = slices.Delete(q.outside[class], i, i+1)
	q.letInLocked() // it may have been too large, and the next is not
	return true
}

func (q *Queue) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// Take returns everything that waits, once something does; nil when the queue is closed and empty. The writer calls
// Written before it takes again.
func (q *Queue) Take() [][]byte { return q.TakeUntil(nil) }

// TakeUntil is Take, and nil as well once stop is closed: then nothing was taken.
func (q *Queue) TakeUntil(stop <-chan struct{}) [][]byte {
	for {
		q.draw()
		q.mu.Lock()
		taken, closed := q.waiting, q.closed
		q.waiting, q.writing = nil, q.bytes
		q.mu.Unlock()
		if len(taken) > 0 || closed {
			return taken
		}
		select {
		case <-q.ready:
		case <-stop:
			q.wake() // the next Take looks again
			return nil
		}
	}
}

// Written makes room: the taken messages are written.
func (q *Queue) Written() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, n := range q.writing {
		q.bytes[i] -= n
	}
	q.letInLocked()
}

// hold keeps updates out, or lets them in again: at once, since a client that always has a request under way would
// never see them.
func (q *Queue) hold(held bool) {
	q.mu.Lock()
	q.held = held
	q.letInLocked()
	q.mu.Unlock()
	q.draw()
}

// forget drops what waits. It is for a closed queue.
func (q *Queue) forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = nil
}

// Close makes the queue refuse new messages. Waiting ones can still be taken.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for class, list := range q.outside {
		for _, o := range list {
			o.err = ErrGone
			close(o.in)
		}
		q.outside[class] = nil
	}
	q.wake()
}

// subscribe makes a subscription, from which nothing is taken before the first Ready.
func (q *Queue) subscribe(s Source) *Subscription { return &Subscription{queue: q, source: s} }

// Ready says that the source may have a message. It never waits, and calls nothing of the source.
func (s *Subscription) Ready() {
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if s.listed || s.over || q.closed {
		return
	}
	q.appendLocked(s)
	if !q.held { // else the end of the hold takes from it
		q.wake()
	}
}

// Close ends the subscription: no message of it comes into the queue any more. It closes the source, unless that was
// done before. Calling it again is harmless.
func (s *Subscription) Close() {
	s.queue.mu.Lock()
	was := s.over
	s.over = true
	s.queue.mu.Unlock()
	if !was {
		s.source.Close()
	}
}

func (q *Queue) appendLocked(s *Subscription) {
	s.listed = true
	if q.first == nil {
		q.first = s
	} else {
		q.last.behind = s
	}
	q.last = s
}

func (q *Queue) removeFirstLocked() *Subscription {
	s := q.first
	q.first, s.behind, s.listed = s.behind, nil, false
	if q.first == nil {
		q.last = nil
	}
	return s
}

// draw takes one message from each source in turn while there is room. Only one goroutine does so, which keeps the messages of
// a source in order. A second goroutine leaves the work to the first.
func (q *Queue) draw() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.drawing {
		return
	}
	q.drawing = true
	for q.first != nil && !q.held && !q.closed && q.bytes[Update] < bounds[Update] {
		s := q.removeFirstLocked() // before Next: a Ready from now on lists it again
		if s.over {
			continue
		}
		q.mu.Unlock()
		message, last := s.source.Next()
		q.mu.Lock()
		// Else the client knows that nothing more comes, or what stood before it was forgotten.
		if message != nil && !s.over && !q.closed {
			q.addLocked(Update, message)
		}
		switch {
		case last:
			q.mu.Unlock()
			s.Close()
			q.mu.Lock()
		case message != nil && !s.listed && !s.over:
			q.appendLocked(s)
		}
	}
	q.drawing = false
}
