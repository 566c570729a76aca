package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/thinkd/thinkd/agent/recall"
	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/agent/tool/arguments"
	"github.com/thinkd/thinkd/agent/tool/guard"
	"github.com/thinkd/thinkd/agent/tool/sandbox"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session/tool"
)

// TestMain makes the test binary a command in a sandbox.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "confine" {
		os.Exit(sandbox.Confine(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

// at is a host in a folder with files.
func at(t *testing.T, files map[string]string) (*Host, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return New(Config{PassEnv: nil}).In(Place{Roots: []string{dir}}), dir
}

// call runs a tool; its arguments are a map. A result that failed begins with "failed: ".
func call(t *testing.T, h *Host, name string, input map[string]any) string {
	t.Helper()
	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	r := h.Run(t.Context(), provider.ToolCall{ID: "c", Name: name, Input: text}, func(string) {})
	said := r.Blocks[0].(provider.Text).Text
	if r.Failed {
		said = "failed: " + said
	}
	return said
}

type in = map[string]any

func has(t *testing.T, what, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%s: %q lacks %q", what, got, w)
		}
	}
}

// A path that a search finds in a further folder can be read: relative paths are below the first folder.
func TestSearchInAFurtherFolder(t *testing.T) {
	_, first := at(t, map[string]string{"a.txt": "a needle\n", "sub/b.txt": "b needle\n"})
	_, further := at(t, map[string]string{"a.txt": "another needle\n"})
	h := New(Config{}).In(Place{Roots: []string{first, further}})
	found := filepath.ToSlash(filepath.Join(further, "a.txt"))
	for path, want := range map[string]string{"": "a.txt:1: a needle\nsub/b.txt:1: b needle\n", filepath.Join(first, "sub"): "sub/b.txt:1: b needle\n",
		further: found + ":1: another needle\n", found: found + ":1: another needle\n"} {
		if got := call(t, h, "search", in{"pattern": "needle", "path": path}); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
	has(t, "the file that was found", call(t, h, "read_file", in{"path": found}), "another needle")
}

func TestDefinitions(t *testing.T) {
	h, _ := at(t, nil)
	tools, err := h.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]tool.Effect{"read_file": tool.Read, "write_file": tool.Edit, "edit_file": tool.Edit,
		"list": tool.Read, "search": tool.Read, "run": tool.Run, "recall": tool.Read, "todo": tool.Read}
	got := map[string]tool.Effect{}
	for _, tt := range tools {
		got[tt.Name] = tt.Effect
		if err := arguments.CheckSchema(tt.Schema); err != nil {
			t.Errorf("%s: %v", tt.Name, err)
		}
		if tt.Host != tool.Builtin || tt.Source != h.Name() {
			t.Errorf("%s is of %s %s", tt.Name, tt.Host, tt.Source)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, roots := range [][]string{nil, {"relative"}, {filepath.Join(t.TempDir(), "none")}} {
		if _, err := New(Config{PassEnv: nil}).In(Place{Roots: roots}).Tools(t.Context()); err == nil {
			t.Errorf("%v: there are tools", roots)
		}
	}
}

// Nothing that a model writes as a path leads out of the folder, to a device, or to a wait.
func TestPathTricks(t *testing.T) {
	h, dir := at(t, map[string]string{"in.txt": "inside", "sub/deep.txt": "deep"})
	away := t.TempDir()
	secret := filepath.Join(away, "secret.txt")
	if err := os.WriteFile(secret, []byte("the secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"file": secret, "folder": away, "up": "..", "loop": "loop", "dangling": filepath.Join(away, "new.txt"),
		"sub/relative": filepath.Join("..", "..", filepath.Base(away), "secret.txt"), "abs-inside": filepath.Join(dir, "in.txt"), "inside": "in.txt"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skipf("needs: symbolic links: %v", err)
		}
	}
	odd := oddFiles(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "binary"), []byte("\x7fELF\x00\x00"), 0o644); err != nil {
		t.Fatal(err)
	}
	huge, err := os.Create(filepath.Join(dir, "huge"))
	if err != nil {
		t.Fatal(err)
	}
	if err := huge.Truncate(8 << 30); err != nil { // sparse
		t.Skipf("needs: sparse files: %v", err)
	}
	huge.Close()
	before := snapshot(t, away)

	paths := []string{"../" + filepath.Base(away) + "/secret.txt", secret, "file", "folder/secret.txt", "folder/new.txt", "folder", "up", "up/x",
		"sub/../../x", "sub/relative", "loop", "dangling", "abs-inside", "/", "..", "/etc/passwd", "sub/./../../" + filepath.Base(away), "in.txt/x", "a\x00b",
		"file/../../x", "huge", "binary", dir + "/../" + filepath.Base(away) + "/secret.txt", dir + "x/y"}
	paths = append(paths, odd...)
	begun := time.Now()
	for _, p := range paths {
		for name, input := range map[string]in{
			"read_file":  {"path": p},
			"write_file": {"path": p, "content": "overwritten"},
			"edit_file":  {"path": p, "edits": []in{{"old_text": "secret", "new_text": "known"}}},
			"run":        {"path": p, "command": "pwd"},
			"list":       {"path": p},
			"search":     {"path": p, "pattern": "secret"},
		} {
			got := call(t, h, name, input)
			if !strings.HasPrefix(got, "failed: ") && !(name == "search" && got == "[nothing was found]") {
				t.Errorf("%s %q: %q", name, p, got)
			}
			if strings.Contains(got, "the secret") || strings.Contains(got, "root:") {
				t.Errorf("%s %q tells %q", name, p, got)
			}
		}
	}
	t.Logf("all in %v", time.Since(begun).Round(time.Millisecond))
	if d := cmp.Diff(before, snapshot(t, away)); d != "" {
		t.Errorf("outside of the folder: %s", d)
	}
	for p, want := range map[string]string{"inside": "inside", filepath.Join(dir, "in.txt"): "inside", "sub/../in.txt": "inside", "./sub/deep.txt": "deep"} {
		if got := call(t, h, "read_file", in{"path": p}); got != want {
			t.Errorf("read_file %s: %q, want %q", p, got, want)
		}
	}
	if got := call(t, h, "search", in{"pattern": "secret"}); got != "[nothing was found]" {
		t.Errorf("a search follows links: %q", got)
	}
	if got := call(t, h, "list", in{"deep": true}); strings.Contains(got, "secret") {
		t.Errorf("a list follows links: %q", got)
	}
	call(t, h, "write_file", in{"path": "inside", "content": "through a link"})
	if text, err := os.ReadFile(filepath.Join(dir, "in.txt")); err != nil || string(text) != "through a link" {
		t.Errorf("a link inside: %q, %v", text, err)
	}
}

func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			all[path] = "folder"
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestReadFile(t *testing.T) {
	var long strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&long, "line %d\n", i+1)
	}
	h, _ := at(t, map[string]string{"long": long.String(), "wide": strings.Repeat("é", maxRead) + "\nnext\n", "empty": "", "open": "a\nb", "latin": "caf\xe9 au lait"})
	for _, tt := range []struct {
		input in
		want  string
	}{
		{in{"path": "long", "from_line": 2, "lines": 2}, "line 2\nline 3\n[lines 2 to 3; there are more, from_line 4 is next]\n"},
		{in{"path": "long", "from_line": 4999}, "line 4999\nline 5000\n"},
		{in{"path": "long", "from_line": 4999, "lines": 2}, "line 4999\nline 5000\n"},
		{in{"path": "long", "from_line": 6000}, "failed: long has 5000 lines only"},
		{in{"path": "empty"}, "[the file is empty]"},
		{in{"path": "open"}, "a\nb"},
		{in{"path": "none"}, "failed: none: there is no such file or folder: file does not exist"},
		{in{"path": "latin"}, "failed: latin is no text: 12 bytes of text/plain; charset=utf-8"},
	} {
		if got := call(t, h, "read_file", tt.input); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.input, got, tt.want)
		}
	}
	has(t, "long", call(t, h, "read_file", in{"path": "long"}), "line 2000\n[lines 1 to 2000; there are more, from_line 2001 is next]")
	wide := call(t, h, "read_file", in{"path": "wide"})
	has(t, "wide", wide, "bytes of this line are left out]", "from_line 2 is next")
	if len(wide) > maxRead+200 || strings.Contains(wide, "\uFFFD") {
		t.Errorf("a wide line gives %d bytes", len(wide))
	}
}

