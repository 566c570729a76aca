package builtin

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

// Bounds of what is looked at and told.
const (
	maxEntries = 1000     // of a list
	maxMatches = 200      // of a search
	maxShown   = 300      // bytes of a line that was found
	maxSearch  = 16 << 20 // bytes of a file that is searched
	maxIgnore  = 1 << 20  // bytes of a .gitignore
)

// errEnough ends a walk that has found all that can be told.
var errEnough = errors.New("enough was found")

type listParams struct {
	Path string `json:"path"`
	Deep bool   `json:"deep"`
}

func list(ctx context.Context, h *Host, p listParams) (string, error) {
	s, err := h.at(p.Path)
	if err != nil {
		return "", err
	}
	defer s.Close()
	var out strings.Builder
	n := 0
	w := walk{spot: s, all: !p.Deep}
	err = w.run(ctx, func(e found) error {
		if n++; n > maxEntries {
			return errEnough
		}
		name := strings.TrimPrefix(e.path, w.base)
		switch {
		case e.IsDir():
			name += "/"
		case e.Type()&fs.ModeSymlink != 0:
			name += " (a link)"
		case !e.Type().IsRegular():
			name += " (no plain file)"
		}
		out.WriteString(strings.ToValidUTF8(name, "\uFFFD") + "\n")
		return nil
	})
	switch {
	case errors.Is(err, errEnough):
		fmt.Fprintf(&out, "[there are more than %d; list a folder of it]\n", maxEntries)
	case err != nil:
		return "", err
	case n == 0:
		return "[the folder is empty]", nil
	}
	return out.String(), nil
}

type searchParams struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path"`
	Glob       string `json:"glob"`
	IgnoreCase bool   `json:"ignore_case"`
}

func search(ctx context.Context, h *Host, p searchParams) (string, error) {
	if p.IgnoreCase {
		p.Pattern = "(?i)" + p.Pattern
	}
	pattern, err := regexp.Compile(p.Pattern)
	if err != nil {
		return "", fmt.Errorf("the pattern is no regular expression: %w", err)
	}
	if p.Glob != "" && !doublestar.ValidatePattern(p.Glob) {
		return "", errors.New("the glob is no pattern of paths")
	}
	s, err := h.at(p.Path)
	if err != nil {
		return "", err
	}
	defer s.Close()
	matches := &matches{pattern: pattern}
	w := walk{spot: s}
	err = w.run(ctx, func(e found) error {
		if !e.Type().IsRegular() || p.Glob != "" && !globbed(p.Glob, e.path) {
			return nil
		}
		f, err := spot{s.Root, filepath.FromSlash(e.path), e.path}.open()
		if err != nil {
			return nil // it went away meanwhile, or is another's
		}
		defer f.Close()
		return matches.in(ctx, f, e.path)
	})
	switch {
	case errors.Is(err, errEnough):
		fmt.Fprintf(&matches.out, "[there are more than %d; search for less]\n", maxMatches)
	case err != nil:
		return "", err
	case matches.n == 0:
		return "[nothing was found]", nil
	}
	return matches.out.String(), nil
}

// globbed reports whether a path fits; a pattern without folders fits in any.
func globbed(glob, file string) bool {
	if !strings.Contains(glob, "/") {
		file = path.Base(file)
	}
	fits, _ := doublestar.Match(glob, file) // it was validated
	return fits
}

// matches are the lines that a search has found.
type matches struct {
	pattern *regexp.Regexp
	out     strings.Builder
	n       int
}

func (m *matches) in(ctx context.Context, f io.Reader, path string) error {
	text := bufio.NewReaderSize(io.LimitReader(f, maxSearch), 64<<10)
	if head, _ := text.Peek(8 << 10); binary(head) {
		return nil
	}
	for number := 1; ; number++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		line, err := text.ReadSlice('\n')
		for rest := err; rest == bufio.ErrBufferFull; { // of a long line the beginning counts
			line = bytes.Clone(line)
			_, rest = text.ReadSlice('\n')
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 && m.pattern.Match(line) {
			if m.n++; m.n > maxMatches {
				return errEnough
			}
			fmt.Fprintf(&m.out, "%s:%d: %s\n", path, number, shown(line))
		}
		if err != nil && err != bufio.ErrBufferFull {
			return nil // the end, or a file that cannot be read further
		}
	}
}

func shown(line []byte) string {
	if len(line) > maxShown {
		cut := maxShown
		for cut > 0 && !utf8.RuneStart(line[cut]) {
			cut--
		}
		line = append(bytes.Clone(line[:cut]), "…"...)
	}
	return strings.ToValidUTF8(string(line), "\uFFFD")
}

// walk goes through a folder and what is below, in the order of names. It follows no link, and leaves out what
// .gitignore files name, the root's own first.
type walk struct {
	spot
	all  bool   // the folder alone, with all that is in it
	base string // what the paths that are found begin with, if the walk began at a folder
}

// found is an entry of a folder. Its path is the one below the root, with slashes.
type found struct {
	fs.DirEntry
	path string
}

func (w *walk) run(ctx context.Context, visit func(found) error) error {
	info, err := w.Stat(w.name)
	if err != nil {
		return w.refused(err)
	}
	if !info.IsDir() {
		if w.all {
			return fmt.Errorf("%s is no folder", w.given)
		}
		return visit(found{fs.FileInfoToDirEntry(info), filepath.ToSlash(w.name)})
	}
	dir := filepath.ToSlash(w.name)
	if dir != "." {
		w.base = dir + "/"
	}
	rules := map[string]ignore{}
	if !w.all { // those of the folders above, up to the root
		for above := dir; above != "."; {
			above = path.Dir(above)
			rules[above] = w.ignored(above)
		}
	}
	return w.folder(ctx, dir, rules, visit)
}

func (w *walk) folder(ctx context.Context, dir string, rules map[string]ignore, visit func(found) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	f, err := w.OpenFile(filepath.FromSlash(dir), os.O_RDONLY|nonblocking, 0)
	if err != nil {
		if path.Clean(filepath.ToSlash(w.name)) != dir {
			return nil // it went away meanwhile, or is another's
		}
		return w.refused(err)
	}
	entries, err := f.ReadDir(-1)
	if err := errors.Join(err, f.Close()); err != nil {
		return w.refused(err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	if !w.all {
		rules[dir] = w.ignored(dir)
		defer delete(rules, dir)
	}
	for _, e := range entries {
		p := path.Join(dir, e.Name())
		if !w.all && (e.Name() == ".git" || hidden(rules, p, e.IsDir())) {
			continue
		}
		if err := visit(found{e, p}); err != nil {
			return err
		}
		if e.IsDir() && !w.all {
			if err := w.folder(ctx, p, rules, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// ignored is the .gitignore of a folder; without one that can be read, nothing is ignored.
func (w *walk) ignored(dir string) ignore {
	name := path.Join(dir, ".gitignore")
	f, err := spot{w.Root, filepath.FromSlash(name), name}.open()
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxIgnore))
	if err != nil {
		return nil
	}
	return readIgnore(string(text))
}

// hidden asks the files from the nearest to the one at the root.
func hidden(rules map[string]ignore, p string, folder bool) bool {
	for dir := path.Dir(p); ; dir = path.Dir(dir) {
		seen := strings.TrimPrefix(p, dir+"/")
		if ignored, known := rules[dir].says(seen, folder); known {
			return ignored
		}
		if dir == "." {
			return false
		}
	}
}
