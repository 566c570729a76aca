//go:build !unix

package demo

import (
	"os"
	"os/exec"
)

// terminate is the only signal that can be sent to a process here. It does not drain.
var terminate = os.Kill

func apart(*exec.Cmd) {}