func TestEditFile(t *testing.T) {
	h, dir := at(t, map[string]string{"a.go": "one\ntwo\ntwo\nthree\n", "crlf": "one\r\ntwo\r\n"})
	if err := os.Chmod(filepath.Join(dir, "a.go"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		path  string
		edits []in
		want  []string
		after string
	}{
		{"not there", "a.go", []in{{"old_text": "one", "new_text": "1"}, {"old_text": "four", "new_text": "4"}},
			[]string{"failed: edit 2: old_text is not in the file; nothing was changed"}, "one\ntwo\ntwo\nthree\n"},
		{"twice", "a.go", []in{{"old_text": "two", "new_text": "2"}}, []string{"failed: edit 1: old_text is in the file 2 times"}, "one\ntwo\ntwo\nthree\n"},
		{"all, and in order", "a.go", []in{{"old_text": "two", "new_text": "2", "all": true}, {"old_text": "2\n2", "new_text": "2 2"}},
			[]string{"--- a/a.go\n+++ b/a.go\n", "-two\n-two\n+2 2\n"}, "one\n2 2\nthree\n"},
		{"carriage returns", "crlf", []in{{"old_text": "one\ntwo", "new_text": "1\n2"}}, []string{"+1\r\n+2\r\n"}, "1\r\n2\r\n"},
		{"the same", "crlf", []in{{"old_text": "1", "new_text": "1"}}, []string{"crlf is as it was"}, "1\r\n2\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			has(t, "result", call(t, h, "edit_file", in{"path": tt.path, "edits": tt.edits}), tt.want...)
			if text, err := os.ReadFile(filepath.Join(dir, tt.path)); err != nil || string(text) != tt.after {
				t.Errorf("after it: %q, %v", text, err)
			}
		})
	}
	if info, err := os.Stat(filepath.Join(dir, "a.go")); err != nil || info.Mode().Perm()&0o111 == 0 && os.PathSeparator == '/' {
		t.Errorf("an edit takes the mode: %v, %v", info.Mode(), err)
	}
	has(t, "new", call(t, h, "write_file", in{"path": "new/deep/b.txt", "content": "x"}), "new/deep/b.txt is new: 1 bytes")
	has(t, "again", call(t, h, "write_file", in{"path": "new/deep/b.txt", "content": "y"}), "-x", "+y")
	if names, err := filepath.Glob(filepath.Join(dir, ".thinkd-*")); err != nil || len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

// Calls of one reply run side by side, and each finds what the others wrote.
func TestEditsSideBySide(t *testing.T) {
	h, dir := at(t, map[string]string{"a": "end"})
	var calls sync.WaitGroup
	for i := range 20 {
		calls.Go(testgo.Guard(t, func() { // ends by itself, awaited below
			input := fmt.Sprintf(`{"path":"a","edits":[{"old_text":"end","new_text":"%d end"}]}`, i)
			if r := h.Run(t.Context(), provider.ToolCall{Name: "edit_file", Input: json.RawMessage(input)}, func(string) {}); r.Failed {
				t.Error(r.Blocks)
			}
		}))
	}
	calls.Wait()
	text, err := os.ReadFile(filepath.Join(dir, "a"))
	if err != nil || len(strings.Fields(string(text))) != 21 {
		t.Errorf("edits are lost: %q, %v", text, err)
	}
	if len(h.tools.edits.held) > 0 {
		t.Errorf("locks are left: %v", h.tools.edits.held)
	}
}

func TestListAndSearch(t *testing.T) {
	h, _ := at(t, map[string]string{"a.go": "package a\nfunc Needle() {}\n", "b/c.txt": "a needle\r\n", "b/skip.log": "needle", ".git/config": "needle",
		".gitignore": "*.log\n/build/\n", "build/out.go": "needle", "b/build/kept.go": "x", "bin": "needle\x00", "wide": strings.Repeat("é", 500) + "needle",
		"b/.gitignore": "!kept.log\n", "b/kept.log": "needle"})
	for _, tt := range []struct {
		name  string
		tool  string
		input in
		want  string
	}{
		{"flat", "list", in{}, ".git/\n.gitignore\na.go\nb/\nbin\nbuild/\nwide\n"},
		{"below", "list", in{"path": "b"}, ".gitignore\nbuild/\nc.txt\nkept.log\nskip.log\n"},
		{"deep", "list", in{"deep": true}, ".gitignore\na.go\nb/\nb/.gitignore\nb/build/\nb/build/kept.go\nb/c.txt\nb/kept.log\nbin\nwide\n"},
		{"deep below", "list", in{"path": "b", "deep": true}, ".gitignore\nbuild/\nbuild/kept.go\nc.txt\nkept.log\n"},
		{"file", "list", in{"path": "a.go"}, "failed: a.go is no folder"},
		{"none", "list", in{"path": "none"}, "failed: none: there is no such file or folder: file does not exist"},
		{"word", "search", in{"pattern": "needle", "glob": "*.txt"}, "b/c.txt:1: a needle\n"},
		{"case", "search", in{"pattern": "needle", "ignore_case": true, "glob": "**/*.{go,log}"}, "a.go:2: func Needle() {}\nb/kept.log:1: needle\n"},
		{"in a file", "search", in{"pattern": `^func (\w+)`, "path": "a.go"}, "a.go:2: func Needle() {}\n"},
		{"nothing", "search", in{"pattern": "haystack"}, "[nothing was found]"},
		{"no pattern", "search", in{"pattern": "("}, "failed: pattern: not a regular expression (RE2): error parsing regexp: missing closing ): `(`"},
		{"wide", "search", in{"pattern": "needle", "path": "wide"}, "wide:1: " + strings.Repeat("é", maxShown/2) + "…\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, call(t, h, tt.tool, tt.input)); d != "" {
				t.Error(d)
			}
		})
	}
	many := map[string]string{}
	for i := range maxEntries + 1 {
		many[fmt.Sprintf("f%04d", i)] = "needle\n"
	}
	h, _ = at(t, many)
	has(t, "many", call(t, h, "list", in{}), "f0999\n[there are more than 1000; list a folder of it]")
	has(t, "many", call(t, h, "search", in{"pattern": "needle"}), "f0199:1: needle\n[there are more than 200; search for less]")
}

