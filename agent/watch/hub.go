package watch

import (
	"slices"
	"sync"

	"github.com/thinkd/thinkd/session"
)

// Hub has the subscriptions of a daemon.
type Hub struct {
	guests func(session.Ref) []session.Owner // with whom a session is shared; nil: none is

	mu     sync.RWMutex
	subs   map[session.Owner][]*Subscription // a list is replaced as a whole
	closed bool
}

// NewHub returns a hub without subscriptions. guests lists the users with whom a session is shared, who get its changes too. It runs for each
// change, and must return soon. nil: no session is shared.
func NewHub(guests func(session.Ref) []session.Owner) *Hub {
	return &Hub{guests: guests, subs: make(map[session.Owner][]*Subscription)}
}

// Watched reports whether anybody gets the changes of a session.
func (h *Hub) Watched(ref session.Ref) bool {
	return len(h.of(ref.Owner)) > 0 || slices.ContainsFunc(h.guestsOf(ref), func(guest session.Owner) bool { return len(h.of(guest)) > 0 })
}

func (h *Hub) guestsOf(ref session.Ref) []session.Owner {
	if h.guests == nil {
		return nil
	}
	return h.guests(ref)
}

func (h *Hub) of(owner session.Owner) []*Subscription {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.subs[owner]
}

// Publish sends a change to the subscribers of the session's owner and of its guests. The change is in the store already, so that a client that
// lists after it has subscribed misses nothing.
func (h *Hub) Publish(owner session.Owner, c Change) {
	c.Of = owner
	h.send(owner, c)
	for _, guest := range h.guestsOf(session.Ref{Owner: owner, ID: c.Session.ID}) {
		h.send(guest, c)
	}
}

// PublishTo sends a change of an owner's session to the subscribers of one guest. It is for the beginning and the end of a sharing.
func (h *Hub) PublishTo(guest, owner session.Owner, c Change) {
	c.Of = owner
	h.send(guest, c)
}

func (h *Hub) send(to session.Owner, c Change) {
	for _, s := range h.of(to) {
		s.push(c)
	}
}

// Subscribe returns a subscription to all changes from now on of an owner's sessions, and of those that are shared with the owner. The caller closes it. After Close it has ended.
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
