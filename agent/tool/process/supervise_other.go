//go:build !linux && !windows

package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

const supervises = false

func inherit(*exec.Cmd, *os.File, *os.File) ([]string, error) {
	return nil, errors.New("this system has no supervisors")
}

func endRest(cmd *exec.Cmd) error { return EndGroup(cmd) }

// Supervise is for Linux and Windows.
func Supervise([]string) int {
	fmt.Fprintln(os.Stderr, "thinkd: this system has no child subreapers")
	return 2
}
