//go:build unix

package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/thinkd/thinkd/provider/sim"
)

// TestACPCrash crashes the door in mid-thought as a panic would, with the stacks of all goroutines: standard output has
// messages alone, to the end.
func TestACPCrash(t *testing.T) {
	t.Parallel()
	vendor, env := simulator(t, sim.Config{})
	vendor.Script(sim.Answer{Parts: []sim.Part{{Kind: sim.Thinking, Text: "On and on. ", Endless: true}}, Pace: 50})
	e := startRawEditor(t, dataDir(t), env)
	e.result("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}})
	id := e.result("session/new", map[string]any{"cwd": t.TempDir(), "mcpServers": []any{}}).Get("sessionId").String()
	e.ask("session/prompt", promptOf(id, "Think."))
	e.until(thinks)
	if err := e.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	for {
		text, err := e.in.ReadString('\n')
		if err != nil {
			if strings.Contains(text, "goroutine") {
				t.Errorf("standard output ends with %q", text)
			}
			break
		}
		if !strings.HasPrefix(text, `{"jsonrpc":"2.0"`) {
			t.Errorf("standard output has %q", text)
		}
	}
	if err := e.cmd.Wait(); err == nil {
		t.Error("the door ends well")
	}
}
