package rpc

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
)

// HTTPConfig says how clients on the network come in.
type HTTPConfig struct {
	Token provider.Secret // what a client must show; empty: nobody comes in
	Look  func()          // sees to it, by SetToken, that the token is the one in force; called before one is judged. nil: it is.

	Port        int      // of the listener
	TLS         bool     // the listener's own
	BehindProxy bool     // a proxy that speaks TLS stands in front: its headers are believed, its names are https
	Names       []string // of the listener, beside those of loopback
	Hosts       []string // names, with a port or without, by which clients may call besides
	Origins     []string // of pages that may connect, beside our own: scheme://host[:port]

	Pages map[string]http.Handler // by path; they hold nothing secret and take no token

	// Ready is why a client that came now would not be served well, in words for the operator; nil: it would. A Ready
	// that is nil is always so. Metrics answers reads of /metrics; nil: there is no such route. Both take the token.
	Ready   func() error
	Metrics http.Handler
}

// HTTP serves a [Server]'s clients on the network: WebSockets at /rpc, and of editors at /acp, /healthz, /readyz,
// /metrics, and pages. One gate stands in front of every route; its rules are in protocol.md, "Transport". No header lets another origin read anything.
//
// It is an http.Handler. Connections outlive their requests; Close ends them.
type HTTP struct {
	server *Server
	gate   *gate
	routes []route

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // connections; they end with their bearer's context
}

// subprotocol is the only one so far.
const subprotocol = "thinkd.v1"

// route is a path, compared exactly.
type route struct {
	path    string
	public  bool // it takes no token
	handler func(w http.ResponseWriter, r *http.Request, bearer context.Context)
}

// HTTP makes a handler, whose Close must be called.
func (s *Server) HTTP(c HTTPConfig) *HTTP {
	h := &HTTP{server: s, gate: newGate(c)}
	h.gate.setToken(c.Token)
	h.routes = []route{
		{"/rpc", false, h.webSocket},
		{"/acp", false, h.editors},
		{"/healthz", true, health},
		{"/readyz", false, readiness(c.Ready)},
	}
	if c.Metrics != nil {
		h.routes = append(h.routes, route{"/metrics", false, reading(c.Metrics)})
	}
	for path, page := range c.Pages {
		h.routes = append(h.routes, route{path, true, reading(page)})
	}
	return h
}

// SetToken replaces the token at once: who comes with the old one is refused, and who came with it is closed.
func (h *HTTP) SetToken(token provider.Secret) { h.gate.setToken(token) }

// Close ends all connections with [conn.ErrClosing] and returns when nothing of them is left. No more come in.
func (h *HTTP) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.gate.close(conn.ErrClosing)
	h.running.Wait()
}

// ServeHTTP lets in who may come in.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range securityHeaders {
		w.Header().Set(name, value)
	}
	if why := h.gate.foreign(r); why != "" {
		deny(w, http.StatusForbidden, why)
		return
	}
	found := route{handler: func(w http.ResponseWriter, _ *http.Request, _ context.Context) {
		deny(w, http.StatusNotFound, "there is nothing here")
	}}
	for _, route := range h.routes {
		if route.path == r.URL.Path {
			found = route
		}
	}
	bearer := context.Background()
	if !found.public {
		var status int
		var after time.Duration
		bearer, status, after = h.gate.bearer(r)
		switch status {
		case http.StatusUnauthorized:
			w.Header().Set("WWW-Authenticate", `Bearer realm="thinkd"`)
			deny(w, status, "the token is missing or wrong; the file token in the daemon's data directory has it")
			return
		case http.StatusTooManyRequests:
			w.Header().Set("Retry-After", strconv.Itoa(int((after+time.Second-1)/time.Second)))
			deny(w, status, "too many wrong tokens")
			return
		}
	}
	found.handler(w, r, bearer)
}

// securityHeaders are on every answer. Pages run our own script and no other, have markup made by their sanitiser alone,
// speak to us alone, are in no frame, and send their address to nobody.
var securityHeaders = map[string]string{
	"Content-Security-Policy":      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types dompurify",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Cache-Control":                "no-store",
}

// deny ends the HTTP connection too: whoever is refused costs nothing further.
func deny(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Connection", "close")
	http.Error(w, why, status)
}

func health(w http.ResponseWriter, r *http.Request, _ context.Context) {
	if !reads(w, r) {
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, "ok") // an error is the client's: it has gone
}

// readiness answers who asks whether to send clients here. Why not is for bearers of the token alone.
func readiness(ready func() error) func(http.ResponseWriter, *http.Request, context.Context) {
	return reading(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if ready != nil {
			if err := ready(); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, "ready") // an error is the client's: it has gone
	}))
}

// reading lets reads alone through to a handler.
func reading(handler http.Handler) func(http.ResponseWriter, *http.Request, context.Context) {
	return func(w http.ResponseWriter, r *http.Request, _ context.Context) {
		if reads(w, r) {
			handler.ServeHTTP(w, r)
		}
	}
}

// reads refuses what is not a read.
func reads(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD")
	deny(w, http.StatusMethodNotAllowed, "this is for reading")
	return false
}

func (h *HTTP) webSocket(w http.ResponseWriter, r *http.Request, bearer context.Context) {
	h.upgrade(w, r, h.server.MessageBytes(), func(f conn.Frames) error { return h.server.ServeFrames(bearer, f) })
}

// editors is webSocket for clients that speak ACP. Its draft of this transport has the header, and no subprotocol: ours is
// for those who show the token in another.
func (h *HTTP) editors(w http.ResponseWriter, r *http.Request, bearer context.Context) {
	w.Header().Set("Acp-Connection-Id", rand.Text())
	h.upgrade(w, r, h.server.EditorMessageBytes(), func(f conn.Frames) error { return h.server.ServeEditor(bearer, f) })
}

// upgrade leaves the connection to a goroutine of its own, so that nothing of the request is kept.
func (h *HTTP) upgrade(w http.ResponseWriter, r *http.Request, limit int, serve func(conn.Frames) error) {
	offered := offeredProtocols(r)
	ours := func(p string) bool { return strings.EqualFold(p, subprotocol) }
	if len(offered) > 0 && !slices.ContainsFunc(offered, ours) { // one that offers none takes what there is
		deny(w, http.StatusBadRequest, "offer the subprotocol "+subprotocol)
		return
	}
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		deny(w, http.StatusServiceUnavailable, conn.ErrClosing.Error())
		return
	}
	h.running.Add(1)
	h.mu.Unlock()
	f, err := conn.AcceptWebSocket(w, r, subprotocol, limit)
	if err != nil {
		h.running.Done()
		h.server.config.Log.Debug("WebSocket handshake", keyError, err)
		return
	}
	go func() { // ends with the client or the bearer's context; Close waits
		defer h.running.Done()
		_ = serve(f) // how it ended is in the log
	}()
}
