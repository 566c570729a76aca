//go:build unix

package usersocket

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// trusted checks that nobody but root and this account can put files into a folder.
func trusted(path string, info fs.FileInfo) error {
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", path)
	case owner != 0 && owner != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d, who could replace the socket; use a folder of root or of the daemon's account", path, owner)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("others can write to %s (mode %o), and could replace the socket; remove that permission with chmod go-w, or use another folder", path, info.Mode().Perm())
	}
	return nil
}
