package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each of the sixty rows of docs/requests.md names a test that exists, or a reason. A transcript that it names is a file.
func TestRequests(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(top, "docs/requests.md"))
	if err != nil {
		t.Fatal(err)
	}
	defined := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(`)
	err = filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() && (e.Name() == "node_modules" || strings.HasPrefix(e.Name(), ".") && path != top) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, found := range function.FindAllSubmatch(text, -1) {
			defined[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| (\d+) \| .* \| (.*) \|$`)
	test := regexp.MustCompile(`\b(Test[A-Z][A-Za-z0-9]*)(?:/([a-z_]+))?`)
	rows := row.FindAllStringSubmatch(string(page), -1)
	if len(rows) != 60 {
		t.Errorf("%d rows", len(rows))
	}
	for _, r := range rows {
		named := test.FindAllStringSubmatch(r[2], -1)
		if len(named) == 0 && !strings.Contains(r[2], "left out: ") {
			t.Errorf("row %s has neither a test nor a reason", r[1])
		}
		for _, n := range named {
			if !defined[n[1]] {
				t.Errorf("row %s: there is no %s", r[1], n[1])
			}
			if n[2] == "" {
				continue
			}
			if _, err := os.Stat(filepath.Join(top, "testdata", n[2]+".txtar")); err != nil || n[1] != "TestTranscripts" {
				t.Errorf("row %s: %s/%s: %v", r[1], n[1], n[2], err)
			}
		}
	}
}
