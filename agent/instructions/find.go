package instructions

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/thinkd/thinkd/session"
)

// names are the files in a folder, by precedence.
var names = []string{"AGENTS.md", "CLAUDE.md"}

// linksMost is how many links from one file to another are followed.
const linksMost = 4

// Find returns the instructions for a folder, which is an absolute path. Without any file it returns none, and no error. Files that do not
// count are left out. The error says that the folder or a file cannot be read.
func Find(folder string) (session.Instructions, error) {
	folder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return session.Instructions{}, fmt.Errorf("finding project instructions: %w", err)
	}
	top := rootOf(folder)
	root, err := os.OpenRoot(top)
	if err != nil {
		return session.Instructions{}, fmt.Errorf("finding project instructions: %w", err)
	}
	defer root.Close()
	var list []found
	left := Most
	for dir := folder; ; dir = filepath.Dir(dir) {
		below, err := filepath.Rel(top, dir)
		if err != nil {
			return session.Instructions{}, fmt.Errorf("finding project instructions: %w", err)
		}
		f, ok, err := inFolder(root, below, left)
		if err != nil {
			return session.Instructions{}, fmt.Errorf("reading project instructions: %w", err)
		}
		if ok {
			list = append(list, f)
			left -= len(f.text)
		}
		if dir == top || left <= 0 {
			break
		}
	}
	if list == nil {
		return session.Instructions{}, nil
	}
	slices.Reverse(list)
	return render(list), nil
}

// rootOf returns the root of the repository that a folder is in, or the folder itself.
func rootOf(folder string) string {
	for dir := folder; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return folder
		}
	}
}

// inFolder reads the file of one folder; false: it has none that counts.
func inFolder(root *os.Root, folder string, most int) (f found, ok bool, err error) {
	for _, name := range names {
		path, info, ok := resolve(root, filepath.Join(folder, name))
		if !ok {
			continue
		}
		data, err := read(root, path, info, most+1)
		if err != nil {
			return found{}, false, err
		}
		text, ok := limited(data, most)
		if !ok || text == "" {
			continue
		}
		at := filepath.Join(folder, name)
		return found{name: filepath.ToSlash(at), text: text,
			InstructionFile: session.InstructionFile{Path: filepath.Join(root.Name(), at), Bytes: len(text), Cut: len(data) > len(text)}}, true, nil
	}
	return found{}, false, nil
}

// resolve follows links from one file with instructions to another, and returns the regular file at their end.
func resolve(root *os.Root, path string) (string, fs.FileInfo, bool) {
	for range linksMost {
		if !filepath.IsLocal(path) || !slices.Contains(names, filepath.Base(path)) {
			return "", nil, false
		}
		info, err := root.Lstat(path)
		if err != nil {
			return "", nil, false
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return path, info, info.Mode().IsRegular() && owned(info)
		}
		target, err := root.Readlink(path)
		if err != nil || filepath.IsAbs(target) {
			return "", nil, false
		}
		path = filepath.Join(filepath.Dir(path), target)
	}
	return "", nil, false
}

// read reads the beginning of a file, if it is still the one that was found.
func read(root *os.Root, path string, was fs.FileInfo, most int) ([]byte, error) {
	f, err := root.OpenFile(path, os.O_RDONLY|nonblocking, 0)
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !os.SameFile(info, was) || !owned(info) {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, int64(most)))
}
