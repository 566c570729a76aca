package proof

import (
	"os"
	"path/filepath"
	"testing"
)

// A test that runs after an edit must not get the program of before the edit, also within one run of go test.
func TestReadSources(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func() string {
		t.Helper()
		digest, err := readSources(root)
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	write("a/a.go", "package a")
	first := read()
	for _, ignored := range []string{".git/index", "a/node_modules/b/index.js"} {
		if write(ignored, "new"); read() != first {
			t.Errorf("%s changes the digest", ignored)
		}
	}
	write("a/a.go", "package a // edited")
	second := read()
	if second == first {
		t.Error("an edited file does not change the digest")
	}
	if write("a/b.go", "package a"); read() == second {
		t.Error("a new file does not change the digest")
	}
}
