package rpc

import (
	"context"
	"errors"
	"sync"
)

// class says against which bound a message counts, so that neither keeps out the other.
type class int

const (
	answer class = iota
	update
	classes
)

// bounds of what waits to be written to one client, in bytes. In an empty queue any one message has room.
var bounds = [classes]int{
	answer: 8 << 20,  // above it no request is read: a client that takes no answers causes no more of them
	update: 64 << 10, // small: who waits here is a pump, and behind it the subscription merges what comes
}

// errGone says that the connection has ended.
var errGone = errors.New("the client has gone")

// queue holds messages that wait for the writer, in order.
type queue struct {
	ready chan struct{} // one token: something waits, or the queue was closed

	mu      sync.Mutex
	waiting [][]byte
	bytes   [classes]int // until they are written
	writing [classes]int // the part that the writer has
	held    bool         // updates wait until what is being handled has put its answer
	closed  bool
	changed chan struct{} // closed when those who wait for room may look again; nil: nobody waits
}

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

// put adds a message, which nobody changes any more, and waits while there is no room for it. It fails with errGone
// when the queue is closed, or with the cause of the context's end.
func (q *queue) put(ctx context.Context, what class, message []byte) error {
	for {
		wait, err := q.tryPut(what, message)
		if wait == nil {
			return err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// tryPut gives a channel to wait for when there is no room.
func (q *queue) tryPut(what class, message []byte) (wait <-chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, errGone
	}
	room := q.bytes[what] == 0 || q.bytes[what]+len(message) <= bounds[what]
	if !room || what == update && q.held {
		if q.changed == nil {
			q.changed = make(chan struct{})
		}
		return q.changed, nil
	}
	q.waiting = append(q.waiting, message)
	q.bytes[what] += len(message)
	q.wake()
	return nil, nil
}

func (q *queue) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

func (q *queue) changedLocked() {
	if q.changed != nil {
		close(q.changed)
		q.changed = nil
	}
}

// take is everything that waits, once something does; nil when the queue is closed and empty. Only the writer calls
// it, and says written before it comes again.
func (q *queue) take() [][]byte { return q.takeUntil(nil) }

// takeUntil is take, and nil as well once stop is closed: then nothing was taken.
func (q *queue) takeUntil(stop <-chan struct{}) [][]byte {
	for {
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
			q.wake() // the next one to take looks again
			return nil
		}
	}
}

// written makes room: what was taken is out.
func (q *queue) written() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, n := range q.writing {
		q.bytes[i] -= n
	}
	q.changedLocked()
}

// hold keeps updates out, or lets them in again.
func (q *queue) hold(held bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held && !held {
		q.changedLocked()
	}
	q.held = held
}

// close refuses more. What waits can still be taken.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changedLocked()
	q.wake()
}