// What git ignores, we do.
func TestIgnoreAsGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("needs: git")
	}
	patterns := []string{"*.o", "/top", "dir/", "a/b", "**/deep", "x/**", "m/**/n", "!keep.o", "we ird", `trail\ `, "q?z", "[ab].c", "[!c].d", "{x}", "#no", `\#yes`, `\!bang`, "**", "*", "a*/c", "end/ "}
	paths := []string{"a.o", "keep.o", "s/keep.o", "top", "s/top", "dir/f", "s/dir/f", "a/b", "s/a/b", "s/t/deep", "x/y/z", "m/n", "m/o/p/n", "we ird", "trail ", "qaz", "qz",
		"a.c", "c.c", "c.d", "e.d", "{x}", "x1", "#no", "#yes", "!bang", "abc/c", "abc/d/c", "end/f", "é.o"}
	var files = map[string]string{}
	for _, p := range paths {
		files[p] = ""
	}
	sets := [][]string{{"*.o", "!keep.o"}, {"*", "!a.o", "!*/"}, {"x/**", "!x/y/"}, {"!keep.o", "*.o"}}
	for _, p := range patterns {
		sets = append(sets, []string{p})
	}
	for _, set := range sets {
		files[".gitignore"] = strings.Join(set, "\n") + "\n"
		h, dir := at(t, files)
		if out, err := exec.Command(git, "init", "-q", dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		cmd := exec.Command(git, "-C", dir, "-c", "core.quotePath=false", "ls-files", "--others", "--exclude-standard", "-z")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		got := []string{}
		for name := range strings.Lines(call(t, h, "list", in{"deep": true})) {
			if name = strings.TrimSuffix(name, "\n"); !strings.HasSuffix(name, "/") && !strings.HasPrefix(name, "[") {
				got = append(got, name)
			}
		}
		want = slices.DeleteFunc(want, func(name string) bool { return name == "" })
		slices.Sort(want)
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", set, d)
		}
	}
}

