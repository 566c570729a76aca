package demo

import (
	"os/exec"
	"syscall"
)

const terminate = syscall.SIGTERM

// apart has a process in a group of its own. The kernel kills the process when the thread that started it ends, which is when the demo is killed:
// nobody would find six processes by hand.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
