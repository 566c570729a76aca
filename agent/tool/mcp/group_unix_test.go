//go:build unix

package mcp

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/thinkd/thinkd/agent/tool/toolhost"
)

// With a server end the programs that it has started, even if it does not heed the end of its input.
func TestCloseEndsTheGroup(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	h, _ := open(t, toolhost.Server{Name: "own", Env: map[string]string{"THINKD_TEST_SERVER": "1", "PIDS": pids},
		Command: []string{"/bin/sh", "-c", `sleep 1000 & echo $! >> "$PIDS"; echo $$ >> "$PIDS"; exec "$0"`, os.Args[0]}})
	if _, err := h.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(pids)
	if err != nil || len(strings.Fields(string(text))) != 2 {
		t.Fatalf("%q, %v", text, err)
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
	if _, err := h.Tools(t.Context()); err == nil {
		t.Error("a closed host starts a server")
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
