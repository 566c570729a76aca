//go:build unix

package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// oddFiles makes what is no plain file, and lists it.
func oddFiles(t *testing.T, dir string) []string {
	t.Helper()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"null": "/dev/null", "zero": "/dev/zero"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"pipe", "null", "zero", "/dev/zero", "/proc/self/environ"}
}

func TestRun(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-not-for-commands")
	t.Setenv("WANTED", "passed")
	h, dir := at(t, map[string]string{"sub/x": ""})
	h.tools.config.PassEnv = []string{"WANTED"}
	for _, tt := range []struct {
		input in
		want  string
	}{
		{in{"command": "echo out; echo err >&2"}, "out\nerr\n[exit code 0]"},
		{in{"command": "exit 3"}, "failed: [exit code 3]"},
		{in{"command": "basename $PWD; cat", "path": "sub"}, "sub\n[exit code 0]"},
		{in{"command": "kill -TERM $$"}, "failed: [ended by the signal terminated]"},
		{in{"command": "echo $OPENAI_API_KEY$WANTED"}, "passed\n[exit code 0]"},
		{in{"command": `printf 'caf\351'`}, "caf\uFFFD\n[exit code 0]"},
	} {
		if got := call(t, h, "run", tt.input); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.input, got, tt.want)
		}
	}
	long := call(t, h, "run", in{"command": "echo first; yes | head -c 1000000; echo last"})
	has(t, "long", long, "first\ny\n", "bytes are left out here]", "y\nlast\n[exit code 0]")
	if len(long) > maxOutput+200 {
		t.Errorf("a long output gives %d bytes", len(long))
	}

	begun := time.Now()
	pids := filepath.Join(dir, "pids")
	got := call(t, h, "run", in{"command": "sleep 1000 & echo $! >> pids; sleep 1000 & echo $! >> pids; wait", "timeout_seconds": 1})
	if got != "failed: [stopped: it ran for 1s]" {
		t.Errorf("time is over: %q", got)
	}
	if got := call(t, h, "run", in{"command": "sleep 1000 & echo $! >> pids"}); got != "[exit code 0]" {
		t.Errorf("left in the background: %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	h.Run(ctx, provider.ToolCall{Name: "run", Input: json.RawMessage(`{"command":"sleep 1000 & echo $! >> pids; echo begun; wait"}`)},
		func(chunk string) {
			if strings.Contains(chunk, "begun") {
				cancel()
			}
		})
	t.Logf("three calls in %v", time.Since(begun).Round(time.Millisecond))
	text, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	if len(strings.Fields(string(text))) != 4 {
		t.Errorf("%q", text)
	}
	for _, word := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		if !gone(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
}

// gone reports whether a killed process has ended. A zombie, which its parent has yet to wait for, counts as ended.
func gone(pid int) bool {
	for range 6000 { // a bound for failures: a busy machine takes its time
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return true
		}
		if stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil && strings.Contains(string(stat), ") Z ") {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}
