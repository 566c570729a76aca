package mcp

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/thinkd/thinkd/agent/tool/toolhost"
)

// A redirect is not followed. So the operator's headers reach the server's own address and no other, and no path of the same server
// that the operator did not name.
func TestRedirects(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var there, elsewhere atomic.Int64
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
		for _, to := range []string{other.URL + "/mcp", "/other"} {
			there.Store(0)
			own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/mcp" {
					elsewhere.Add(1)
				} else if r.Header.Get("X-Key") == "the key" {
					there.Add(1)
				}
				http.Redirect(w, r, to, status)
			}))
			h, _ := open(t, toolhost.Server{Name: "own", URL: own.URL + "/mcp", Headers: map[string]string{"x-key": "the key"}})
			if tools, err := h.Tools(t.Context()); err == nil {
				t.Errorf("%d to %s: there are tools: %v", status, to, tools)
			}
			if there.Load() == 0 || elsewhere.Load() != 0 {
				t.Errorf("%d to %s: %d requests with the header, %d elsewhere", status, to, there.Load(), elsewhere.Load())
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
			own.Close()
		}
		other.Close()
	}
}
