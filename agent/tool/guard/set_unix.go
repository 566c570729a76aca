//go:build unix

package guard

import (
	"io/fs"
	"syscall"
)

// set finds places by the identity of a file: its device and its inode.
type set map[[2]uint64]Place

func (s set) add(info fs.FileInfo, p Place) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	key := [2]uint64{uint64(stat.Dev), stat.Ino}
	if old, ok := s[key]; !ok || old.Danger < p.Danger {
		s[key] = p
	}
}

func (s set) find(info fs.FileInfo) (Place, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Place{}, false
	}
	p, ok := s[[2]uint64{uint64(stat.Dev), stat.Ino}]
	return p, ok
}

// linked reports whether a file has more than one name.
func linked(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !info.IsDir() && ok && stat.Nlink > 1
}
