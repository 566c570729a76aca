package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// hide keeps other programs of the same user from reading this process's environment and memory, and the system from writing
// them into core dumps (prctl(2), PR_SET_DUMPABLE). Programs that it starts are not hidden by it.
func hide() error {
	if os.Getenv(dumpableVariable) == "1" {
		return nil
	}
	return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// hidden reports whether that is so, and why not.
func hidden() (why string) {
	state, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	switch {
	case err != nil:
		return err.Error()
	case state == 0:
		return ""
	}
	return dumpableVariable + "=1 is set"
}
