package files

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/agent/tool/gitignore"
	"github.com/thinkd/thinkd/agent/tool/guard"
)

// Bounds of a list.
const (
	mostFiles   = 5000
	mostVisited = 50_000
	longestList = 1 << 20 // bytes of a .gitignore
)

// A File is a file of a folder.
type File struct {
	Path string // from the folder, with slashes
	Size int64
}

// List returns the files of a folder and those below it, by name. It leaves out what .gitignore files name and what is secret or protected, and
// follows no link. Of a very large folder it returns a part. It stops with ctx.
func List(ctx context.Context, dir string) []File {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	l := &lister{root: real, look: guard.New(guard.Config{Home: home}).Look(false), rules: map[string]gitignore.Rules{}}
	l.folder(ctx, ".")
	return l.files
}

type lister struct {
	root    string
	look    *guard.Look
	rules   map[string]gitignore.Rules
	files   []File
	visited int
}

func (l *lister) folder(ctx context.Context, dir string) {
	at := filepath.Join(l.root, filepath.FromSlash(dir))
	entries, err := os.ReadDir(at)
	if err != nil {
		return // it cannot be read, so it cannot be sent
	}
	l.rules[dir] = rulesOf(filepath.Join(at, ".gitignore"))
	defer delete(l.rules, dir)
	for _, e := range entries {
		if l.visited++; l.visited > mostVisited || len(l.files) == mostFiles || ctx.Err() != nil {
			return
		}
		name := path.Join(dir, e.Name())
		if e.Name() == ".git" || gitignore.Ignored(l.rules, name, e.IsDir()) || strings.ContainsAny(e.Name(), "\n\"") {
			continue
		}
		info, err := e.Info()
		if err != nil || l.guarded(info, name) {
			continue
		}
		switch {
		case e.IsDir():
			l.folder(ctx, name)
		case info.Mode().IsRegular():
			l.files = append(l.files, File{name, info.Size()})
		}
	}
}

func (l *lister) guarded(info os.FileInfo, name string) bool {
	danger := l.look.Entry(info, filepath.Join(l.root, filepath.FromSlash(name))).Danger
	return danger == approval.Secret || danger == approval.Protected
}

// rulesOf reads a .gitignore; without one that can be read, nothing is ignored.
func rulesOf(file string) gitignore.Rules {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > longestList {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return gitignore.Parse(string(text))
}
