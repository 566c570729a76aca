package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProfile has a door and its daemon write profiles.
func TestProfile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, t.TempDir(), []string{profileVariable + "=" + dir})
	p.turn(p.newSession(), "Which date is later?")
	p.end()
	for _, pattern := range []string{"*-daemon.cpu", "*-daemon.heap", "*-stdio.cpu", "*-stdio.heap"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		data, err := os.ReadFile(found[0])
		if err != nil || !strings.HasPrefix(string(data), "\x1f\x8b") { // compressed, as pprof has it
			t.Errorf("%s has %d bytes, %v", pattern, len(data), err)
		}
	}
}

// TestNoProfile has a daemon whose memory nobody looks into: Go keeps no records of what it allocates, which would grow for hours.
func TestNoProfile(t *testing.T) {
	t.Parallel()
	const records = "go_memstats_buck_hash_sys_bytes"
	s := startServe(t, command(t, []string{"GOMAXPROCS=2"}, serveArgs(t.TempDir())...)) // each of these may keep one
	before := s.metrics()
	var after map[string]float64
	for range 600 { // each allocates about 300 KiB
		after = s.metrics()
	}
	if allocated := after["go_memstats_alloc_bytes_total"] - before["go_memstats_alloc_bytes_total"]; allocated < 10<<20 || after[records] > before[records]+2048 {
		t.Errorf("for %.0f bytes that were allocated records have grown from %.0f bytes to %.0f", allocated, before[records], after[records])
	}
	s.terminate()
}
