package daemon

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// detach starts a process without a console, which no Ctrl+C reaches.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

// Silence ends a file for the reader of its other end.
func Silence(f *os.File) error { return f.Close() }

// ours and restrict have nothing to do: directories under %LocalAppData% are their user's, and so is what is made in
// them.
func ours(os.FileInfo) bool { return true }

func restrict(string) error { return nil }

// nobodyListens reports whether a connection failed because no daemon listens.
func nobodyListens(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, windows.WSAECONNREFUSED)
}
