package guard

import (
	"io/fs"
	"os"
)

// set finds places by the identity of a file, which this system's library only compares.
type set map[fs.FileInfo]Place

func (s set) add(info fs.FileInfo, p Place) { s[info] = p }

func (s set) find(info fs.FileInfo) (found Place, ok bool) {
	for known, p := range s {
		if os.SameFile(known, info) && (!ok || found.Danger < p.Danger) {
			found, ok = p, true
		}
	}
	return found, ok
}

// linked reports whether a file may have more than one name.
func linked(info fs.FileInfo) bool { return !info.IsDir() }
