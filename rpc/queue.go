package rpc

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/thinkd/thinkd/agent/feed"
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
	update: 64 << 10, // small: behind it the subscriptions merge what comes
}

// errGone says that the connection has ended.
var errGone = errors.New("the client has gone")

// queue holds messages that wait for the writer, in order. Those for which there is no room wait outside, each class in
// order, and come in as soon as there is: whoever makes room lets them in, so that many who wait are not woken for one.
type queue struct {
	ready chan struct{} // one token: something waits, or the queue was closed

	mu      sync.Mutex
	waiting [][]byte
	bytes   [classes]int // until they are written
	writing [classes]int // the part that the writer has
	outside [classes][]*outsider
	held    bool // updates wait until what is being handled has put its answer
	closed  bool

	first, last *tap // that may have something; each one's behind is the next
	drawing     bool // somebody takes from them
}

// outsider is a message for which there is no room yet.
type outsider struct {
	message []byte
	in      chan struct{} // closed when it is in, or nothing will be any more
	err     error         // then
}

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

// put adds a message, which nobody changes any more, and waits while there is no room for it. It fails with errGone
// when the queue is closed, or with the cause of the context's end.
func (q *queue) put(ctx context.Context, what class, message []byte) error {
	o, err := q.tryPut(what, message)
	if o == nil {
		return err
	}
	select {
	case <-o.in:
		return o.err
	case <-ctx.Done():
	}
	if q.leave(what, o) {
		return context.Cause(ctx)
	}
	return o.err // it came in meanwhile
}

// tryPut gives an outsider to wait for when there is no room.
func (q *queue) tryPut(what class, message []byte) (*outsider, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return nil, errGone
	case len(q.outside[what]) == 0 && q.roomLocked(what, message):
		q.addLocked(what, message)
		return nil, nil
	}
	o := &outsider{message: message, in: make(chan struct{})}
	q.outside[what] = append(q.outside[what], o)
	return o, nil
}

func (q *queue) roomLocked(what class, message []byte) bool {
	return (q.bytes[what] == 0 || q.bytes[what]+len(message) <= bounds[what]) && !(what == update && q.held)
}

func (q *queue) addLocked(what class, message []byte) {
	q.waiting = append(q.waiting, message)
	q.bytes[what] += len(message)
	if len(q.waiting) == 1 { // else the writer has been told
		q.wake()
	}
}

// letInLocked lets in those for whom there is room now.
func (q *queue) letInLocked() {
	for what := range classes {
		list := q.outside[what]
		for len(list) > 0 && q.roomLocked(what, list[0].message) {
			q.addLocked(what, list[0].message)
			close(list[0].in)
			list[0] = nil
			list = list[1:]
		}
		q.outside[what] = list
	}
}

// leave is false if it is too late for that.
func (q *queue) leave(what class, o *outsider) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.outside[what], o)
	if i < 0 {
		return false
	}
	q.outside[what] = slices.Delete(q.outside[what], i, i+1)
	q.letInLocked() // it may have been too large, and the next is not
	return true
}

func (q *queue) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// take is everything that waits, once something does; nil when the queue is closed and empty. Only the writer calls
// it, and says written before it comes again.
func (q *queue) take() [][]byte { return q.takeUntil(nil) }

// takeUntil is take, and nil as well once stop is closed: then nothing was taken.
func (q *queue) takeUntil(stop <-chan struct{}) [][]byte {
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
	q.letInLocked()
}

// hold keeps updates out, or lets them in again: at once, since a client that asks all the time would never see them.
func (q *queue) hold(held bool) {
	q.mu.Lock()
	q.held = held
	q.letInLocked()
	q.mu.Unlock()
	q.draw()
}

// forget lets go of what waits. It is for a closed queue.
func (q *queue) forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = nil
}

// close refuses more. What waits can still be taken.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for what, list := range q.outside {
		for _, o := range list {
			o.err = errGone
			close(o.in)
		}
		q.outside[what] = nil
	}
	q.wake()
}

// offer says that a tap may have something. It never waits: sessions call it.
func (q *queue) offer(t *tap) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.waits || t.over || q.closed {
		return
	}
	q.appendLocked(t)
	if !q.held { // else it is drawn when the hold ends
		q.wake()
	}
}

// drop has nothing of a tap come in any more, and is false if it was dropped before.
func (q *queue) drop(t *tap) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	was := t.over
	t.over = true
	return !was
}

func (q *queue) appendLocked(t *tap) {
	t.waits = true
	if q.first == nil {
		q.first = t
	} else {
		q.last.behind = t
	}
	q.last = t
}

func (q *queue) removeFirstLocked() {
	t := q.first
	q.first, t.behind, t.waits = t.behind, nil, false
	if q.first == nil {
		q.last = nil
	}
}

// draw takes in what the taps have, by turns, as far as there is room. One goroutine at a time does, so that a session's
// updates stay in order; who comes second leaves it to the first.
func (q *queue) draw() {
	q.mu.Lock()
	if q.drawing || q.first == nil {
		q.mu.Unlock()
		return
	}
	q.drawing = true
	for {
		t, u, err := q.nextLocked()
		if t == nil {
			break
		}
		q.mu.Unlock()
		message, last := t.message(u, err)
		q.mu.Lock()
		// Else the client was told meanwhile that nothing more comes, or what stood before it was forgotten.
		if !t.over && !q.closed && message != nil {
			q.addLocked(update, message)
		}
		if last {
			q.mu.Unlock()
			t.c.leave(t.id, t)
			t.end()
			q.mu.Lock()
		}
	}
	q.drawing = false
	q.mu.Unlock()
}

// nextLocked is the next that a tap has, and whose it is; nil: nobody's, or it would not come in.
func (q *queue) nextLocked() (*tap, *feed.Update, error) {
	for q.first != nil && !q.held && !q.closed && q.bytes[update] < bounds[update] {
		t := q.first
		q.removeFirstLocked()
		if t.over {
			continue
		}
		u, err := t.sub.TryNext()
		if u != nil || err != nil {
			q.appendLocked(t) // to be asked again
			return t, u, err
		}
	}
	return nil, nil, nil
}
