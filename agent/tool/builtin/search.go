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

	"github.com/thinkd/thinkd/agent/tool/gitignore"
)

// Bounds of what is read and reported.
const (
	maxEntries = 1000     // of a list
	maxMatches = 200      // of a search
	maxShown   = 300      // bytes of a line that was found
	maxSearch  = 16 << 20 // bytes of a file that is searched
	maxIgnore  = 1 << 20  // bytes of a .gitignore
	maxMatched = 32 << 10 // bytes of a line that are held against the pattern
)

// errEnough ends a walk that has found as much as a result can have.
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
		if !w.admits(e) {
			return nil
		}
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
	case n == 0 && w.skipped == 0:
		return "[the folder is empty]", nil
	}
	return out.String() + w.leftOut(), nil
}

type searchParams struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path"`
	Glob       string `json:"glob"`
	IgnoreCase bool   `json:"ignore_case"`
}

func search(ctx context.Context, h *Host, p searchParams) (string, error) {
	pattern, err := compilePattern(p.Pattern, p.IgnoreCase)
	if err != nil {
		return "", err
	}
	if err := checkGlob(p.Glob); p.Glob != "" && err != nil {
		return "", err
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
		f, err := w.open(e)
		if f == nil || err != nil {
			return err
		}
		defer f.Close()
		return matches.in(ctx, f, w.named(e.path))
	})
	switch {
	case errors.Is(err, errEnough):
		fmt.Fprintf(&matches.out, "[there are more than %d; search for less]\n", maxMatches)
	case err != nil:
		return "", err
	case matches.n == 0:
		return "[nothing was found]" + w.leftOut(), nil
	}
	return matches.out.String() + w.leftOut(), nil
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
	text := bufio.NewReaderSize(io.LimitReader(f, maxSearch), maxMatched)
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
// .gitignore files name, the root's own first, and what is guarded. Each folder is opened in the one above it that was
// judged, so that no folder that is moved meanwhile leads elsewhere.
type walk struct {
	spot
	all     bool   // the folder alone, with all that is in it
	base    string // what the paths that are found begin with, if the walk began at a folder
	real    string // the root's path without links
	skipped int    // entries that are guarded
}

// found is an entry of a folder. Its path is the one below the root, with slashes.
type found struct {
	fs.DirEntry
	path string
	dir  *os.Root // that it is in; nil: it is where the walk began
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
		return visit(found{fs.FileInfoToDirEntry(info), filepath.ToSlash(w.name), nil})
	}
	if w.real, err = filepath.EvalSymlinks(w.path()); err != nil {
		return w.refused(err)
	}
	top, err := w.OpenRoot(w.name)
	if err != nil {
		return w.refused(err)
	}
	defer top.Close()
	if info, err = top.Stat("."); err != nil {
		return w.refused(err)
	}
	if err := w.holds(info); err != nil {
		return err
	}
	dir := filepath.ToSlash(w.name)
	if dir != "." {
		w.base = dir + "/"
	}
	rules := map[string]gitignore.Rules{}
	if !w.all { // those of the folders above, up to the root
		for above := dir; above != "."; {
			above = path.Dir(above)
			rules[above] = ignored(w.Root, path.Join(above, ".gitignore"))
		}
	}
	return w.folder(ctx, top, dir, rules, visit)
}

// guarded reports whether an entry is to be left out, and counts it.
func (w *walk) guarded(info fs.FileInfo, p string) bool {
	at := filepath.Join(w.real, filepath.FromSlash(strings.TrimPrefix(p, w.base)))
	if w.host.decided.Covers(w.host.look.Entry(info, at)) {
		return false
	}
	w.skipped++
	return true
}

// admits reports whether an entry may be named. Folders have been judged when they were opened.
func (w *walk) admits(e found) bool {
	if e.IsDir() && !w.all {
		return true
	}
	info, err := e.dir.Lstat(e.Name())
	return err == nil && !w.guarded(info, e.path)
}

// open opens a plain file; nil: it was removed or replaced meanwhile, or is guarded.
func (w *walk) open(e found) (*os.File, error) {
	if e.dir == nil {
		return w.spot.open()
	}
	f, err := e.dir.OpenFile(e.Name(), os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, nil
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || w.guarded(info, e.path) {
		f.Close()
		return nil, nil
	}
	return f, nil
}

// leftOut is a sentence for the model about what the result does not have.
func (w *walk) leftOut() string {
	if w.skipped == 0 {
		return ""
	}
	return fmt.Sprintf("\n[%d secret or protected places are left out; a secret one can be read by its path, if a person approves]\n", w.skipped)
}

// folder walks an open folder that was judged.
func (w *walk) folder(ctx context.Context, r *os.Root, dir string, rules map[string]gitignore.Rules, visit func(found) error) error {
	f, err := r.Open(".")
	if err != nil {
		return w.refused(err)
	}
	entries, err := f.ReadDir(-1)
	if err := errors.Join(err, f.Close()); err != nil {
		return w.refused(err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	if !w.all {
		rules[dir] = ignored(r, ".gitignore")
		defer delete(rules, dir)
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p := path.Join(dir, e.Name())
		if !w.all && (e.Name() == ".git" || gitignore.Ignored(rules, p, e.IsDir())) {
			continue
		}
		if !e.IsDir() || w.all {
			if err := visit(found{e, p, r}); err != nil {
				return err
			}
			continue
		}
		if err := w.enter(ctx, found{e, p, r}, rules, visit); err != nil {
			return err
		}
	}
	return nil
}

// enter judges a folder and walks it. One that went away meanwhile, or is another's, is named and not walked.
func (w *walk) enter(ctx context.Context, e found, rules map[string]gitignore.Rules, visit func(found) error) error {
	r, err := e.dir.OpenRoot(e.Name())
	if err != nil {
		return visit(e)
	}
	defer r.Close()
	info, err := r.Stat(".")
	if err != nil || w.guarded(info, e.path) {
		return nil
	}
	if err := visit(e); err != nil {
		return err
	}
	return w.folder(ctx, r, e.path, rules, visit)
}

// ignored reads a .gitignore; without one that can be read, nothing is ignored.
func ignored(r *os.Root, name string) gitignore.Rules {
	f, err := r.OpenFile(filepath.FromSlash(name), os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(f, maxIgnore))
	if err != nil {
		return nil
	}
	return gitignore.Parse(string(text))
}
