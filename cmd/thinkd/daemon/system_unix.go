//go:build unix

package daemon

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// detach starts a process in a session of its own: no terminal's signals reach it.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// Silence puts the null device in a file's place, so that the reader of its other end sees it end. The number stays
// taken: no file that is opened later can get it.
func Silence(f *os.File) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	return unix.Dup2(int(null.Fd()), int(f.Fd()))
}

// ours reports whether this user owns a file.
func ours(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}

// restrict keeps other users from connecting to a socket.
func restrict(path string) error { return os.Chmod(path, 0o600) }

// nobodyListens reports whether a connection failed because no daemon listens.
func nobodyListens(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED)
}
