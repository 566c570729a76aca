package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
)

// folder makes a folder of files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestList(t *testing.T) {
	dir := folder(t, map[string]string{"b.go": "b", "a/c.go": "cc", "a/x.log": "", "build/out": "", ".gitignore": "*.log\n/build/\n", ".git/config": "", ".env": "KEY=x", "a/.gitignore": "!x.log\nd\n", "a/d": ""})
	if err := os.Symlink(filepath.Join(dir, "b.go"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	want := []File{{".gitignore", 14}, {"a/.gitignore", 9}, {"a/c.go", 2}, {"a/x.log", 0}, {"b.go", 1}}
	if diff := cmp.Diff(want, List(t.Context(), dir)); diff != "" {
		t.Errorf("-want +is:\n%s", diff)
	}
	if got := List(t.Context(), filepath.Join(dir, "none")); got != nil {
		t.Errorf("a folder that is not there has %v", got)
	}
}

func TestMentioned(t *testing.T) {
	dir := folder(t, map[string]string{"a.go": "a", "b c.txt": "b", "sub/d.go": "d"})
	for text, want := range map[string][]string{
		"Compare @a.go, @sub/d.go.": {"a.go", "sub/d.go"},
		`(@a.go) and @"b c.txt"?`:   {"a.go", "b c.txt"},
		"@a.go @a.go":               {"a.go"},
		"@sub @nobody me@a.go @":    nil,
		"@" + dir + "/a.go":         {"a.go"},
	} {
		var got []string
		for _, path := range Mentioned(text, dir) {
			got = append(got, strings.TrimPrefix(path, dir+"/"))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +is):\n%s", text, diff)
		}
	}
}

func TestDropped(t *testing.T) {
	dir := folder(t, map[string]string{"a b.png": "x", "c.go": "x", "d.pdf": "x"})
	for text, want := range map[string]string{
		dir + "/a b.png":                      "a b.png",
		dir + `/a\ b.png ` + "\n":             "a b.png",
		"'" + dir + "/a b.png'":               "a b.png",
		"file://" + dir + "/a%20b.png":        "a b.png",
		dir + "/d.pdf":                        "d.pdf",
		dir + "/c.go":                         "", // a path in a text stays one
		dir + "/none.png":                     "",
		dir + "/d.pdf\n" + dir + "/d.pdf":     "",
		"a b.png":                             "",
		"See " + dir + "/d.pdf for the plan.": "",
	} {
		got, ok := Dropped(text)
		if ok != (want != "") || ok && got != filepath.Join(dir, want) {
			t.Errorf("%q: %q, %v", text, got, ok)
		}
	}
}

func TestAttached(t *testing.T) {
	dir := folder(t, map[string]string{"a.go": "package a", "empty": ""})
	got, err := Attached([]string{filepath.Join(dir, "a.go")}, "What is it?")
	want := provider.Blocks{provider.Media{Type: "text/x-go", Name: "a.go", Data: []byte("package a")}, provider.Text{Text: "What is it?"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +is):\n%s", err, diff)
	}
	for _, name := range []string{"empty", "none", "."} {
		if _, err := Attached([]string{filepath.Join(dir, name)}, "x"); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
