package guard

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/agent/tool/approval"
)

// Hidden is a file or folder that a sandbox hides. Its path is absolute and without links.
type Hidden struct {
	Path   string
	Folder bool
}

// maxHiddenSearch bounds the entries of the session's folders that are looked at.
const maxHiddenSearch = 200_000

var errTooMany = errors.New("the folder has more than 200000 files and folders")

// Hidden lists the protected files and secret places that exist: those with a place of their own, those with a name of the
// lists in the home folder, and all that is below the roots. It leaves out what a root is in: a session there was approved.
func (g *Guard) Hidden(ctx context.Context, roots []string) ([]Hidden, error) {
	found := make(map[string]Hidden)
	look := g.Look(false)
	var real []string
	for _, root := range roots {
		path, err := filepath.EvalSymlinks(root)
		if err != nil {
			return nil, err
		}
		real = append(real, path)
	}
	add := func(path string) {
		path, err := filepath.EvalSymlinks(path)
		if err != nil || path == "/proc" { // a sandbox has its own
			return
		}
		info, err := os.Stat(path)
		if err != nil || slices.ContainsFunc(real, func(root string) bool { return root == path || below(root, path) }) {
			return
		}
		if c, err := look.Path(path); err == nil && c.Danger >= approval.Secret {
			found[path] = Hidden{path, info.IsDir()}
		}
	}
	for _, p := range g.places {
		if p.Danger < approval.Secret {
			continue
		}
		if at := g.fixed(p.Path); at != "" {
			add(at)
		} else if g.config.Home != "" {
			matches, err := filepath.Glob(filepath.Join(g.config.Home, filepath.FromSlash(p.Path)))
			if err != nil {
				return nil, err
			}
			for _, path := range matches {
				add(path)
			}
		}
	}
	left := maxHiddenSearch
	for _, root := range real {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if left--; left < 0 {
				return errTooMany
			}
			if err != nil || path == root {
				return nil // what cannot be read needs no hiding
			}
			info, err := e.Info()
			if err != nil || look.Entry(info, path).Danger < approval.Secret {
				return nil
			}
			add(path)
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	list := make([]Hidden, 0, len(found))
	for _, h := range found {
		inside := false // what a hidden folder has is hidden with it
		for dir := filepath.Dir(h.Path); !inside && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			inside = found[dir].Folder
		}
		if !inside {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b Hidden) int { return cmp.Compare(a.Path, b.Path) })
	return list, nil
}

// below reports whether a path is inside of a folder.
func below(path, folder string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(folder, string(filepath.Separator))+string(filepath.Separator))
}
