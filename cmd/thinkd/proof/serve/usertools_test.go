package serve

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// toolServer is an MCP server on the loopback address, with one tool. It counts the requests.
func toolServer(t *testing.T) (address string, requests *atomic.Int64) {
	s := mcp.NewServer(&mcp.Implementation{Name: "docs", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "find", Description: "Finds a page."}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	requests = new(atomic.Int64)
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(served.Close)
	return served.URL, requests
}

// A server of users at an address that is not public gets no request, and the log says which setting allows it. With the setting, and
// without users, it is used.
func TestServersOfUsers(t *testing.T) {
	t.Parallel()
	address, requests := toolServer(t)
	servers := fmt.Sprintf("[mcp_servers.docs]\nurl = %q\n", address)
	for _, tt := range []struct {
		name, auth string
		user       bool
		tools      string
	}{
		{"refused", "[auth]\nmcp_servers = [\"docs\"]\n", true, "[]"},
		{"refused for the operator, who has the same connection", "[auth]\nmcp_servers = [\"docs\"]\n", false, "[]"},
		{"another address is allowed", "[auth]\nmcp_servers = [\"docs\"]\nmcp_private_addresses = [\"10.0.0.0/8\"]\n", true, "[]"},
		{"allowed", "[auth]\nmcp_servers = [\"docs\"]\nmcp_private_addresses = [\"127.0.0.1\"]\n", true, "[docs__find]"},
		{"not for users", "[auth]\n", false, "[docs__find]"},
		{"without users", "", false, "[docs__find]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			requests.Store(0)
			data, config := t.TempDir(), proof.WriteConfig(t, servers+tt.auth)
			var bearer string
			if tt.user {
				bearer = token(t, data, config, "create", "--user", "ann")
			}
			s := proof.StartServe(t, proof.Command(t, nil, append(proof.ServeArgs(data), "--config", config)...))
			if !tt.user {
				bearer = s.Token
			}
			c := proof.DialWS(t, s.Base, bearer, nil)
			var created struct {
				ID string `json:"session_id"`
			}
			c.Must("session/new", map[string]any{"model_id": "sim/claude"}, &created)
			var state struct {
				Session struct {
					Tools []struct {
						Name string `json:"name"`
					} `json:"tools"`
				} `json:"session"`
			}
			c.Must("session/state", map[string]any{"session_id": created.ID}, &state)
			var names []string
			for _, tool := range state.Session.Tools {
				names = append(names, tool.Name)
			}
			if got := fmt.Sprint(names); got != tt.tools {
				t.Errorf("tools: %s, want %s", got, tt.tools)
			}
			s.Terminate()
			refused := strings.Contains(s.Stderr.String(), "cannot connect to 127.0.0.1 for the MCP server docs: 127.0.0.1 is not a public address; to let users reach it, add it to auth.mcp_private_addresses in the config")
			if want := tt.tools == "[]"; refused != want || (requests.Load() == 0) != want {
				t.Errorf("%d requests; the log says that it was refused: %v", requests.Load(), refused)
			}
		})
	}
}
