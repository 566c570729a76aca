//go:build unix

package builtin

import (
	"os"
	"syscall"
)

// signalOf names the signal that ended a process, empty for none.
func signalOf(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal().String()
	}
	return ""
}
