//go:build unix

package acp

import (
	"strings"
	"syscall"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
)

// TestACPCrash crashes the door in mid-thought as a panic would, with the stacks of all goroutines: standard output has
// messages alone, to the end.
func TestACPCrash(t *testing.T) {
	t.Parallel()
	vendor, env := proof.Simulator(t, sim.Config{})
	vendor.Script(sim.Answer{Parts: []sim.Part{{Kind: sim.Thinking, Text: "On and on. ", Endless: true}}, Pace: 50})
	e := startRawEditor(t, proof.DataDir(t), env)
	e.result("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}})
	id := e.result("session/new", map[string]any{"cwd": t.TempDir(), "mcpServers": []any{}}).Get("sessionId").String()
	e.ask("session/prompt", promptOf(id, "Think."))
	e.until(thinks)
	if err := e.Cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	for {
		text, err := e.In.ReadString('\n')
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
	if err := e.Cmd.Wait(); err == nil {
		t.Error("the door ends well")
	}
}
