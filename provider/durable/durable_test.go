package durable

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// A file is synced before it has its name, and the name after that.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	var synced []string
	failing := 0 // the call of Sync that fails
	errDisk := errors.New("disk")
	sync := Sync
	defer func() { Sync = sync }()
	Sync = func(f *os.File) error {
		text, _ := os.ReadFile(path) // there may be none yet
		info, err := f.Stat()
		if err != nil {
			t.Error(err)
		}
		kind := "file"
		if info.IsDir() {
			kind = "directory"
		}
		synced = append(synced, kind+" while there is "+string(text))
		if len(synced) == failing {
			return errDisk
		}
		return f.Sync()
	}
	for _, text := range []string{"one", "two"} {
		if err := Replace(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"file while there is ", "directory while there is one", "file while there is one", "directory while there is two"}
	if runtime.GOOS == "windows" {
		want = []string{want[0], want[2]}
	} else if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if !slices.Equal(synced, want) {
		t.Errorf("synced %q, want %q", synced, want)
	}
	synced, failing = nil, 1
	if err := Replace(path, []byte("three")); !errors.Is(err, errDisk) {
		t.Errorf("a disk that fails: %v", err)
	}
	if text, err := Read(path); err != nil || string(text) != "two" {
		t.Errorf("after that there is %q, %v", text, err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}

func TestReadFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Skipf("needs: symbolic links: %v", err)
	}
	if text, err := Read(link); err == nil {
		t.Errorf("read %q through a link", text)
	}
	if _, err := Read(dir); err == nil {
		t.Error("read a folder")
	}
	if _, err := Read(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}
