//go:build !linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
)

var landlock = func() (int, error) { return 0, errors.New("there is a sandbox on Linux only") }

// Lacks is for Linux.
func Lacks() []string { return nil }

// Confine is for Linux.
func Confine([]string) int {
	fmt.Fprintln(os.Stderr, "thinkd: this system has no Landlock")
	return 126
}
