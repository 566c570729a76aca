package daemon

import (
	"os"

	"golang.org/x/sys/unix"
)

// Hide keeps other programs of the same user from reading this process's environment and memory, and the system from writing
// them into core dumps (prctl(2), PR_SET_DUMPABLE). Programs that it starts are not hidden by it.
func Hide() error {
	if os.Getenv(dumpableVariable) == "1" {
		return nil
	}
	return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// Hidden is why the process is not hidden; empty: it is.
func Hidden() (why string) {
	state, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	switch {
	case err != nil:
		return err.Error()
	case state == 0:
		return ""
	}
	return dumpableVariable + "=1 is set"
}
