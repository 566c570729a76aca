package watch

import (
	"container/list"
	"errors"
	"sync"

	"github.com/thinkd/thinkd/session"
)

// ErrStale says that changes were dropped, or that the daemon exits. The subscription has ended: the client lists again.
var ErrStale = errors.New("changes of the list were dropped")

// Bounds of what waits for one subscriber.
const (
	maxWaiting      = 1000    // sessions
	maxWaitingBytes = 4 << 20 // of weight
)

// Subscription is one client's bounded set of changed sessions.
//
//	Hub ──push──► waiting ──Take──► client
//	              │  the change of a session that waits already takes its place, behind the others
//	              └─ full: all is dropped, and Take returns ErrStale
//
// push never waits. So a client that does not read costs a bounded amount of memory.
type Subscription struct {
	leave func() // takes it out of the hub

	mu      sync.Mutex // held for moments only; nobody waits while holding it
	notify  func()     // called when an empty set got a change; nil: nobody waits for it
	waiting *list.List // of Change, the oldest first
	places  map[session.ID]*list.Element
	bytes   int   // weight of what waits
	err     error // what Take returns; nil: it goes on
}

func newSubscription() *Subscription {
	return &Subscription{waiting: list.New(), places: make(map[session.ID]*list.Element)}
}

// push adds a change.
func (s *Subscription) push(c Change) {
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return
	}
	first := s.waiting.Len() == 0 // otherwise the reader was notified
	if at := s.places[c.Session.ID]; at != nil {
		c = c.merge(at.Value.(Change))
		s.removeLocked(at)
	}
	s.places[c.Session.ID] = s.waiting.PushBack(c)
	s.bytes += c.weight()
	if s.waiting.Len() > maxWaiting || s.bytes > maxWaitingBytes {
		s.endLocked(ErrStale)
		first = true
	}
	notify := s.notify
	s.mu.Unlock()
	if first && notify != nil {
		notify() // without the lock: the reader may read at once
	}
}

func (s *Subscription) removeLocked(at *list.Element) Change {
	c := s.waiting.Remove(at).(Change)
	delete(s.places, c.Session.ID)
	s.bytes -= c.weight()
	return c
}

// endLocked drops what waits.
func (s *Subscription) endLocked(err error) {
	s.waiting.Init()
	clear(s.places)
	s.bytes, s.err = 0, err
}

func (s *Subscription) end(err error) {
	s.mu.Lock()
	if s.err == nil {
		s.endLocked(err)
	}
	notify := s.notify
	s.mu.Unlock()
	if notify != nil {
		notify()
	}
}

// Notify sets what is called when an empty set got a change, and when the subscription ends. It is also called once now. The goroutines
// of sessions call it, so it must not wait.
func (s *Subscription) Notify(f func()) {
	s.mu.Lock()
	s.notify = f
	s.mu.Unlock()
	f()
}

// Take returns the changes that wait, in the order of the last change of each session, until they weigh most bytes; at least one if
// any waits. It never waits: there may be none. Error: ErrStale.
func (s *Subscription) Take(most int) (changes []Change, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at := s.waiting.Front(); at != nil; at = s.waiting.Front() {
		if most -= at.Value.(Change).weight(); most < 0 && len(changes) > 0 {
			break
		}
		changes = append(changes, s.removeLocked(at))
	}
	return changes, s.err
}

// Close ends the subscription. Calling it again is harmless.
func (s *Subscription) Close() {
	s.leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify = nil
	s.endLocked(ErrStale)
}
