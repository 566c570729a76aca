package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
)

// A server's prompts are listed while it runs, and again after it has changed them. It learns the folder that it is for, if there is one.
func TestPrompts(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
	roots := ""
	add := func(name string) {
		server.AddPrompt(&sdk.Prompt{Name: name, Description: "Review.", Arguments: []*sdk.PromptArgument{{Name: "file", Required: true}, {Name: "tone"}}},
			func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
				if r.Params.Arguments["file"] == "" {
					return nil, fmt.Errorf("file is missing")
				}
				if r.Params.Arguments["file"] == "none" {
					return &sdk.GetPromptResult{}, nil
				}
				return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "Review " + r.Params.Arguments["file"] + r.Params.Arguments["tone"]}},
					{Role: "assistant", Content: &sdk.TextContent{Text: "Gladly."}}}}, nil
			})
	}
	add("review")
	add("not typed")
	sdk.AddTool(server, &sdk.Tool{Name: "roots"}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		//lint:ignore SA1019 servers of earlier versions ask for roots
		list, err := r.Session.ListRoots(ctx, nil)
		if err != nil {
			roots = "refused"
			return &sdk.CallToolResult{}, nil, nil
		}
		for _, root := range list.Roots {
			roots += root.URI
		}
		return &sdk.CallToolResult{}, nil, nil
	})
	address := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(address.Close)
	h := New(Config{Server: toolhost.Server{Name: "s", URL: address.URL}, Name: "s", Root: "/srv/my app", Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { h.Close() })

	if got := h.Prompts(); got != nil {
		t.Errorf("before the server runs: %v", got)
	}
	blocks, err := h.Prompt(t.Context(), "review", map[string]string{"file": "a.go", "tone": "!"})
	want := provider.Blocks{provider.Text{Text: "Review a.go!"}, provider.Text{Text: "[as the assistant]"}, provider.Text{Text: "Gladly."}}
	if diff := cmp.Diff(want, blocks); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
	if diff := cmp.Diff([]toolhost.Prompt{{Name: "review", Description: "Review.", Arguments: []toolhost.Argument{{Name: "file", Required: true}, {Name: "tone"}}}}, h.Prompts()); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{"": "file is missing", "none": "is empty"} {
		if _, err := h.Prompt(t.Context(), "review", map[string]string{"file": name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", name, err, want)
		}
	}
	if _, err := h.Prompt(t.Context(), "other", nil); err == nil || !strings.Contains(err.Error(), "refuses the prompt") {
		t.Errorf("an unknown prompt: %v", err)
	}
	h.Run(t.Context(), provider.ToolCall{ID: "c", Name: "s__roots", Input: []byte(`{}`)}, func(string) {})
	if roots != "file:///srv/my%20app" {
		t.Errorf("roots %q", roots)
	}

	h.link.changed.Store(true) // as the notification does, whose time of arrival is not known
	add("second")
	if _, err := h.Tools(t.Context()); err != nil || len(h.Prompts()) != 2 {
		t.Errorf("after a change: %v, %v", h.Prompts(), err)
	}
}
