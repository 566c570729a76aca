package network

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
)

// Handler serves clients on the network: WebSockets at the endpoints, /healthz, /readyz, /metrics, and pages. One gate
// stands in front of every route; its rules are in protocol.md, "Transport". No header lets another origin read
// anything.
//
// It is an http.Handler. Connections outlive their requests; Close ends them.
type Handler struct {
	log     *slog.Logger
	auth    Authenticator
	logins  *Logins  // nil: none
	signIns *signIns // at an OpenID provider; nil: there is none
	gate    *gate
	routes  []route

	refused func(from string) // see Config; nil: nobody needs to know

	ctx context.Context // of all connections; ended by Close
	end context.CancelCauseFunc

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // connections; they end with their context
}

// subprotocol is the only one so far.
const subprotocol = "thinkd.v1"

// route is a path, compared exactly.
type route struct {
	path    string
	public  bool // it needs no principal
	cookie  bool // a login's cookie counts
	admin   bool // it needs the right to run the daemon
	handler func(http.ResponseWriter, *http.Request, auth.Grant)
}

// New makes a handler, whose Close must be called.
func New(c Config) *Handler {
	h := &Handler{log: c.Log, auth: c.Authenticator, logins: c.Logins, gate: newGate(c), refused: c.Refused}
	h.ctx, h.end = context.WithCancelCause(context.Background())
	h.routes = []route{
		{path: "/healthz", public: true, handler: reading(text("ok"))},
		{path: "/readyz", handler: reading(readiness(c))},
	}
	if h.logins != nil {
		if h.logins.provider != nil {
			in := newSignIns(h.logins, h.tellRefused, h.log)
			h.signIns = in
			h.routes = append(h.routes, route{path: signInPath, public: true, handler: posting(h.trying(in.begin))},
				route{path: renewPath, public: true, handler: posting(h.trying(in.renew))},
				route{path: callbackPath, public: true, handler: reading(http.HandlerFunc(in.end))})
		}
		h.routes = append(h.routes, route{path: "/login", handler: posting(h.login)}, route{path: "/logout", public: true, handler: posting(h.logout)})
	}
	for _, e := range c.Endpoints {
		h.routes = append(h.routes, route{path: e.Path, cookie: e.Cookie && h.logins != nil,
			handler: func(w http.ResponseWriter, r *http.Request, g auth.Grant) { h.upgrade(w, r, g, e) }})
	}
	if c.Metrics != nil {
		h.routes = append(h.routes, route{path: "/metrics", admin: true, handler: reading(c.Metrics)})
	}
	for path, page := range c.Pages {
		h.routes = append(h.routes, route{path: path, public: true, handler: reading(page)})
	}
	return h
}

// Close ends all connections with [conn.ErrClosing] and returns when nothing of them is left. No more come in.
func (h *Handler) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.end(conn.ErrClosing)
	h.running.Wait()
}

// ServeHTTP answers a request, or refuses it.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range securityHeaders {
		w.Header().Set(name, value)
	}
	if why := h.gate.foreign(r); why != "" {
		deny(w, http.StatusForbidden, why)
		return
	}
	found := route{handler: func(w http.ResponseWriter, _ *http.Request, _ auth.Grant) {
		deny(w, http.StatusNotFound, "there is nothing here")
	}}
	for _, route := range h.routes {
		if route.path == r.URL.Path {
			found = route
		}
	}
	var g auth.Grant
	if !found.public {
		var err error
		if g, err = h.authenticate(r, found); err != nil {
			h.tell(r, err)
			h.refuse(w, err)
			return
		}
	}
	if found.admin && !slices.Contains(g.Principal.Rights, method.Admin) {
		deny(w, http.StatusForbidden, "this needs the right "+method.Admin.String())
		return
	}
	found.handler(w, r, g)
}

// authenticate returns who sends a request. A token counts more than a cookie: who shows a wrong one is refused.
func (h *Handler) authenticate(r *http.Request, to route) (auth.Grant, error) {
	if _, given := offeredToken(r); to.cookie && !given && len(r.CookiesNamed(cookieName)) > 0 {
		return h.logins.admit(r)
	}
	return h.auth.Authenticate(r)
}

// tell says who was not let in. Who showed nothing did not try.
func (h *Handler) tell(r *http.Request, err error) {
	_, token := offeredToken(r)
	if _, refused := errors.AsType[*auth.Refusal](err); refused && err != errSignInEnded && (token || len(r.CookiesNamed(cookieName)) > 0) {
		h.tellRefused(r)
	}
}

