//go:build unix

package echo

import "golang.org/x/sys/unix"

func off(fd int) error {
	mode, err := unix.IoctlGetTermios(fd, getMode)
	if err != nil {
		return err
	}
	mode.Lflag &^= unix.ECHO
	return unix.IoctlSetTermios(fd, setMode, mode)
}
