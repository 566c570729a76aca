package sim

import (
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"
)

// Config says how a server behaves. The zero value is a server that accepts any key and answers without delay.
type Config struct {
	Pace      float64          // deltas a second; 0: as fast as asked
	Secret    []byte           // signs thinking; nil: a fixed one, so that a later server accepts this one's signatures
	Key       string           // the only key that is accepted; empty: any
	Log       *slog.Logger     // nil: none
	Now       func() time.Time // what day it is, for what vendors change on one; nil: time.Now
	NoJournal bool             // keep no requests and no refusals: for a server that runs for weeks
}

// fixedSecret keeps nothing secret: whoever can read this program can sign for its simulator.
var fixedSecret = []byte("the simulator signs with this unless it is told otherwise")

// Server is the stand-in. It is an http.Handler; all methods may be called at any time from any goroutine.
type Server struct {
	config  Config
	sealer  Sealer
	journal journal
	scripts scripts
	cache   Cache
	count   atomic.Uint64 // requests so far
}

// New makes a server. It holds no resources and needs no Close; see [Server.Listen] for one that does.
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

// ServeHTTP answers one request. The registered faces say which of them it is meant for. If none does, the answer has
// the status 501 and names the import that is missing.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ex := &Exchange{server: s, Request: r, ID: fmt.Sprintf("req_sim_%06d", s.count.Add(1))}
	ex.w = &statusWriter{ResponseWriter: w}
	ex.entry = s.journal.add(r)
	defer func() {
		s.journal.answered(ex.entry, ex.w.status)
		s.config.Log.Debug("simulated", "method", r.Method, "path", r.URL.Path, "status", ex.w.status, "request", ex.ID)
	}()
	face, err := faceFor(r)
	if err != nil {
		s.journal.refuse(Refusal{Path: r.URL.Path, Status: http.StatusNotImplemented, Type: "sim", Message: err.Error()})
		http.Error(ex.w, err.Error(), http.StatusNotImplemented)
		return
	}
	ex.face = face
	face.Serve(ex)
}
