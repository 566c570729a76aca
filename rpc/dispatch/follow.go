package dispatch

import (
	"sync"

	"github.com/thinkd/thinkd/session"
)

// Followed is a session that a client follows.
type Followed interface {
	// End returns when nothing of the session will be written that is not in the queue by then.
	End()
}

// follows are the sessions that a client follows. It is safe for concurrent use.
type follows struct {
	mu   sync.Mutex
	list map[session.ID]Followed
}

// Enter makes f what follows a session from now on. What did before has ended then, so that no update comes twice.
func (l *follows) Enter(id session.ID, f Followed) {
	l.Unfollow(id)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.list == nil {
		l.list = make(map[session.ID]Followed)
	}
	l.list[id] = f
}

// Leave is for what has ended without Unfollow.
func (l *follows) Leave(id session.ID, f Followed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.list[id] == f {
		delete(l.list, id)
	}
}

// Follows reports whether the client follows a session.
func (l *follows) Follows(id session.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.list[id] != nil
}

// Unfollow ends what follows a session, if anything does.
func (l *follows) Unfollow(id session.ID) {
	l.mu.Lock()
	f := l.list[id]
	delete(l.list, id)
	l.mu.Unlock()
	if f != nil {
		f.End()
	}
}

// Revoke ends the subscriptions of a session that can end on their own. Their clients get a notification, and nothing waits for it.
func (l *follows) Revoke(id session.ID) {
	l.mu.Lock()
	f := l.list[id]
	l.mu.Unlock()
	if ends, ok := f.(interface{ Revoke() }); ok {
		ends.Revoke()
	}
}

// unfollowAll is for the end of the connection, when nothing runs that could enter.
func (l *follows) unfollowAll() {
	for _, f := range l.list {
		f.End()
	}
}
