package relay

import (
	"context"
	"sync"

	"github.com/thinkd/thinkd/provider"
)

// stepsAhead lets the network be read while the store commits.
const stepsAhead = 1024

// MaxStride is how many bytes of growth Next returns together: a limit is late by at most that.
const MaxStride = 4 << 10

// Step is an event of a call, or the error that it ends with.
type Step struct {
	Event provider.Event
	Err   error
}

// Steps is the queue from the goroutine of a model call to that of the session.
//
//	Put ──► waiting ──(handOver: everything at once)──► taken ──► Next: one step, or growth of one block
//	 ▲        │ full: Put waits for room                  │
//	 └─ room ─┘◄──────────────────────────────────────────┘      ready: a token when Next has something
//
// Next takes everything that has arrived at once, so a fast stream needs the lock once for many steps. Growth of the same block is
// returned together, so it costs one update and one checkpoint. Nothing waits for more to arrive: a slow stream has no delay. While
// the session waits for its disk, up to stepsAhead steps collect; then Put waits, which slows the vendor's stream down.
type Steps struct {
	ready chan struct{} // has a token when next has something to give
	room  chan struct{} // has a token when put should look again

	mu      sync.Mutex // held for moments only
	waiting []Step
	over    bool // nothing more comes

	// The rest belongs to the session's goroutine.
	buffer []Step // all that was handed over last; the next waiting grows in it
	taken  []Step // the part of it that is still to be given
	last   bool   // nothing comes after it
	text   []byte // what join returned last
	ends   []int
}

// NewSteps is an empty queue.
func NewSteps() *Steps {
	return &Steps{ready: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// Ready has a token when Next has something to return. It is never closed.
func (q *Steps) Ready() <-chan struct{} { return q.ready }

// Put adds a step. It waits while the queue is full, and returns false when ctx has ended. The goroutine of the call uses it.
func (q *Steps) Put(ctx context.Context, st Step) bool {
	for ctx.Err() == nil {
		q.mu.Lock()
		n := len(q.waiting)
		if n < stepsAhead {
			q.waiting = append(q.waiting, st)
		}
		q.mu.Unlock()
		switch n {
		default:
			return true
		case 0: // otherwise the reader was notified, and takes everything
			token(q.ready)
			return true
		case stepsAhead:
		}
		select {
		case <-q.room:
		case <-ctx.Done():
		}
	}
	return false
}

// Close says that nothing more comes. The goroutine of the call uses it, once.
func (q *Steps) Close() {
	q.mu.Lock()
	q.over = true
	q.mu.Unlock()
	token(q.ready)
}

// Next is the next step, or the next few if they are growth of one block, of at most most bytes in all. None and true: there is
// none yet. None and false: there will be no more. The result is valid until the next call. The session's goroutine uses it.
func (q *Steps) Next(most int) (list []Step, ok bool) {
	if len(q.taken) == 0 {
		q.handOver()
	}
	if len(q.taken) == 0 {
		return nil, !q.last
	}
	n := stride(q.taken, most)
	list, q.taken = q.taken[:n], q.taken[n:]
	if n < len(q.buffer) || q.last { // behind the last part too: put's token may have become one of these
		token(q.ready)
	}
	return list, true
}

// handOver takes everything that waits, and drops what was returned before.
func (q *Steps) handOver() {
	clear(q.buffer)
	q.mu.Lock()
	q.buffer, q.waiting = q.waiting, q.buffer[:0]
	q.last = q.over
	q.mu.Unlock()
	q.taken = q.buffer
	if len(q.taken) == stepsAhead {
		token(q.room)
	}
}

// stride is how many steps are taken together: the first, and what goes on with it.
func stride(list []Step, most int) int {
	first, ok := list[0].Event.(provider.Delta)
	if !ok {
		return 1
	}
	size := len(first.Text)
	for n, st := range list[1:] {
		d, ok := st.Event.(provider.Delta)
		if size += len(d.Text); !ok || d.Index != first.Index || size > most {
			return n + 1
		}
	}
	return len(list)
}

// Join is the text of the growth in a list of Next, where the text of each piece ends in it, and how many pieces were empty. If there
// is one piece, ends is nil. The result is valid until the next call.
func (q *Steps) Join(list []Step) (text string, ends []int, empty int) {
	if len(list) == 1 {
		text = list[0].Event.(provider.Delta).Text
		if text == "" {
			empty++
		}
		return text, nil, empty
	}
	q.text, q.ends = q.text[:0], q.ends[:0]
	for _, st := range list {
		piece := st.Event.(provider.Delta).Text
		if piece == "" {
			empty++
			continue
		}
		q.text = append(q.text, piece...)
		q.ends = append(q.ends, len(q.text))
	}
	return string(q.text), q.ends, empty
}

// token puts a token into a channel that holds one.
func token(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
