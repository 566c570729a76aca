package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// MakeDir makes a directory for files of ours, or closes an open one to others. A directory of another user is refused: root could use
// it, and its owner could put what they like in the place of each file.
func MakeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if owner, known := ownerOf(info); known && owner != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d, and this is user %d: start thinkd as its owner, or change the owner with chown", dir, owner, os.Geteuid())
	}
	if info.Mode().Perm() != 0o700 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// Open opens a regular file with flag, as os.OpenFile does, for its owner only, whatever the umask is, even if the file exists.
// A symbolic link is not followed.
func Open(path string, flag int) (*os.File, error) {
	info, err := os.Lstat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file (%s); links are not followed", filepath.Base(path), info.Mode().Type())
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	f, err := os.OpenFile(path, flag|noFollow, 0o600)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err != nil {
		f.Close()
		return nil, err
	}
	if info.Mode().Perm() != 0o600 && flag&os.O_RDWR != 0 {
		if err := f.Chmod(0o600); err != nil {
			f.Close()
			return nil, err
		}
	}
	return f, nil
}
