package agent

import (
	"context"
	"sync"

	"github.com/thinkd/thinkd/provider"
)

// stepsAhead lets the network be read while the store commits.
const stepsAhead = 1024

// maxStride is how many bytes of growth are taken in at once: what a limit is late by, at most.
const maxStride = 4 << 10

// step is an event of a call, or the error that it ends with.
type step struct {
	event provider.Event
	err   error
}

// steps carry what a call sends to the agent. Whatever has come is handed over at once, so that a fast stream costs one
// hand-over for all that came meanwhile; nothing ever waits for more to come.
type steps struct {
	ready chan struct{} // has a token when next has something to give
	room  chan struct{} // has a token when put should look again

	mu      sync.Mutex // held for moments only
	waiting []step
	over    bool // nothing more comes

	// What follows belongs to the agent.
	buffer []step // all that was handed over last; the next waiting grows in it
	taken  []step // the part of it that is still to be given
	last   bool   // nothing comes after it
}

func newSteps() *steps {
	return &steps{ready: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// put is for the call's goroutine. It waits while there is no room, and is false when ctx has ended.
func (q *steps) put(ctx context.Context, st step) bool {
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
		case 0: // else the agent has been told, and takes all that there is
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

// close says that nothing more comes.
func (q *steps) close() {
	q.mu.Lock()
	q.over = true
	q.mu.Unlock()
	token(q.ready)
}

// next is for the agent: the next step, or the next few where they are growth of one block, of up to most bytes in all.
// None and true: there is none yet; none and false: there will be none any more. They are valid until the next call.
func (q *steps) next(most int) (list []step, ok bool) {
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

// handOver takes all that waits. Of what was given before nothing is held.
func (q *steps) handOver() {
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
func stride(list []step, most int) int {
	first, ok := list[0].event.(provider.Delta)
	if !ok {
		return 1
	}
	size := len(first.Text)
	for n, st := range list[1:] {
		d, ok := st.event.(provider.Delta)
		if size += len(d.Text); !ok || d.Index != first.Index || size > most {
			return n + 1
		}
	}
	return len(list)
}

// joined is the text of the growth in list, and where that of each piece ends in it; nil: there is one piece. Both are valid
// until the next call.
func (c *call) joined(list []step) (text string, ends []int) {
	if len(list) == 1 {
		text = list[0].event.(provider.Delta).Text
		if text == "" {
			c.odd++
		}
		return text, nil
	}
	c.text, c.ends = c.text[:0], c.ends[:0]
	for _, st := range list {
		piece := st.event.(provider.Delta).Text
		if piece == "" {
			c.odd++
			continue
		}
		c.text = append(c.text, piece...)
		c.ends = append(c.ends, len(c.text))
	}
	return string(c.text), c.ends
}

// token puts a token into a channel that holds one.
func token(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
