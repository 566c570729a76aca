package proof

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// PeakMemory is the most that a process has had in memory, in bytes.
func PeakMemory(pid int) (uint64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "\nVmHWM:")
	value, _, _ := strings.Cut(rest, " kB")
	n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
	return n << 10, err
}
