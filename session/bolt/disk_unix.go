//go:build unix

package bolt

import (
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// initialMap is how much address space the file's map begins with: while it is large enough, no writer waits for readers
// in order to map again. It costs no memory.
const initialMap = 1 << (20 + 10*(strconv.IntSize/64))

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
