package watch

import (
	"slices"
	"sync"

	"github.com/thinkd/thinkd/session"
)

// Hub has the subscriptions of a daemon.
type Hub struct {
	mu     sync.RWMutex
	subs   map[session.Owner][]*Subscription // a list is replaced as a whole
	closed bool
}

// NewHub returns a hub without subscriptions.
func NewHub() *Hub { return &Hub{subs: make(map[session.Owner][]*Subscription)} }

// Watched reports whether anybody gets the changes of an owner's sessions.
func (h *Hub) Watched(owner session.Owner) bool { return len(h.of(owner)) > 0 }

func (h *Hub) of(owner session.Owner) []*Subscription {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.subs[owner]
}

// Publish sends a change to the owner's subscribers. The change is in the store already, so that a client that lists after it has
// subscribed misses nothing.
func (h *Hub) Publish(owner session.Owner, c Change) {
	for _, s := range h.of(owner) {
		s.push(c)
	}
}

// Subscribe returns a subscription to all changes from now on of an owner's sessions. The caller closes it. After Close it has ended.
func (h *Hub) Subscribe(owner session.Owner) *Subscription {
	s := newSubscription()
	s.leave = func() { h.leave(owner, s) }
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		s.err = ErrStale
		return s
	}
	h.subs[owner] = append(slices.Clip(h.subs[owner]), s)
	return s
}

func (h *Hub) leave(owner session.Owner, s *Subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	rest := slices.DeleteFunc(slices.Clone(h.subs[owner]), func(other *Subscription) bool { return other == s })
	if h.subs[owner] = rest; len(rest) == 0 {
		delete(h.subs, owner)
	}
}

// Close ends all subscriptions.
func (h *Hub) Close() {
	h.mu.Lock()
	all := h.subs
	h.subs, h.closed = nil, true
	h.mu.Unlock()
	for _, list := range all {
		for _, s := range list {
			s.end(ErrStale)
		}
	}
}
