package dispatch

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
)

// Server is what the connections of a daemon have in common. It is safe for concurrent use and holds nothing that must be closed:
// connections end with their contexts.
type Server struct {
	log     *slog.Logger
	router  Router
	busy    busy
	clients atomic.Int64 // connected
}

// NewServer makes a server. router nil: all sessions are served here.
func NewServer(log *slog.Logger, router Router) *Server {
	if router == nil {
		router = localRouter{}
	}
	return &Server{log: log, router: router}
}

// Clients counts the connections that are served now, whichever way they came.
func (s *Server) Clients() int { return int(s.clients.Load()) }

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
