package bolt

import (
	"errors"
	"strings"

	"golang.org/x/sys/windows"
)

// initialMap is 0 since a file is made as long as its map here.
const initialMap = 0

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
