package watch

import (
	"maps"
	"slices"
	"sync"

	"github.com/thinkd/thinkd/session"
)

// Hub has the subscriptions of a daemon.
type Hub struct {
	guests func(session.Ref) []session.Owner // with whom a session is shared; nil: none is

	mu     sync.RWMutex
	subs   map[session.Owner][]*Subscription // a list is replaced as a whole
	all    *Subscription                     // of all owners, for other daemons; nil: there are none
	began  func(session.Owner)
	closed bool
}

// NewHub returns a hub without subscriptions. guests lists the users with whom a session is shared, who get its changes too. It runs for each
// change, and must return soon. nil: no session is shared.
func NewHub(guests func(session.Ref) []session.Owner) *Hub {
	return &Hub{guests: guests, subs: make(map[session.Owner][]*Subscription)}
}

// Watched reports whether anybody gets the changes of a session that this daemon publishes.
func (h *Hub) Watched(ref session.Ref) bool { return h.forOthers() != nil || h.WatchedHere(ref) }

// WatchedHere reports whether a client of this daemon gets the changes of a session.
func (h *Hub) WatchedHere(ref session.Ref) bool {
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
	h.Receive(c)
	h.Repeat(owner, c)
}

// Receive sends a change from another daemon to the subscribers of the session's owner and of its guests.
func (h *Hub) Receive(c Change) {
	h.send(c.Of, c)
	for _, guest := range h.guestsOf(session.Ref{Owner: c.Of, ID: c.Session.ID}) {
		h.send(guest, c)
	}
}

// Repeat sends a change to other daemons alone: the subscribers of this daemon have it.
func (h *Hub) Repeat(owner session.Owner, c Change) {
	if all := h.forOthers(); all != nil && !c.Session.Ephemeral { // such a session is not there for other daemons
		c.Of = owner
		all.push(c)
	}
}

func (h *Hub) forOthers() *Subscription {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.all
}

// SubscribeAll returns a subscription to all changes that this daemon publishes, of all owners, for other daemons that share its sessions. It takes the place of the
// one before, and outlives Close. began is called when a client begins to watch the list of an owner; it must not wait.
func (h *Hub) SubscribeAll(began func(session.Owner)) *Subscription {
	s := newSubscription()
	s.leave = func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.all == s {
			h.all, h.began = nil, nil
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all, h.began = s, began
	return s
}

// Owners lists those whose lists clients watch.
func (h *Hub) Owners() []session.Owner {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return slices.Collect(maps.Keys(h.subs))
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
	if began := h.enter(owner, s); began != nil {
		began(owner)
	}
	return s
}

func (h *Hub) enter(owner session.Owner, s *Subscription) (began func(session.Owner)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		s.err = ErrStale
		return nil
	}
	h.subs[owner] = append(slices.Clip(h.subs[owner]), s)
	return h.began
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

// Stale ends all subscriptions, because changes of other daemons may be missing. Clients subscribe again.
func (h *Hub) Stale() { h.endAll(false) }

// Close ends all subscriptions, also those to come.
func (h *Hub) Close() { h.endAll(true) }

func (h *Hub) endAll(closed bool) {
	h.mu.Lock()
	all := h.subs
	h.subs, h.closed = make(map[session.Owner][]*Subscription), h.closed || closed
	h.mu.Unlock()
	for _, list := range all {
		for _, s := range list {
			s.end(ErrStale)
		}
	}
}
