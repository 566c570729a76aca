package builtin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/thinkd/thinkd/agent/tool/approval"
)

// spot is a path of a place: a name below a root that is open.
type spot struct {
	*os.Root
	host  *Host
	name  string // local, in the system's form
	given string // as the model wrote it
}

// at finds a path of the model. The caller closes the spot. Relative paths are below the first root.
func (h *Host) at(path string) (spot, error) {
	if strings.ContainsRune(path, 0) {
		return spot{}, fmt.Errorf("a path with a zero character in it")
	}
	if len(h.place.Roots) == 0 {
		return spot{}, fmt.Errorf("the built-in tools need a folder to work in")
	}
	given := path
	path = filepath.FromSlash(path)
	root := h.place.Roots[0]
	name := filepath.Clean(path)
	if filepath.IsAbs(path) {
		var ok bool
		if root, name, ok = h.below(path); !ok {
			return spot{}, outside(given)
		}
	}
	if !filepath.IsLocal(name) {
		return spot{}, outside(given)
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return spot{}, fmt.Errorf("the session's folder is not there any more")
	}
	return spot{r, h, name, given}, nil
}

// below finds the root that an absolute path is in, by the root's name or by that of what it is a link to.
func (h *Host) below(path string) (root, name string, ok bool) {
	for _, root := range h.place.Roots {
		whole, err := filepath.EvalSymlinks(root)
		if err != nil {
			whole = root
		}
		for _, base := range []string{root, whole} {
			if name, err := filepath.Rel(base, path); err == nil && filepath.IsLocal(name) {
				return root, name, true
			}
		}
	}
	return "", "", false
}

func outside(path string) error {
	return fmt.Errorf("%s is outside of the session's folders", path)
}

// path is the absolute path, for calls that do not use the root.
func (s spot) path() string { return filepath.Join(s.Root.Name(), s.name) }

// named is a path below the root as a later call can give it: one in a further folder is absolute, because relative paths are below the
// first one.
func (s spot) named(below string) string {
	if s.Root.Name() == s.host.place.Roots[0] {
		return below
	}
	return filepath.ToSlash(filepath.Join(s.Root.Name(), filepath.FromSlash(below)))
}

// refused is a system error in words for a model, without paths of the machine.
func (s spot) refused(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: there is no such file or folder: %w", s.given, fs.ErrNotExist)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: permission denied", s.given)
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		err = e.Err
	}
	if strings.Contains(err.Error(), "escapes") { // os.Root has no other sign of it
		return outside(s.given)
	}
	return fmt.Errorf("%s: %w", s.given, err)
}

// plain looks at a file without opening it, because opening a pipe waits for its other end.
func (s spot) plain() (fs.FileInfo, error) {
	info, err := s.Stat(s.name)
	switch {
	case err != nil:
		return nil, s.refused(err)
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder", s.given)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no plain file", s.given)
	}
	return info, nil
}

// admitted reports whether the call may touch the path, by the names on the way there.
func (s spot) admitted() error {
	c, err := s.host.look.Path(s.path())
	if err != nil {
		return s.refused(err)
	}
	return s.host.admit(c)
}

// holds reports whether the call may touch a file or folder that it has opened by the path.
func (s spot) holds(info fs.FileInfo) error {
	c, err := s.host.look.Opened(info, s.path())
	if err != nil {
		return s.refused(err)
	}
	return s.host.admit(c)
}

// admit reports whether the call was decided on a concern.
func (h *Host) admit(c approval.Concern) error {
	switch {
	case h.decided.Covers(c):
		return nil
	case c.Danger == approval.Protected:
		return fmt.Errorf("%s; no tool may touch it", c.Why)
	}
	return fmt.Errorf("%s; this call was not approved for it", c.Why)
}

// open opens a plain file for reading, and checks what it has opened. It never waits, even if somebody has replaced the file by a
// pipe since it was checked.
func (s spot) open() (*os.File, error) {
	if _, err := s.plain(); err != nil {
		return nil, err
	}
	f, err := s.OpenFile(s.name, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, s.refused(err)
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s is no plain file", s.given)
	}
	if err := s.holds(info); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
