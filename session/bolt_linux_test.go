package session

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("needs to mount a small disk: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	// Something else fills half of the disk, and goes away.
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	states := make(chan error, 10)
	b, err := OpenBolt(dir, BoltOptions{OnState: func(readOnly bool, why error) { states <- why }})
	if err != nil {
		t.Fatal(err)
	}
	create(t, b, Session{ID: testID(1)})
	if err := fillUp(b, states, 1, func() error { return os.Remove(ballast) }); err != nil {
		t.Error(err)
	}
}

// TestFailingDisk has the store's descriptor replaced by one that cannot be written: each commit fails at once, for a
// reason that has nothing to do with room. Opened again the file is sound.
func TestFailingDisk(t *testing.T) {
	t.Parallel()
	states := make(chan error, 10)
	b, err := OpenBolt(t.TempDir(), BoltOptions{OnState: func(readOnly bool, why error) { states <- why }})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	id := testID(1)
	create(t, b, Session{ID: id})
	fail := func() {
		f, err := os.Open(b.path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		b.dbMu.RLock()
		defer b.dbMu.RUnlock()
		if err := unix.Dup3(int(f.Fd()), int(b.file.Fd()), unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
	}
	add(t, b, id, said(turnA, "x"))
	fail()
	if last := add(t, b, id, started(turnA)); last != 2 { // the second attempt succeeds
		t.Errorf("at %d, want 2", last)
	}
	select {
	case why := <-states:
		t.Errorf("one failure that could be mended was told: %v", why)
	default:
	}
	fail()
	_, err = b.Append(t.Context(), id, ended(turnA))
	wantErr(t, "append on a disk that fails again", err, ErrReadOnly)
	wantErr(t, "its cause", err, unix.EBADF)
	wantErr(t, "state", <-states, ErrReadOnly)
	equal(t, "what was acknowledged", entriesOf(t, b, id), []Entry{said(turnA, "x"), started(turnA)})
	time.Sleep(lookEvery + 100*time.Millisecond) // not to be mended by itself
	_, err = b.Append(t.Context(), id, ended(turnA))
	wantErr(t, "append later", err, ErrReadOnly)
}

func TestReadOnlyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, err := OpenBolt(dir, BoltOptions{})
	if err != nil {
		t.Fatal(err)
	}
	create(t, b, Session{ID: testID(1)})
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("needs to mount a disk read-only: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	if err := unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Skipf("needs to mount a disk read-only: %v", err)
	}
	if b, err := OpenBolt(dir, BoltOptions{}); !errors.Is(err, unix.EROFS) {
		if err == nil {
			b.Close()
		}
		t.Errorf("open on a read-only disk: %v", err)
	}
	if report, err := CheckFile(t.Context(), filepath.Join(dir, fileName)); err != nil || report.Sessions != 1 {
		t.Errorf("check on a read-only disk: %+v, %v", report, err)
	}
}
