//go:build !linux

package scripts

import (
	"errors"
	"os"
	"runtime"
)

// makeReadOnly takes away the permission to write.
func makeReadOnly(dir string) (undo func(), err error) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		return nil, errors.New("permissions do not keep this user from writing")
	}
	return func() { os.Chmod(dir, 0o700) }, os.Chmod(dir, 0o500)
}
