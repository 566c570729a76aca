package proof

import (
	"os"
	"path/filepath"
	"strings"
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

// Environment looks variables up in pairs such as "HOME=/home/a". It knows no others.
func Environment(pairs ...string) func(string) string {
	return func(name string) string {
		for _, pair := range pairs {
			if value, ok := strings.CutPrefix(pair, name+"="); ok {
				return value
			}
		}
		return ""
	}
}
