//go:build !linux

package tool

import (
	"fmt"
	"os"
)

const supervises = false

// Supervise is for Linux.
func Supervise([]string) int {
	fmt.Fprintln(os.Stderr, "thinkd: this system has no child subreapers")
	return 2
}
