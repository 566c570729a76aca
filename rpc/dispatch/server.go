package dispatch

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

// Server is what the connections of a daemon have in common. It is safe for concurrent use and holds nothing that must be closed:
// connections end with their contexts.
type Server struct {
	log     *slog.Logger
	router  Router
	meter   Meter
	auditor Auditor
	sharer  Sharer
	busy    busy
	guests  guests
	clients atomic.Int64 // connected
}

// Meter counts the requests of principals. Take is called before each request on the goroutine that reads, and must not wait. ok is false if
// the principal's owner has none left; resets is when there is one.
type Meter interface {
	Take(o session.Owner) (resets time.Time, ok bool)
}

// Sharer knows which sessions of others a user may use. Access is called before each request of a user that names a session, on the goroutine
// that reads, and must not wait. ok is false if nobody shares the session with the user.
type Sharer interface {
	Access(guest session.Owner, id session.ID) (a session.Access, ok bool)
}

// Auditor records requests. Note is called for each request when its result is known, before the client gets it, on many goroutines in
// parallel.
type Auditor interface {
	Note(e Event)
}

// Event is a request with its result.
type Event struct {
	Principal method.Principal
	Origin    Origin
	Method    string          // empty: none that there is
	Session   session.ID      // that the request names; empty: none
	Made      session.ID      // that the result names; empty: none
	Params    json.RawMessage // as sent, so with all that was said
	Failure   *conn.Error     // nil: it went well
}

// Origin is where a connection is from.
type Origin struct {
	From  string // an address, an account, or a word; empty: not known
	Token string // the id of the API token that let the client in; empty: something else did
}

// NewServer makes a server. router nil: this daemon serves all sessions. meter nil: requests are not counted. auditor nil: they are not
// recorded. sharer nil: no sessions are shared.
func NewServer(log *slog.Logger, router Router, meter Meter, auditor Auditor, sharer Sharer) *Server {
	return &Server{log: log, router: router, meter: meter, auditor: auditor, sharer: sharer}
}

// Clients returns the number of open connections, over all transports.
func (s *Server) Clients() int { return int(s.clients.Load()) }

// Expel ends the connections of an owner, and returns when nothing of them runs any more. Until readmit is called, no request of the
// owner is served. The error is the cause of ctx's end; readmit is to be called then too.
func (s *Server) Expel(ctx context.Context, o session.Owner) (readmit func(), err error) {
	return s.guests.expel(ctx, o)
}

// Revoke ends what the connections of a user follow of a session that is not shared with the user any more.
func (s *Server) Revoke(o session.Owner, id session.ID) { s.guests.unshare(o, id) }

// Drain returns when all updates are on their way to all clients and no late answer is pending, or with the cause of ctx's end. It is for the end of the daemon: the agents have been closed, so that each subscription ends
// after its last update, and the connections have not.
func (s *Server) Drain(ctx context.Context) error {
	select {
	case <-s.busy.idle():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// busy counts what runs for all clients together.
type busy struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when n is 0 again; nil: nobody waits
}

func (b *busy) add(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n += n; b.n == 0 && b.none != nil {
		close(b.none)
		b.none = nil
	}
}

// idle is closed when nothing runs.
func (b *busy) idle() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.none == nil {
		b.none = make(chan struct{})
	}
	none := b.none
	if b.n == 0 {
		close(none)
		b.none = nil
	}
	return none
}
