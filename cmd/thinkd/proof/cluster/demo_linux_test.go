//go:build long

package cluster

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// TestDemoKilled kills the demo with SIGKILL. The kernel kills its stores and nodes.
func TestDemoKilled(t *testing.T) {
	d := startDemo(t)
	var parts []int
	for _, name := range []string{"store-1", "store-2", "store-3", "node-a", "node-b", "node-c"} {
		parts = append(parts, d.process(name))
	}
	d.prompt()
	if err := d.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	for _, pid := range parts {
		for runs(pid) {
			if time.Since(killed) > proof.Patience {
				t.Fatalf("process %d of the demo runs on", pid)
			}
			proof.Moment(10 * time.Millisecond)
		}
	}
	t.Logf("the last of %d processes ended %v after the demo", len(parts), time.Since(killed))
}

// runs says whether a process has not ended yet. In a container nobody may read the ends of processes whose parent was killed: such a zombie has ended.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil { // it has ended, or does so now
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z") && !strings.HasPrefix(after, "X")
}
