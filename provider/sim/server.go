// Package sim is a strict stand-in for model APIs, served over HTTP.
//
// A [Server] checks what the vendor checks, and answers with the vendor's status, error format and the stable parts of its texts. It signs
// thinking with an HMAC over the data that the vendor's rule binds. So it refuses a changed, reordered or misplaced block as the vendor
// would. The signature contains everything that the check needs: the server stores no conversation, and after a restart it accepts what
// it signed before. For Messages and Responses it keeps a prompt cache by the vendors' rules, as digests. The other vendors document no
// rules that could be imitated.
//
// An answer depends only on the request: the same request gets the same answer, except for the counts of its cache. An [Answer] requests
// anything else: tests queue them with [Server.Script], and clients write a marker into the prompt ([Help]).
//
// Faults happen on the real HTTP stack: a cut is a broken connection, a stall is silence. A waiting answer ends as
// soon as its client disconnects, and a handler starts no goroutine.
//
// Each API has its files: its HTTP face, its checks, its table of models. The tables are this package's own on
// purpose. A judge who reads the rules in the defendant's notes finds no mistake. Nothing of the project is imported.
//
// What is there: Anthropic's Messages (messages*.go), with /v1/messages, /v1/messages/count_tokens and /v1/models, and
// Copilot's /copilot/v1/messages;
// OpenAI's Responses (responses*.go), with /v1/responses, Azure's /openai/v1/responses, the ChatGPT plan's
// /backend-api/codex/responses and Copilot's /responses; Chat Completions (chat*.go) of many hosts, with
// /HOST/chat/completions and /HOST/models, and LM Studio's and llama.cpp's own lists; Google's generateContent (gemini*.go), with its verbs and its list under
// /v1beta/models; Ollama's own API (ollama*.go) under /api.
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
	sealer  sealer
	journal journal
	scripts scripts
	cache   promptCache
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
	return &Server{config: c, sealer: sealer{c.Secret}, journal: journal{off: c.NoJournal}}
}

// ServeHTTP answers one request. The registered faces say which of them it is meant for. If none does, the answer has
// the status 501 and names the import that is missing.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ex := &exchange{server: s, r: r, id: fmt.Sprintf("req_sim_%06d", s.count.Add(1))}
	ex.w = &statusWriter{ResponseWriter: w}
	ex.entry = s.journal.add(r)
	defer func() {
		s.journal.answered(ex.entry, ex.w.status)
		s.config.Log.Debug("simulated", "method", r.Method, "path", r.URL.Path, "status", ex.w.status, "request", ex.id)
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
