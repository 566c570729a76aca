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
