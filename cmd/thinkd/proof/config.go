package proof

import (
	"os"
	"path/filepath"
	"testing"
)

// WriteConfig puts a configuration into a directory of the test's own.
func WriteConfig(t *testing.T, doc string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
