//go:build unix

package instructions

import (
	"io/fs"
	"os"
	"syscall"
)

// nonblocking keeps an open from waiting for the other end of a pipe.
const nonblocking = syscall.O_NONBLOCK

// owned reports whether the user of the daemon owns a file.
func owned(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}
