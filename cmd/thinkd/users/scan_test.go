package users

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/session"
)

// An id is found wherever it stands in a file, also across the buffers of the reader.
func TestOccurrences(t *testing.T) {
	id, other := session.NewID(), session.NewID()
	dir := t.TempDir()
	want := []string{}
	for name, text := range map[string]string{
		"alone":        string(id),
		"in/a/folder":  "x" + string(id) + "y",
		"after-an-ANN": "ANN" + string(id) + "0",
		"over-buffers": strings.Repeat("a", 1<<16-5) + string(id),
		"-other":       string(other),
		"-half":        string(id[1:]),
		"-lower":       strings.ToLower(string(id)),
		"-broken":      string(id[:9]) + "-" + string(id[9:]),
		"-empty":       "",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if name[0] != '-' {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	list, err := occurrences(t.Context(), dir, map[session.ID]bool{id: true, session.NewID(): true})
	if slices.Sort(list); err != nil || !slices.Equal(list, want) {
		t.Errorf("%v, %v, want %v", list, err, want)
	}
}
