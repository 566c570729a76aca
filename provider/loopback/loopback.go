// Package loopback is the address on this machine that a browser returns to after a login (RFC 8252).
//
// Guarantees: it listens on 127.0.0.1 alone, and accepts one request, with the state of the login. A foreign page can make the browser
// open the address, but does not know the state, and cannot use up the login.
package loopback

import (
	"context"
	"crypto/subtle"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Return is the address of one login.
type Return struct {
	path     string
	listener net.Listener

	query chan url.Values // room for one
	told  chan bool       // room for one: whether the login succeeded

	mu      sync.Mutex
	state   string
	used    bool
	server  *http.Server
	serving sync.WaitGroup
}

// Listen opens the address. Port 0 is any free one. The caller must call Close.
func Listen(ctx context.Context, port int, path string) (*Return, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, err
	}
	return &Return{path: path, listener: l, query: make(chan url.Values, 1), told: make(chan bool, 1)}, nil
}

// Port is the port that it listens on.
func (r *Return) Port() int { return r.listener.Addr().(*net.TCPAddr).Port }

// Wait waits until the browser returns with the state, and returns the query. It may be called once. The browser waits for Close.
func (r *Return) Wait(ctx context.Context, state string) (url.Values, error) {
	r.mu.Lock()
	r.state = state
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 64 << 10}
	r.serving.Go(func() { r.server.Serve(r.listener) }) // ends with Close, which waits; the error only says so
	r.mu.Unlock()
	select {
	case query := <-r.query:
		return query, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Close tells the browser whether the login succeeded, and closes the address.
func (r *Return) Close(ok bool) {
	r.told <- ok
	r.mu.Lock()
	server := r.server
	r.mu.Unlock()
	if server == nil {
		r.listener.Close() // nothing was served
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // so that the browser can load the page
	defer cancel()
	if server.Shutdown(ctx) != nil {
		server.Close()
	}
	r.serving.Wait()
}

// ServeHTTP accepts one request with the state of this login.
func (r *Return) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if req.URL.Path != r.path || req.Method != http.MethodGet {
		page(w, http.StatusNotFound, "There is nothing here.")
		return
	}
	query := req.URL.Query()
	if subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(r.state)) != 1 {
		page(w, http.StatusBadRequest, "thinkd did not start this login. Start again.")
		return
	}
	r.mu.Lock()
	used := r.used
	r.used = true
	r.mu.Unlock()
	if used {
		page(w, http.StatusGone, "This login was used already. You can close this page.")
		return
	}
	r.query <- query
	select {
	case ok := <-r.told:
		if ok {
			page(w, http.StatusOK, "You are logged in. You can close this page.")
			return
		}
	case <-req.Context().Done():
	}
	page(w, http.StatusBadRequest, "The login failed; thinkd says why. You can close this page.")
}

func page(w http.ResponseWriter, status int, text string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<!doctype html><meta charset=utf-8><title>thinkd</title><p>%s</p>\n", html.EscapeString(text)) // an error means that the browser has disconnected
}
