package acp

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session/tool"
)

// The result of a search has the lines that were found as locations; other results have none.
func TestMatches(t *testing.T) {
	dir := t.TempDir()
	th := &thread{dir: dir, tools: map[string]tool.Tool{"search": {Tool: provider.Tool{Name: "search"}, Host: tool.Builtin}, "run": {Tool: provider.Tool{Name: "run"}, Host: tool.Builtin}}}
	further := filepath.Join(t.TempDir(), "x:y.go") // a path with a colon, as that of a Windows volume is
	content := provider.Blocks{provider.Text{Text: filepath.ToSlash(further) + ":7: z\na/b.go:12: func main() {\nc.go:3: x: y\n[there are more than 200; search for less]\nd.go:no: z\ne.go:0: z\n"}}
	want := []place{{further, 7}, {filepath.Join(dir, "a", "b.go"), 12}, {filepath.Join(dir, "c.go"), 3}}
	c := &toolCall{}
	th.toolCall(c, "search", "", json.RawMessage(`{"pattern":"x"}`), "in_progress")
	if diff := cmp.Diff(want, th.matches(c, content)); diff != "" {
		t.Error(diff)
	}
	if n := len(th.matches(c, provider.Blocks{provider.Text{Text: strings.Repeat("a.go:1: x\n", 1000)}})); n != maxMatches {
		t.Errorf("%d locations", n)
	}
	c = &toolCall{}
	th.toolCall(c, "run", "", json.RawMessage(`{"command":"grep -n x a"}`), "in_progress")
	if got := th.matches(c, content); got != nil {
		t.Errorf("a command has the locations %v", got)
	}
}
