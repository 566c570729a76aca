package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// TestProfile has a door and its daemon write profiles.
func TestProfile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := proof.Start(t, t.TempDir(), []string{proof.ProfileEnv + "=" + dir})
	p.Turn(p.NewSession(), "Which date is later?")
	p.End()
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
	s := proof.StartServe(t, proof.Command(t, []string{"GOMAXPROCS=2"}, proof.ServeArgs(t.TempDir())...)) // each of these may keep one
	before := s.Metrics()
	var after map[string]float64
	for range 600 { // each allocates about 300 KiB
		after = s.Metrics()
	}
	if allocated := after["go_memstats_alloc_bytes_total"] - before["go_memstats_alloc_bytes_total"]; allocated < 10<<20 || after[records] > before[records]+2048 {
		t.Errorf("for %.0f bytes that were allocated records have grown from %.0f bytes to %.0f", allocated, before[records], after[records])
	}
	s.Terminate()
}
