package agent

import (
	"context"
	"fmt"
	"sync"

	"github.com/thinkd/thinkd/session"
)

// Bounds of what waits for one subscriber.
const (
	maxWaiting      = 1024    // updates
	maxWaitingBytes = 1 << 20 // of growth
)

// feed tells updates to subscribers. It belongs to the agent's goroutine; only the subscriptions are shared.
type feed struct {
	seq  uint64 // of the last update
	subs map[*Subscription]struct{}
}

func newFeed(seq uint64) feed { return feed{seq: seq, subs: make(map[*Subscription]struct{})} }

// publish never waits.
func (f *feed) publish(u *Update) {
	for sub := range f.subs {
		if !sub.push(u) {
			delete(f.subs, sub)
		}
	}
}

func (f *feed) subscribe() *Subscription {
	sub := &Subscription{ready: make(chan struct{}, 1), delivered: f.seq}
	f.subs[sub] = struct{}{}
	return sub
}

// close ends all subscriptions: each has its waiting updates still to read, then err.
func (f *feed) close(err error) {
	for sub := range f.subs {
		sub.end(err)
	}
	clear(f.subs)
}

// Subscription is one client's view of a session's updates. Next is for one goroutine, Close for any.
type Subscription struct {
	ready chan struct{} // has a token when Next should look

	mu        sync.Mutex // held for moments only; nobody waits while holding it
	queue     []waiting
	bytes     int    // of growth in the queue
	delivered uint64 // the last Seq that Next returned
	err       error  // what Next returns when the queue is empty
}

// waiting is an update, or growth that stands for several.
type waiting struct {
	u     *Update
	grown []byte // nil: u as it is
	last  uint64 // Seq of the last one merged in
}

// Stale says that updates were dropped: whoever reads this reads entries after After and attaches anew.
type Stale struct {
	After uint64 // the last Seq that was delivered
}

func (s *Stale) Error() string { return fmt.Sprintf("updates after %d were dropped", s.After) }

// push adds an update and reports whether the subscription goes on.
func (s *Subscription) push(u *Update) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return false
	}
	message, block, text, growth := delta(u.Event)
	if growth && s.merge(u, message, block, text) {
		// The token for this queue is there already.
	} else {
		s.queue = append(s.queue, waiting{u: u, last: u.Seq})
	}
	s.bytes += len(text)
	if len(s.queue) > maxWaiting || s.bytes > maxWaitingBytes {
		s.queue, s.bytes = nil, 0
		s.err = &Stale{After: s.delivered}
	}
	s.wake()
	return s.err == nil
}

// merge adds growth to growth of the same block at the tail.
func (s *Subscription) merge(u *Update, message session.MessageID, block int, text string) bool {
	if len(s.queue) == 0 {
		return false
	}
	tail := &s.queue[len(s.queue)-1]
	tailMessage, tailBlock, tailText, ok := delta(tail.u.Event)
	if !ok || tailMessage != message || tailBlock != block {
		return false
	}
	if tail.grown == nil {
		tail.grown = append(make([]byte, 0, 2*(len(tailText)+len(text))), tailText...)
	}
	tail.grown = append(tail.grown, text...)
	tail.last = u.Seq
	return true
}

func (s *Subscription) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.wake()
}

func (s *Subscription) wake() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// Next waits for an update. It ends with *Stale when the queue overflowed, ErrClosed when the agent or the
// subscription ended, or ctx's cause.
func (s *Subscription) Next(ctx context.Context) (*Update, error) {
	for {
		if u, err := s.take(); u != nil || err != nil {
			return u, err
		}
		select {
		case <-s.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// TryNext is Next without waiting: nil, nil when there is nothing.
func (s *Subscription) TryNext() (*Update, error) { return s.take() }

func (s *Subscription) take() (*Update, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return nil, s.err
	}
	w := s.queue[0]
	s.queue[0] = waiting{}
	s.queue = s.queue[1:]
	if len(s.queue) == 0 {
		s.queue = nil
	}
	s.delivered = w.last
	_, _, text, _ := delta(w.u.Event)
	if w.grown == nil {
		s.bytes -= len(text)
		return w.u, nil
	}
	s.bytes -= len(w.grown)
	merged := &Update{Session: w.u.Session, FirstSeq: w.u.Seq, Seq: w.last, Time: w.u.Time, Turn: w.u.Turn}
	merged.Event = withText(w.u.Event, string(w.grown))
	return merged, nil
}

// Close ends the subscription; Next returns ErrClosed from then on.
func (s *Subscription) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue, s.bytes, s.err = nil, 0, ErrClosed
	s.wake()
}
