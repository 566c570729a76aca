package sim

import (
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Config configures a server. A server with the zero value accepts any key and answers without delay.
type Config struct {
	Pace      float64          // deltas per second; 0: without delay
	Secret    []byte           // signs thinking; nil: a fixed secret, so that a later server accepts the signatures of this one
	Key       string           // the only API key that is accepted; empty: any
	Log       *slog.Logger     // nil: none
	Now       func() time.Time // the clock, for rules that depend on the date; nil: time.Now
	NoJournal bool             // keep no requests and refusals; for servers that run for weeks
}

// fixedSecret is public: anybody can sign as a simulator with this secret. Its text never changes, so that older signatures
// stay valid.
var fixedSecret = []byte("the simulator signs with this unless it is told otherwise")

// Server is the stand-in. It is an http.Handler. All methods may be called at any time from any goroutine.
type Server struct {
	config  Config
	sealer  Sealer
	journal journal
	scripts scripts
	cache   Cache
	states  sync.Map      // of faces, by name
	count   atomic.Uint64 // requests received
}

// New returns a server. It holds no resources and needs no Close. [Server.Listen] serves it without a port.
func New(c Config) *Server {
	if len(c.Secret) == 0 {
		c.Secret = fixedSecret
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Server{config: c, sealer: Sealer{c.Secret}, journal: journal{off: c.NoJournal}}
}

// Script queues answers: each request for an answer that passes the checks gets the next one. Refused requests use up no
// answer.
func (s *Server) Script(answers ...Answer) {
	s.scripts.mu.Lock()
	defer s.scripts.mu.Unlock()
	s.scripts.queue = append(s.scripts.queue, answers...)
}

// ScriptFunc sets a function that chooses the answer to each request while no queued answer is left. If f returns nil, the
// server composes the answer. f is called from the handlers, in parallel. A nil f removes the function.
func (s *Server) ScriptFunc(f func(Request) *Answer) {
	s.scripts.mu.Lock()
	defer s.scripts.mu.Unlock()
	s.scripts.ask = f
}

// Requests returns the requests that the journal keeps, in order of arrival: at most 10,000, with bodies of at most 64 MiB
// in total.
func (s *Server) Requests() []Request {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	var all []Request
	for _, r := range s.journal.requests {
		all = append(all, *r)
	}
	return all
}

// Refusals returns the refusals that the journal keeps, at most 10,000, in order.
func (s *Server) Refusals() []Refusal {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	return slices.Clone(s.journal.refusals)
}
