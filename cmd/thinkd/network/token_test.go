package network

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
)

func TestMain(m *testing.M) { proof.Main(m) }

// A token file that any other account can read is no secret: the token is refused, and a listener revokes it.
func TestTokenModes(t *testing.T) {
	if runtime.GOOS == "windows" { // which has no modes
		return
	}
	for _, mode := range []os.FileMode{0o640, 0o620, 0o610, 0o604, 0o602, 0o601, 0o660, 0o666} {
		dir := t.TempDir()
		if err := WriteToken(dir); err != nil {
			t.Fatal(err)
		}
		var told []provider.Secret
		file := &tokenFile{dir: dir, log: discard, told: func(s provider.Secret) { told = append(told, s) }}
		file.look()
		if err := os.Chmod(filepath.Join(dir, tokenName), mode); err != nil {
			t.Fatal(err)
		}
		if token, err := readToken(dir); !errors.Is(err, errUnfit) || !token.IsZero() {
			t.Errorf("%o: taken, %v", mode, err)
		}
		if file.look(); len(told) != 2 || told[0].IsZero() || !told[1].IsZero() {
			t.Errorf("%o: it is not revoked", mode)
		}
	}
}

func TestTokenFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "data")
	seen := make(map[string]bool)
	for range 50 {
		if err := WriteToken(dir); err != nil {
			t.Fatal(err)
		}
		token, err := readToken(dir)
		if err != nil || len(token.Reveal()) != 43 || seen[token.Reveal()] {
			t.Fatalf("%v, %d characters", err, len(token.Reveal()))
		}
		seen[token.Reveal()] = true
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, left behind: %v", err, entries)
	}
	if runtime.GOOS == "windows" {
		return
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "token"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}
