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
	var amazon, nats, others cost
	for _, c := range packages {
		of := &others
		switch {
		case strings.Contains(c.name, "/aws/"):
			of = &amazon
		case strings.Contains(c.name, "/nats-io/") || strings.Contains(c.name, "/klauspost/") || c.name == "encoding/gob":
			of = &nats
		}
		of.allocs, of.bytes = of.allocs+c.allocs, of.bytes+c.bytes
	}
	slices.SortFunc(packages, func(a, b cost) int { return b.bytes - a.bytes })
	var dearest strings.Builder
	for _, c := range packages[:min(8, len(packages))] {
		fmt.Fprintf(&dearest, "\n%8d bytes %6d allocations %s", c.bytes, c.allocs, c.name)
	}
	t.Logf("%d packages, %d bytes, %d allocations%s", len(packages), all.bytes, all.allocs, &dearest)
	if len(packages) < 50 {
		t.Error("there is no trace")
	}
	// 40 KiB count for the first package that needs them. The order of initialization decides whether that is one of Amazon's.
	for _, limit := range []struct {
		of            string
		is            cost
		allocs, bytes int
	}{
		{"all other packages", others, 2400, 400 << 10},
		{"Amazon's libraries", amazon, 4400, 600 << 10}, // rules of endpoints and schemas of four services, whose clients find credentials
		{"the client of NATS", nats, 750, 112 << 10},    // it compresses WebSockets, and has an encoder that nobody uses
	} {
		t.Logf("%s: %d bytes, %d allocations", limit.of, limit.is.bytes, limit.is.allocs)
		if limit.is.allocs > limit.allocs || limit.is.bytes > limit.bytes {
			t.Errorf("%s may take %d bytes and %d allocations", limit.of, limit.bytes, limit.allocs)
		}
	}
}
