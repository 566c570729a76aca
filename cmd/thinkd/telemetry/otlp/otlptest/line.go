package otlptest

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"
)

// A Line is an http.RoundTripper to its collector, without a network, and an io.Writer for the log of what is tested. Its methods
// are safe for concurrent use.
type Line struct {
	Collector

	// Way takes a request instead of the collector. It is nil at first, and must not change while requests are made.
	Way func(*http.Request) (*http.Response, error)

	began time.Time

	mu    sync.Mutex
	log   bytes.Buffer
	tries []time.Duration
}

// NewLine returns a Line whose time begins now.
func NewLine() *Line { return &Line{began: time.Now()} }

func (l *Line) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	l.tries = append(l.tries, time.Since(l.began))
	l.mu.Unlock()
	if l.Way != nil {
		return l.Way(r)
	}
	w := httptest.NewRecorder()
	l.ServeHTTP(w, r)
	return w.Result(), nil
}

// Write adds to the log.
func (l *Line) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(line)
}

// Log returns what was written.
func (l *Line) Log() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.String()
}

// Tries returns when requests were made.
func (l *Line) Tries() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.tries)
}
