//go:build !linux

package daemon

// Hide has nothing to do: no call of this system does what prctl does on Linux.
func Hide() error { return nil }

// Hidden is why the process is not hidden.
func Hidden() (why string) { return "this system has no call for it" }
