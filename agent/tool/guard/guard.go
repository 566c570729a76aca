package guard

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/agent/tool/approval"
)

// Config is the settings of a [Guard]. Paths are absolute. Those of Secret, Program and Open have the form of [Place].
type Config struct {
	Home      string   // of the user; empty: not known
	Data      string   // the daemon's data directory; empty: there is none
	Protected []string // further files and folders that no tool may touch
	Secret    []string // further secret places
	Program   []string // further files that make programs run
	Open      []string // secret places that need no approval
}

// Guard has the lists of guarded places. It never changes, so it is safe for concurrent use.
type Guard struct {
	config Config
	places []Place
	open   []Place
}

// New returns a guard with the built-in lists and those of the config.
func New(c Config) *Guard {
	g := &Guard{config: c}
	add := func(danger approval.Danger, about string, paths ...string) {
		for _, p := range paths {
			if p != "" {
				g.places = append(g.places, Place{p, about, danger})
			}
		}
	}
	add(approval.Protected, "thinkd's data directory", c.Data)
	add(approval.Protected, "thinkd's own", c.Protected...)
	for _, about := range slices.Sorted(maps.Keys(secret)) {
		add(approval.Secret, about, secret[about]...)
	}
	add(approval.Secret, "named in the config", c.Secret...)
	for _, about := range slices.Sorted(maps.Keys(program)) {
		add(approval.Program, about, program[about]...)
	}
	add(approval.Program, "named in the config", c.Program...)
	for _, p := range c.Open {
		g.open = append(g.open, Place{Path: p, About: "open"})
	}
	return g
}

// Places lists what is guarded, protected files first.
func (g *Guard) Places() []Place { return slices.Clone(g.places) }

// CheckPath returns what is wrong with the path of a place, or nil.
func CheckPath(p string) error {
	names := strings.Split(strings.TrimPrefix(filepath.ToSlash(p), "/"), "/")
	for i, name := range names {
		if name == "" || name == "." || name == ".." || name == "~" && (i > 0 || len(names) == 1) {
			return fmt.Errorf("%q: must be a name such as .env, a path such as ~/vault, or an absolute path", p)
		}
		if _, err := path.Match(name, ""); err != nil {
			return fmt.Errorf("%q: %w", p, err)
		}
	}
	return nil
}

// Broad returns why a folder is too broad to be read without approval, or an empty text. Too broad are the root of the file system,
// the user's home, and the folders above the home or the data directory.
func (g *Guard) Broad(root string) string {
	info, err := os.Stat(root)
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(root); err == nil && filepath.Dir(real) == real {
		return "the session's folder is the whole file system"
	}
	if g.config.Home != "" && isOrAbove(info, g.config.Home) {
		return "the session's folder is your home folder, or above it"
	}
	if g.config.Data != "" && isOrAbove(info, g.config.Data) {
		return "the session's folder holds thinkd's data directory"
	}
	return ""
}

// isOrAbove reports whether info is path or a folder above it.
func isOrAbove(info fs.FileInfo, path string) bool {
	real, _, err := resolve(path)
	if err != nil {
		return false
	}
	for _, dir := range ancestors(real) {
		if at, err := os.Stat(dir); err == nil && os.SameFile(info, at) {
			return true
		}
	}
	return false
}

// Look is the guard for one call. It has the current identities of all places. Only one goroutine may use it.
type Look struct {
	guard  *Guard
	known  set // places that exist, by identity
	open   set
	absent []located // places that do not exist, by path
	names  []Place   // that match anywhere
	links  set       // files inside places that have several names; nil: not looked for yet
}

// located is a place with its path as the system has it, without links.
type located struct {
	path string
	Place
}

