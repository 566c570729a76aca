package process

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

// endGroup asks the system's own program to end the tree, since a group has no such call; then it makes sure of the
// first process.
func endGroup(p *os.Process) error {
	tree := exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(p.Pid)).Run()
	if err := p.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.EINVAL) { // EINVAL: it was waited for
		return errors.Join(err, tree)
	}
	return nil
}
