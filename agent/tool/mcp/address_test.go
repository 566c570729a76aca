package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/thinkd/thinkd/agent/tool/mcphttp"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
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

// A server of users at an address inside is not contacted, unless the operator allows the address. The error of its tools says so; that of
// a call, which users and models see, has no address.
func TestPrivateAddress(t *testing.T) {
	own := mcp.NewServer(&mcp.Implementation{Name: "docs", Version: "1"}, nil)
	mcp.AddTool(own, &mcp.Tool{Name: "find", Description: "Find it."}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return own }, nil)
	var requests atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close) // after the hosts, whose connections it waits for
	open := func(allow ...netip.Prefix) *Host {
		h := New(Config{Server: toolhost.Server{Name: "docs", URL: s.URL}, Name: "mcp:docs", Log: slog.New(slog.DiscardHandler),
			Client: mcphttp.Public{Server: "docs", Allow: allow, Setting: "auth.mcp_private_addresses"}.Transport()})
		t.Cleanup(func() { h.Close() })
		return h
	}
	h := open()
	const want = "cannot connect to 127.0.0.1 for the MCP server docs: 127.0.0.1 is not a public address; to let users reach it, add it to auth.mcp_private_addresses in the config"
	if _, err := h.Tools(t.Context()); err == nil || err.Error() != want {
		t.Errorf("tools: %v, want %s", err, want)
	}
	r := h.Run(t.Context(), provider.ToolCall{ID: "c", Name: "docs__find", Input: json.RawMessage(`{}`)}, func(string) {})
	if got := fmt.Sprint(r.Blocks); !r.Failed || strings.Contains(got, "127.0.0.1") || !strings.Contains(got, "cannot be reached") {
		t.Errorf("call: %s", got)
	}
	if requests.Load() != 0 {
		t.Errorf("%d requests arrived", requests.Load())
	}
	if tools, err := open(netip.MustParsePrefix("127.0.0.1/32")).Tools(t.Context()); err != nil || len(tools) != 1 {
		t.Errorf("allowed: %v, %v", tools, err)
	}
}
