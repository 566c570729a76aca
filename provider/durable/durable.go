// Package durable writes files that must survive a loss of power: keys, the token, settings, the files of a store. A file and its
// directory belong to their owner alone, and neither is a link. [Replace] replaces a small file completely or not at all. For other files
// there are the single steps: [Open], Sync, [Publish].
//
// [Value] is what the users of such a file need of it, so that the settings, the keys and the model lists can be kept elsewhere too. [Table] is
// the same for several processes that share what they keep.
//
// Inside the package, files depend in one direction: the files for one system, durable, value, table, copy.
package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Sync makes what was written to a file, or the names in a directory, durable. Tests replace it, to see that it was called
// and to have it fail.
var Sync = (*os.File).Sync

// Replace puts a file with a text in place of any other and makes it durable: first what is in it, then its name. Without
// the second, a power cut may bring the old file back, with a token or a key that was to be void. With an error the old
// file is there, or, if only its name could not be made durable, the new one. Windows has no call for the second.
func Replace(path string, text []byte) error {
	dir, name := filepath.Dir(path), filepath.Base(path)
	f, err := os.CreateTemp(dir, name+".*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = Sync(f)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return SyncDir(dir)
}

// SyncDir makes the names in a directory durable. Windows has no call for that, and some systems other than Linux refuse it for
// some directories: both are no error.
func SyncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	if err = Sync(dir); runtime.GOOS != "linux" {
		err = nil
	}
	return errors.Join(err, dir.Close())
}

// Publish gives a file that was synced its name, durably. A file that had the name is replaced.
func Publish(fresh, path string) error {
	if err := os.Rename(fresh, path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// Read is what is in a regular file. A link is not followed: who can put one in a folder of ours must not choose what
// we read.
func Read(path string) ([]byte, error) {
	named, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !named.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file, and links are not followed", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if again, err := os.Lstat(path); err != nil || !os.SameFile(named, again) {
		return nil, fmt.Errorf("%s was replaced while it was read", path)
	}
	return text, nil
}
