package mcp

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/thinkd/thinkd/agent/tool/toolhost"
)

// The operator's headers reach the server's own address, and never the place that an answer points to.
func TestRedirects(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var there, elsewhere atomic.Int64
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
		own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Key") == "the key" {
				there.Add(1)
			}
			http.Redirect(w, r, other.URL+"/mcp", status)
		}))
		h, _ := open(t, toolhost.Server{Name: "own", URL: own.URL + "/mcp", Headers: map[string]string{"x-key": "the key"}})
		if tools, err := h.Tools(t.Context()); err == nil {
			t.Errorf("%d: there are tools: %v", status, tools)
		}
		if there.Load() == 0 || elsewhere.Load() != 0 {
			t.Errorf("%d: %d requests with the header, %d elsewhere", status, there.Load(), elsewhere.Load())
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		own.Close()
		other.Close()
	}
}

// A place on the same server is no other: the operator named the whole address.
func TestSameOriginRedirects(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var there, elsewhere atomic.Int64
		own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/mcp" {
				there.Add(1)
				http.Redirect(w, r, "/other", status)
				return
			}
			elsewhere.Add(1)
		}))
		h, _ := open(t, toolhost.Server{Name: "own", URL: own.URL + "/mcp"})
		if tools, err := h.Tools(t.Context()); err == nil {
			t.Errorf("%d: there are tools: %v", status, tools)
		}
		if there.Load() == 0 || elsewhere.Load() != 0 {
			t.Errorf("%d: %d requests there, %d elsewhere", status, there.Load(), elsewhere.Load())
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		own.Close()
	}
}
