package durable

import (
	"errors"
	"io"
	"os"
)

// Copy copies a regular file, durably: after a crash the copy is complete or has no name. A file named to is replaced. to with ".new"
// appended is the copy's name until it is complete, and must not be in use by others.
//
// Where the file system shares blocks between files (Btrfs, XFS, APFS), the copy takes no space until one of both changes: on Linux the
// os package copies with copy_file_range(2), which does that.
func Copy(path, to string) error {
	fresh := to + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	err := copyFile(path, fresh)
	if err == nil {
		err = Publish(fresh, to)
	}
	if err != nil {
		if gone := os.Remove(fresh); !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// copyFile writes a file that is not there yet, and syncs it.
func copyFile(path, fresh string) error {
	from, err := Open(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer from.Close()
	clone(path, fresh) // if it fails, the bytes are copied
	to, err := Open(fresh, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	info, err := to.Stat()
	if err == nil && info.Size() == 0 {
		_, err = io.Copy(to, from)
	}
	if err == nil {
		err = Sync(to)
	}
	return errors.Join(err, to.Close())
}
