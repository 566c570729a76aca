//go:build unix

package durable

import (
	"os"
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
