package durable

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// A copy is synced before it has its name. What an earlier copy left half written is replaced.
func TestCopy(t *testing.T) {
	dir := t.TempDir()
	path, to := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	text := bytes.Repeat([]byte("text\n"), 1<<20)
	for name, text := range map[string][]byte{path: text, to + ".new": []byte("half")} {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	synced := 0
	sync := Sync
	defer func() { Sync = sync }()
	Sync = func(f *os.File) error {
		_, err := os.Stat(to)
		if there := err == nil; there != (synced > 0) {
			t.Errorf("sync %d: the copy has its name: %v", synced, there)
		}
		synced++
		return f.Sync()
	}
	if err := Copy(path, to); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, text) {
		t.Errorf("the copy has %d bytes, %v", len(got), err)
	}
	want := 2
	if runtime.GOOS == "windows" {
		want = 1
	} else if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if synced != want {
		t.Errorf("synced %d times, want %d", synced, want)
	}

	errDisk := errors.New("disk")
	Sync = func(*os.File) error { return errDisk }
	if err := Copy(path, filepath.Join(dir, "c")); !errors.Is(err, errDisk) {
		t.Errorf("a disk that fails: %v", err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 2 {
		t.Errorf("left behind: %v, %v", list, err)
	}
	if err := os.Symlink(path, filepath.Join(dir, "d")); err == nil {
		if err := Copy(filepath.Join(dir, "d"), filepath.Join(dir, "e")); err == nil {
			t.Error("a link was followed")
		}
	}
}
