package bolt

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/windows"
)

// initialMap is 0 since a file is made as long as its map here.
const initialMap = 0

// lockedByte lies far behind the process id, which others must be able to read: locks bind readers here.
const lockedByte = 1 << 30

// tryLock is false if another has the lock.
func tryLock(f *os.File) (bool, error) {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{Offset: lockedByte})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

func unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{Offset: lockedByte})
}

// diskFull reports whether a write failed for want of room.
func diskFull(err error) bool {
	for _, full := range []windows.Errno{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED} {
		// bbolt formats some causes with %s, so that only their words are left.
		if errors.Is(err, full) || strings.HasSuffix(err.Error(), ": "+full.Error()) {
			return true
		}
	}
	return false
}