// Look returns the guard for one call. edit means that the call changes files.
func (g *Guard) Look(edit bool) *Look {
	l := &Look{guard: g, known: make(set), open: make(set)}
	for _, p := range g.places {
		if p.Danger == approval.Program && !edit {
			continue
		}
		l.add(p, l.known)
	}
	for _, p := range g.open {
		if at := g.fixed(p.Path); at != "" {
			if info, err := os.Stat(at); err == nil {
				l.open.add(info, p)
			}
		}
	}
	return l
}

func (l *Look) add(p Place, to set) {
	at := l.guard.fixed(p.Path)
	if at == "" {
		if !strings.HasPrefix(p.Path, "~/") {
			l.names = append(l.names, p)
		}
		return
	}
	if info, err := os.Stat(at); err == nil {
		to.add(info, p)
	} else if real, rest, err := resolve(at); err == nil {
		l.absent = append(l.absent, located{filepath.Join(append([]string{real}, rest...)...), p})
	}
	if p.Danger == approval.Protected { // a link to it may be replaced by another
		if info, err := os.Lstat(at); err == nil {
			to.add(info, p)
		}
	}
}

// fixed is the absolute path of a place, empty if it matches anywhere.
func (g *Guard) fixed(p string) string {
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		if g.config.Home == "" {
			return ""
		}
		return filepath.Join(g.config.Home, filepath.FromSlash(rest))
	}
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return ""
}

// Path checks an absolute path, whether or not the file exists. A caller that opens the file must also call [Look.Opened].
func (l *Look) Path(path string) (approval.Concern, error) {
	real, rest, err := resolve(path)
	if err != nil {
		return approval.Concern{}, err
	}
	return l.judge(real, rest, nil), nil
}

// ErrMoved means that the path of an open file leads to another file by now.
var ErrMoved = errors.New("it was replaced while it was opened")

// Opened checks an open file or folder. info is from the open file, and path is the absolute path that was opened.
func (l *Look) Opened(info fs.FileInfo, path string) (approval.Concern, error) {
	real, rest, err := resolve(path)
	if err != nil {
		return approval.Concern{}, err
	}
	at, err := os.Lstat(real)
	if err != nil || len(rest) > 0 || !os.SameFile(at, info) {
		return approval.Concern{}, ErrMoved
	}
	return l.judge(real, nil, info), nil
}

// Entry checks only a file or folder itself. The caller has checked the folders above it. path has no links.
func (l *Look) Entry(info fs.FileInfo, path string) approval.Concern {
	var f finding
	l.node(&f, info, filepath.ToSlash(path))
	if linked(info) {
		f.add(l.link(info))
	}
	return f.concern()
}

// judge finds the gravest place among a path and what is above it.
func (l *Look) judge(real string, rest []string, info fs.FileInfo) approval.Concern {
	full := filepath.Join(append([]string{real}, rest...)...)
	var f finding
	for _, at := range ancestors(full) { // from the path upwards
		var here fs.FileInfo
		if at == real && info != nil {
			here = info
		} else if len(at) <= len(real) {
			here, _ = os.Lstat(at) // nil: it went away, and only its name counts
		}
		l.node(&f, here, filepath.ToSlash(at))
		if at == full && here != nil && linked(here) {
			f.add(l.link(here))
		}
	}
	return f.concern()
}

// finding is the places that a path is in.
type finding struct {
	secret, other Place
	open          bool // the config opens a folder above the path, or the path
}

func (f *finding) add(p Place) {
	at := &f.other
	if p.Danger == approval.Secret {
		at = &f.secret
	}
	if p.Danger > at.Danger {
		*at = p
	}
}

func (f *finding) concern() approval.Concern {
	p := f.other
	if !f.open && f.secret.Danger > p.Danger {
		p = f.secret
	}
	if p.Danger == approval.NoDanger {
		return approval.Concern{}
	}
	why := map[approval.Danger]string{
		approval.Program: "%s is a file that makes programs run (%s)", approval.Secret: "%s is a secret place (%s)",
		approval.Protected: "%s belongs to thinkd itself (%s)"}[p.Danger]
	return approval.Concern{Danger: p.Danger, Place: p.Path, Why: fmt.Sprintf(why, path.Base(filepath.ToSlash(p.Path)), p.About)}
}

