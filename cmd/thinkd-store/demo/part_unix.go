//go:build unix

package demo

import (
	"os/exec"
	"syscall"
)

const terminate = syscall.SIGTERM

// apart has a process in a group of its own.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
