//go:build unix

package session

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// noFollow makes an open fail on a symbolic link, also on one that came after we looked.
const noFollow = unix.O_NOFOLLOW

// ownerOf is the user that owns a file, if that is known.
func ownerOf(info os.FileInfo) (uid int, known bool) {
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return 0, false
	}
	return int(stat.Uid), true
}

// initialMap is how much address space the file's map begins with: while it is large enough, no writer waits for readers
// in order to map anew. It costs no memory.
const initialMap = 1 << (20 + 10*(strconv.IntSize/64))

// tryLock is false if another has the lock.
func tryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func unlock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }

// diskFull reports whether a write failed for want of room: of the disk, of a quota, or by a limit on file size.
func diskFull(err error) bool {
	for _, full := range []unix.Errno{unix.ENOSPC, unix.EDQUOT, unix.EFBIG} {
		// bbolt's grow formats its cause with %s, so that only its words are left.
		if errors.Is(err, full) || strings.HasSuffix(err.Error(), ": "+full.Error()) {
			return true
		}
	}
	return false
}

// syncDir makes a created or renamed name durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && runtime.GOOS == "linux" {
		return err // some other systems refuse to sync a directory
	}
	return nil
}