func (h *Handler) tellRefused(r *http.Request) {
	if h.refused != nil {
		h.refused(address(r, h.gate.behindProxy).String())
	}
}

// trying answers with the error of a handler, if it has one.
func (h *Handler) trying(handler func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request, auth.Grant) {
	return func(w http.ResponseWriter, r *http.Request, _ auth.Grant) {
		if err := handler(w, r); err != nil {
			h.tell(r, err)
			h.refuse(w, err)
		}
	}
}

// login gives a browser that has shown the token a cookie.
func (h *Handler) login(w http.ResponseWriter, _ *http.Request, g auth.Grant) {
	c, err := h.logins.grant(g)
	if err != nil {
		h.refuse(w, err)
		return
	}
	http.SetCookie(w, c)
	w.WriteHeader(http.StatusNoContent)
}

// logout takes the cookie back. If the person can log out at an OpenID provider too, the answer says where.
func (h *Handler) logout(w http.ResponseWriter, r *http.Request, _ auth.Grant) {
	ended, err := h.logins.revoke(r)
	if err != nil {
		h.refuse(w, err)
		return
	}
	http.SetCookie(w, cookie("", 0))
	if h.signIns != nil {
		if address := h.signIns.signOut(r, ended); address != "" {
			if err := answerAddress(w, address); err != nil {
				h.log.Error("a logout", "err", err)
			}
			return
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// refuse answers a request without a principal.
func (h *Handler) refuse(w http.ResponseWriter, err error) {
	refusal, ok := errors.AsType[*auth.Refusal](err)
	if !ok {
		h.log.Error("authentication failed", "err", err)
		refusal = &auth.Refusal{Status: http.StatusServiceUnavailable, Reason: "authentication is not possible for now"}
	}
	if refusal == errVoidLogin {
		http.SetCookie(w, cookie("", 0))
	}
	if refusal.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="thinkd"`)
	}
	if after := refusal.RetryAfter; after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((after+time.Second-1)/time.Second)))
	}
	deny(w, refusal.Status, refusal.Reason)
}

// securityHeaders are on every answer. Pages run our own script and no other, have markup made by their sanitiser alone,
// connect to us alone, are in no frame, and send no referrer.
var securityHeaders = map[string]string{
	"Content-Security-Policy":      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types dompurify",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Cache-Control":                "no-store",
}

// deny refuses a request, and ends its HTTP connection too, so that it costs nothing further.
func deny(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Connection", "close")
	http.Error(w, why, status)
}

// text answers with a word.
func text(word string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, word) // an error is the client's: it has gone
	})
}

// readiness says whether clients are to be sent here. Why not is for principals alone.
func readiness(c Config) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.Ready != nil {
			if err := c.Ready(); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
		}
		word := "ready"
		if c.Durability != nil {
			word += "\ndurability: " + c.Durability()
		}
		text(word).ServeHTTP(w, r)
	})
}

// reading lets reads alone through to a handler.
func reading(handler http.Handler) func(http.ResponseWriter, *http.Request, auth.Grant) {
	return func(w http.ResponseWriter, r *http.Request, _ auth.Grant) {
		if reads(w, r) {
			handler.ServeHTTP(w, r)
		}
	}
}

// posting lets POST alone through to a handler.
func posting(handler func(http.ResponseWriter, *http.Request, auth.Grant)) func(http.ResponseWriter, *http.Request, auth.Grant) {
	return func(w http.ResponseWriter, r *http.Request, g auth.Grant) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			deny(w, http.StatusMethodNotAllowed, "this takes POST only")
			return
		}
		handler(w, r, g)
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

// upgrade leaves the connection to a goroutine of its own, so that nothing of the request is kept.
func (h *Handler) upgrade(w http.ResponseWriter, r *http.Request, g auth.Grant, e Endpoint) {
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
	if e.IDHeader != "" {
		w.Header().Set(e.IDHeader, rand.Text())
	}
	f, err := conn.AcceptWebSocket(w, r, subprotocol, e.Limit)
	if err != nil {
		h.running.Done()
		h.log.Debug("WebSocket handshake", "err", err)
		return
	}
	go func() { // ends with the client or its context; Close waits
		defer h.running.Done()
		g.From = address(r, h.gate.behindProxy).String()
		lease := auth.NewLease(h.ctx, g, func(token string) (auth.Grant, error) { return h.auth.Renew(r, token) })
		defer lease.Close()
		_ = e.Serve(lease.Context(), lease, f) // how it ended is in the log
	}()
}