// buffers stands in for an editor.
type buffers struct {
	mu   sync.Mutex
	text map[string]string
	runs []Command
}

func (b *buffers) Read(_ context.Context, path string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if text, ok := b.text[path]; ok {
		return text, nil
	}
	return "", fs.ErrNotExist
}

func (b *buffers) Write(_ context.Context, path, text string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text[path] = text
	return nil
}

func (b *buffers) Run(_ context.Context, c Command, progress func(string)) (Exit, error) {
	b.runs = append(b.runs, c)
	progress("in the editor")
	return Exit{Output: "done", Code: 2}, nil
}

// An editor's buffers and terminal stand in for the disk and our own, within the same folders.
func TestEditor(t *testing.T) {
	_, dir := at(t, map[string]string{"a.txt": "saved", "sub/x": ""})
	away := t.TempDir()
	if err := os.Symlink(away, filepath.Join(dir, "out")); err != nil {
		t.Skipf("needs: symbolic links: %v", err)
	}
	file := filepath.Join(dir, "a.txt")
	b := &buffers{text: map[string]string{file: "not saved"}}
	h := New(Config{PassEnv: nil}).In(Place{Roots: []string{dir}, Files: b, Terminal: b})
	if got := call(t, h, "read_file", in{"path": "a.txt"}); got != "not saved" {
		t.Errorf("read: %q", got)
	}
	has(t, "edit", call(t, h, "edit_file", in{"path": "a.txt", "edits": []in{{"old_text": "not ", "new_text": "un"}}}), "+unsaved")
	has(t, "new", call(t, h, "write_file", in{"path": "new/b.txt", "content": "b"}), "is new")
	for _, p := range []string{"out/x", filepath.Join(away, "x"), "../x"} {
		has(t, p, call(t, h, "write_file", in{"path": p, "content": "b"}), "failed: ", "outside")
		has(t, p, call(t, h, "read_file", in{"path": p}), "failed: ")
	}
	has(t, "run", call(t, h, "run", in{"command": "make", "path": "sub"}), "failed: done\n[exit code 2]")
	if want := []Command{{Line: "make", Dir: filepath.Join(dir, "sub"), Call: "c"}}; !slices.Equal(b.runs, want) {
		t.Errorf("%v", b.runs)
	}
	if d := cmp.Diff(map[string]string{file: "unsaved", filepath.Join(dir, "new", "b.txt"): "b"}, b.text); d != "" {
		t.Error(d)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "saved" {
		t.Errorf("the disk has %q, %v", text, err)
	}
}

// recall works on no file, so nothing about the folder concerns it.
func TestRecall(t *testing.T) {
	home := t.TempDir()
	tools := New(Config{Guard: guard.New(guard.Config{Home: home})})
	asked := recall.Query{}
	h := tools.In(Place{Roots: []string{home}, Recall: func(_ context.Context, q recall.Query) (string, error) {
		asked = q
		return "quoted", nil
	}})
	if got := call(t, h, "recall", in{"query": "harbour 12", "message_id": "M", "from": 7}); got != "quoted" || asked != (recall.Query{Words: "harbour 12", Message: "M", From: 7}) {
		t.Errorf("%q for %+v", got, asked)
	}
	if c := h.Examine(t.Context(), tool.Tool{}, provider.ToolCall{Name: "recall", Input: json.RawMessage(`{"query":"x"}`)}); c.Danger != approval.NoDanger {
		t.Errorf("it is dangerous: %+v", c)
	}
	if c := h.Examine(t.Context(), tool.Tool{}, provider.ToolCall{Name: "list", Input: json.RawMessage(`{}`)}); c.Danger != approval.Broad {
		t.Errorf("a list of the home: %+v", c)
	}
	has(t, "without a session", call(t, tools.In(Place{Roots: []string{home}}), "recall", in{"query": "x"}), "failed: the earlier messages")
}
