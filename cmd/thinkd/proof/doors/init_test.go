package doors

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// TestInitialization holds what all packages together do before main, in each door and each daemon. It counts allocations,
// which no other work on the machine changes: a library that makes its tables, patterns or schemas when a program starts
// shows here.
func TestInitialization(t *testing.T) {
	cmd := exec.Command(proof.PlainProgram(t), "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	type cost struct {
		allocs, bytes int
		name          string
	}
	var all cost
	var packages []cost
	for in := bufio.NewScanner(&trace); in.Scan(); {
		var c cost
		var at, took float64
		// As the runtime writes it: "init NAME @1.2 ms, 0.1 ms clock, 432 bytes, 9 allocs" (package runtime: inittrace).
		if _, err := fmt.Sscanf(in.Text(), "init %s @%f ms, %f ms clock, %d bytes, %d allocs", &c.name, &at, &took, &c.bytes, &c.allocs); err != nil {
			t.Fatalf("%s: %v", in.Text(), err)
		}
		all.allocs, all.bytes = all.allocs+c.allocs, all.bytes+c.bytes
		packages = append(packages, c)
	}
	amazon := cost{}
	for _, c := range packages {
		if strings.Contains(c.name, "/aws/") {
			amazon.allocs, amazon.bytes = amazon.allocs+c.allocs, amazon.bytes+c.bytes
		}
	}
	slices.SortFunc(packages, func(a, b cost) int { return b.bytes - a.bytes })
	var dearest strings.Builder
	for _, c := range packages[:min(8, len(packages))] {
		fmt.Fprintf(&dearest, "\n%8d bytes %6d allocations %s", c.bytes, c.allocs, c.name)
	}
	t.Logf("%d packages, %d bytes, %d allocations, of these Amazon's libraries %d bytes, %d allocations%s", len(packages), all.bytes, all.allocs, amazon.bytes, amazon.allocs, &dearest)
	if len(packages) < 50 || all.allocs-amazon.allocs > 2400 || all.bytes-amazon.bytes > 360<<10 {
		t.Error("that is more than 2,400 allocations or 360 KiB without Amazon's libraries, or no trace")
	}
	if amazon.allocs > 4400 || amazon.bytes > 600<<10 { // rules of endpoints and schemas of four services, whose clients find credentials
		t.Error("Amazon's libraries take more than 4,400 allocations or 600 KiB")
	}
}