// node adds the places that a path is, not those that it is in.
func (l *Look) node(f *finding, info fs.FileInfo, slashed string) {
	if info != nil {
		if p, ok := l.known.find(info); ok {
			f.add(p)
		}
		if _, ok := l.open.find(info); ok {
			f.open = true
		}
	}
	for _, p := range l.absent {
		if strings.EqualFold(filepath.ToSlash(p.path), slashed) {
			f.add(p.Place)
		}
	}
	for _, p := range l.names {
		if endsIn(slashed, p.Path) {
			f.add(p)
		}
	}
	for _, p := range l.guard.open {
		f.open = f.open || l.guard.fixed(p.Path) == "" && endsIn(slashed, p.Path)
	}
}

// endsIn reports whether the last names of a path fit a pattern.
func endsIn(slashed, pattern string) bool {
	for {
		dir, want := path.Split(pattern)
		above, name := path.Split(slashed)
		if fits, _ := path.Match(strings.ToLower(want), strings.ToLower(name)); !fits {
			return false
		}
		if dir == "" {
			return true
		}
		pattern, slashed = strings.TrimSuffix(dir, "/"), strings.TrimSuffix(above, "/")
	}
}

// maxLinks bounds the files of a place that are compared with a file of several names.
const maxLinks = 20_000

// link finds the place that a file with several names has another name in.
func (l *Look) link(info fs.FileInfo) Place {
	if l.links == nil {
		l.links = make(set)
		for _, p := range l.guard.places {
			at := l.guard.fixed(p.Path)
			if at == "" && l.guard.config.Home != "" {
				at = filepath.Join(l.guard.config.Home, filepath.FromSlash(p.Path))
			}
			if at != "" && p.Danger >= approval.Secret && !strings.HasPrefix(at, "/proc") {
				l.inside(p, at)
			}
		}
	}
	p, _ := l.links.find(info)
	return p
}

// inside notes the files of a place that have several names, those nearest to its top first. What cannot be read is left
// out: nobody could have linked it.
func (l *Look) inside(p Place, root string) {
	info, err := os.Stat(root)
	if err != nil {
		return
	}
	if linked(info) {
		l.links.add(info, p)
	}
	left := maxLinks
	for dirs := []string{root}; len(dirs) > 0 && info.IsDir(); dirs = dirs[1:] {
		entries, _ := os.ReadDir(dirs[0])
		for _, e := range entries {
			if left--; left < 0 {
				return
			}
			if e.IsDir() {
				dirs = append(dirs, filepath.Join(dirs[0], e.Name()))
			} else if info, err := e.Info(); err == nil && linked(info) {
				l.links.add(info, p)
			}
		}
	}
}

// maxHops bounds the links of a path.
const maxHops = 40

// resolve is where a path leads without links: the part that exists, and the names behind it that do not.
func resolve(p string) (real string, rest []string, err error) {
	p = filepath.Clean(p)
	for hops := 0; hops < maxHops; {
		real, err := filepath.EvalSymlinks(p)
		if err == nil {
			return real, rest, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", nil, err
		}
		if target, err := os.Readlink(p); err == nil { // a link that leads nowhere yet
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(p), target)
			}
			p = target
			hops++
			continue
		}
		if filepath.Dir(p) == p {
			return "", nil, err
		}
		rest = append([]string{filepath.Base(p)}, rest...)
		p = filepath.Dir(p)
	}
	return "", nil, cmp.Or(err, errors.New("too many links"))
}

// ancestors are a path and the folders above it, from the path upwards.
func ancestors(p string) (list []string) {
	for {
		list = append(list, p)
		if filepath.Dir(p) == p {
			return list
		}
		p = filepath.Dir(p)
	}
}
