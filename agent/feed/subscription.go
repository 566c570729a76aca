package feed

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// Subscription is one client's bounded queue of updates. Only one goroutine may read it. Any goroutine may call Close.
//
//	Feed ──push──► queue ──Next──► client
//	               │  growth of the block at the end of the queue merges there
//	               └─ full: the queue is dropped, and Next returns *Stale
//
// push never waits. So a client that does not read costs a bounded amount of memory, and delays neither the session nor another
// client. A stream with a hole is worthless, so an overflow drops the whole queue: the client attaches again.
type Subscription struct {
	ready    chan struct{} // has a token when Next should look
	confirms atomic.Bool   // see Confirms

	mu        sync.Mutex // held for moments only; nobody waits while holding it
	notify    func()     // called when an empty queue got an update
	queue     []waiting
	tail      growing // what the last one in the queue is growth of
	bytes     int     // weight of the queue
	delivered uint64  // the last Seq that Next returned
	err       error   // what Next returns when the queue is empty
}

// waiting is an update, or growth that stands for several.
type waiting struct {
	u     *Update
	grown []byte // nil: u as it is
	last  uint64 // Seq of the last one merged in
}

func (w waiting) weight() int {
	if w.grown != nil {
		return len(w.grown)
	}
	return w.u.weight
}

func NewSubscription() *Subscription {
	s := &Subscription{ready: make(chan struct{}, 1)}
	s.notify = func() {
		select {
		case s.ready <- struct{}{}:
		default:
		}
	}
	return s
}

// Confirms says that the subscriber can ask a person about a call. While no subscriber can, calls that no rule may allow are
// refused at once.
func (s *Subscription) Confirms() { s.confirms.Store(true) }

func (s *Subscription) begin(seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delivered = seq
}

// over reports whether nothing more will be put into the queue.
func (s *Subscription) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil
}

// Stale says that updates were dropped. The client reads the entries after After and attaches again.
type Stale struct {
	After uint64 // the last Seq that was delivered
}

func (s *Stale) Error() string { return fmt.Sprintf("updates after %d were dropped", s.After) }

// push adds an update, which may be growth, and reports whether the subscription goes on.
func (s *Subscription) push(u *Update, what growing, text string) bool {
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return false
	}
	first := len(s.queue) == 0 // otherwise the reader was notified, and looks again before it waits
	if !s.merge(u, what, text) {
		s.queue, s.tail = append(s.queue, waiting{u: u, last: u.Seq}), what
	}
	s.bytes += u.weight
	over := len(s.queue) > maxWaiting || s.bytes > maxWaitingBytes
	if over {
		s.queue, s.bytes = nil, 0
		s.err = &Stale{After: s.delivered}
	}
	notify := s.notify
	s.mu.Unlock()
	if first || over {
		notify() // without the lock: the reader may read at once
	}
	return !over
}

// merge adds growth to growth of the same block at the end of the queue, and reports whether it did.
func (s *Subscription) merge(u *Update, what growing, text string) bool {
	if what == (growing{}) || len(s.queue) == 0 || s.tail != what {
		return false
	}
	tail := &s.queue[len(s.queue)-1]
	if tail.weight()+len(text) > maxWeight {
		return false
	}
	if tail.grown == nil {
		_, begun := grown(tail.u.Event)
		tail.grown = append(make([]byte, 0, 4*(len(begun)+len(text))), begun...)
	}
	tail.grown = append(tail.grown, text...)
	tail.last = u.Seq
	return true
}

func (s *Subscription) end(err error) {
	s.mu.Lock()
	if s.err == nil {
		s.err = err
	}
	notify := s.notify
	s.mu.Unlock()
	notify()
}

// Notify is for a reader of several subscriptions that only calls TryNext. From now on f is called when an empty queue gets an
// update, and when the subscription ends; it is also called once now. The session's goroutine calls it, so it must not wait.
func (s *Subscription) Notify(f func()) {
	s.mu.Lock()
	s.notify = f
	s.mu.Unlock()
	f()
}

// Next waits for an update. It ends with *Stale when the queue overflowed, ErrClosed after Close, the reason of [Feed.Close] when the session ended,
// or ctx's cause.
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

// TryNext is like Next, but does not wait: it returns nil, nil if there is no update.
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
	s.bytes -= w.weight()
	if w.grown == nil {
		return w.u, nil
	}
	merged := &Update{Session: w.u.Session, FirstSeq: w.u.first(), Seq: w.last, Time: w.u.Time, Turn: w.u.Turn}
	merged.Event = withText(w.u.Event, string(w.grown))
	return merged, nil
}

// Close ends the subscription; Next returns ErrClosed from then on.
func (s *Subscription) Close() {
	s.mu.Lock()
	s.queue, s.bytes, s.err = nil, 0, ErrClosed
	notify := s.notify
	s.mu.Unlock()
	notify()
}
