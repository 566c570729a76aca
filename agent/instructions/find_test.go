package instructions

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/session"
)

// repository makes a folder with files; a name that ends in / is a folder, and one with -> a link.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		target, link := strings.CutPrefix(text, "-> ")
		switch {
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		case link:
			err = os.Symlink(target, path)
		default:
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func find(t *testing.T, root, folder string) session.Instructions {
	t.Helper()
	in, err := Find(filepath.Join(root, folder))
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// paths are the files that were found, below the root.
func paths(root string, in session.Instructions) (list []string) {
	for _, f := range in.Files {
		name := strings.TrimPrefix(filepath.ToSlash(f.Path), filepath.ToSlash(root)+"/")
		if f.Cut {
			name += " (cut)"
		}
		list = append(list, name)
	}
	return list
}

func TestFind(t *testing.T) {
	root := repository(t, map[string]string{
		"AGENTS.md": "outside", "repo/.git/": "", "repo/AGENTS.md": "Be exact.\n", "repo/CLAUDE.md": "not read", "repo/web/": "",
		"repo/web/ui/CLAUDE.md": "Use no frameworks.", "repo/web/ui/other.md": "not read", "repo/empty/AGENTS.md": "", "repo/empty/CLAUDE.md": "Not empty.",
		"repo/linked/AGENTS.md": "-> ../web/ui/CLAUDE.md", "worktree/.git": "gitdir: elsewhere", "worktree/AGENTS.md": "In a worktree.", "alone/deep/AGENTS.md": "Alone."})
	for folder, want := range map[string][]string{
		"repo":        {"repo/AGENTS.md"},
		"repo/web":    {"repo/AGENTS.md"},
		"repo/web/ui": {"repo/AGENTS.md", "repo/web/ui/CLAUDE.md"},
		"repo/empty":  {"repo/AGENTS.md", "repo/empty/CLAUDE.md"},
		"repo/linked": {"repo/AGENTS.md", "repo/linked/AGENTS.md"},
		"worktree":    {"worktree/AGENTS.md"},
		"alone/deep":  {"alone/deep/AGENTS.md"},
		"alone":       nil,
	} {
		if diff := cmp.Diff(want, paths(root, find(t, root, folder))); diff != "" {
			t.Errorf("%s: %s", folder, diff)
		}
	}
	in := find(t, root, "repo/web/ui")
	if want := "<instructions file=\"AGENTS.md\">\nBe exact.\n</instructions>\n\n<instructions file=\"web/ui/CLAUDE.md\">\nUse no frameworks.\n</instructions>"; !strings.HasSuffix(in.Text, want) {
		t.Errorf("text: %s", in.Text)
	}
	if in.Files[0].Bytes != len("Be exact.\n") {
		t.Errorf("size: %d", in.Files[0].Bytes)
	}
	if _, err := Find(filepath.Join(root, "gone")); err == nil {
		t.Error("a folder that does not exist: no error")
	}
}

// TestFindHostile: nothing of a repository makes thinkd read a file of another name, of somebody else, or outside of it.
func TestFindHostile(t *testing.T) {
	secret := repository(t, map[string]string{"AGENTS.md": "secret", "key": "secret"})
	root := repository(t, map[string]string{".git/": "", ".env": "secret",
		"file/AGENTS.md": "-> ../.env", "hop/AGENTS.md": "-> CLAUDE.md", "hop/CLAUDE.md": "-> ../.env", "loop/AGENTS.md": "-> CLAUDE.md", "loop/CLAUDE.md": "-> AGENTS.md",
		"out/AGENTS.md": "-> " + filepath.Join(secret, "AGENTS.md"), "up/AGENTS.md": "-> ../../" + filepath.Base(secret) + "/AGENTS.md",
		"key/AGENTS.md": "-> " + filepath.Join(secret, "key"), "folder/AGENTS.md/": "", "zero/AGENTS.md": "a\x00b", "latin/AGENTS.md": "\xe4\xe4\xe4",
		"dir/sub": "-> " + secret, "dir/AGENTS.md": "-> sub/AGENTS.md"})
	for _, folder := range []string{"file", "hop", "loop", "out", "up", "key", "folder", "zero", "latin", "dir"} {
		if in := find(t, root, folder); !in.IsZero() {
			t.Errorf("%s: %q", folder, in.Text)
		}
	}
	// A folder that is a link counts as the folder that it leads to.
	if in := find(t, root, "dir/sub"); len(in.Files) != 1 || in.Files[0].Path != filepath.Join(secret, "AGENTS.md") {
		t.Errorf("through a link: %v", in.Files)
	}
}

// TestFindMost: the files next to the folder come first, and a text ends at a character.
func TestFindMost(t *testing.T) {
	root := repository(t, map[string]string{".git/": "", "AGENTS.md": strings.Repeat("ä", Most), "a/AGENTS.md": strings.Repeat("x", Most-101), "a/b/AGENTS.md": strings.Repeat("日", Most)})
	in := find(t, root, "a")
	if got := paths(root, in); !cmp.Equal(got, []string{"AGENTS.md (cut)", "a/AGENTS.md"}) || in.Files[0].Bytes != 100 {
		t.Errorf("%v, %d bytes of the first", got, in.Files[0].Bytes)
	}
	if !strings.Contains(in.Text, "(AGENTS.md is longer. The rest is left out.)") {
		t.Errorf("the text does not say that a file was cut")
	}
	if in := find(t, root, "a/b"); len(in.Files) != 2 || in.Files[1].Bytes > Most || in.Files[1].Bytes < Most-3 || strings.ContainsRune(in.Text, '\uFFFD') {
		t.Errorf("a file that is too long: %v", paths(root, in))
	}
}
