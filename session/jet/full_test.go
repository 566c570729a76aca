//go:build long && linux

package jet_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet/jettest"
	"github.com/thinkd/thinkd/session/storetest"
)

// TestFullDisk: the disk of one of three servers is full, and no stream has a limit. The two others go on. Nothing is lost that was acknowledged.
func TestFullDisk(t *testing.T) {
	testgo.Cost(t)
	dir := t.TempDir()
	small := filepath.Join(dir, "s1")
	if err := os.Mkdir(small, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 || syscall.Mount("tmpfs", small, "tmpfs", 0, "size=24m,mode=700") != nil {
		t.Skip("needs: root")
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(small, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	p := jettest.StartProcesses(t, dir, "--max-disk", "1GiB")
	s := openThree(t, p.Dial(0, 1, 2))
	of, id := s.For(session.Operator), storetest.ID(1)
	storetest.Create(t, of, session.Session{ID: id})
	log := storetest.Claim(t, of, id)
	var acked []int64
	failed := 0
	for value := int64(1); value <= 400; value++ { // 40 MB
		_, err := log.Append(t.Context(), session.Entry{Time: value, Body: session.Repair{API: strings.Repeat("x", 100<<10)}})
		if err == nil {
			acked = append(acked, value)
			continue
		}
		t.Logf("append %d: %v", value, err)
		if failed++; failed > 5 {
			break
		}
		if log, err = of.Claim(t.Context(), id); err != nil {
			t.Fatalf("claim: %v", err)
		}
	}
	var stat syscall.Statfs_t
	if err := syscall.Statfs(small, &stat); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d acknowledged, %d failed, %d KiB are free on the small disk", len(acked), failed, stat.Bfree*uint64(stat.Bsize)>>10)
	at := make(map[int64]bool)
	for _, e := range storetest.Entries(t, of, id) {
		at[e.Time] = true
	}
	for _, value := range acked {
		if !at[value] {
			t.Errorf("entry %d is lost", value)
		}
	}
	if len(acked) < 390 {
		t.Errorf("%d of 400 appends were acknowledged", len(acked))
	}
	if err := s.Close(); err != nil && !errors.Is(err, session.ErrClosed) {
		t.Error(err)
	}
}
