package durable

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Each value keeps what was put last, for the next process too, and does not change with the caller's bytes.
func TestValues(t *testing.T) {
	dir := t.TempDir()
	memory := new(Memory)
	for name, open := range map[string]func() Value{
		"file":   func() Value { return File{filepath.Join(dir, "a.json")} },
		"secret": func() Value { return SecretFile{filepath.Join(dir, "b.json")} },
		"memory": func() Value { return memory },
	} {
		get := func(want string) {
			t.Helper()
			if text, err := open().Get(); err != nil || string(text) != want {
				t.Errorf("%s: got %q, want %q, %v", name, text, want, err)
			}
		}
		if text, err := open().Get(); err != nil || text != nil {
			t.Errorf("%s: before the first put: %q, %v", name, text, err)
		}
		for _, want := range []string{"one", "two"} {
			text := []byte(want)
			if err := open().Put(text); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			text[0] = 'x'
			get(want)
		}
		if open().Name() == "" {
			t.Errorf("%s has no name", name)
		}
		if name == "memory" {
			continue
		}
		errDisk := errors.New("disk")
		sync := Sync
		Sync = func(*os.File) error { return errDisk }
		if err := open().Put([]byte("three")); !errors.Is(err, errDisk) {
			t.Errorf("%s: a disk that fails: %v", name, err)
		}
		Sync = sync
		get("two")
	}
}

// A key that was removed must not stay in a file that a crash has left half written, and others must not have read the keys.
func TestSecretFile(t *testing.T) {
	f := SecretFile{filepath.Join(t.TempDir(), "keys.json")}
	if err := os.WriteFile(f.Path+".12345", []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Put([]byte("whole")); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Dir(f.Path)); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(f.Path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Get(); err == nil || !strings.Contains(err.Error(), "can be read by others (mode 640)") {
		t.Errorf("a file that the group can read: %v", err)
	}
}
