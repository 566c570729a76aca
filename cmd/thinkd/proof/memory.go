package proof

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// Memory is what the kernel counts for a process, in bytes (proc_pid_status(5)).
type Memory struct {
	Peak     uint64 // VmHWM
	Resident uint64 // VmRSS: Own and Mapped
	Own      uint64 // RssAnon
	Mapped   uint64 // RssFile and RssShmem: pages of files
}

// MemoryOf returns what a process uses. On other systems than Linux everything is 0. It must run on the test's goroutine.
func MemoryOf(t testing.TB, pid int) (m Memory) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return m
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]*uint64{"VmHWM": &m.Peak, "VmRSS": &m.Resident, "RssAnon": &m.Own, "RssFile": &m.Mapped, "RssShmem": &m.Mapped}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		sum := counts[name]
		if sum == nil {
			continue
		}
		kib, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		*sum += kib << 10
	}
	if m.Peak == 0 || m.Own == 0 {
		t.Fatalf("process %d: the kernel does not count its memory", pid)
	}
	return m
}
