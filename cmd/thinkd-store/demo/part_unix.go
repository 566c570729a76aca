//go:build unix && !linux

package demo

import (
	"os/exec"
	"syscall"
)

const terminate = syscall.SIGTERM

// apart has a process in a group of its own. If the demo is killed, the process runs on.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
