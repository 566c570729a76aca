package scrape

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func process() (list []value) {
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) == nil {
		list = append(list, value{"process_cpu_seconds_total", "Time on processors.", float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9})
	}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		list = append(list, value{"process_open_fds", "Open files.", float64(len(open) - 1)}) // one is the directory
	}
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		list = append(list, value{"process_max_fds", "Files that may be open.", float64(files.Cur)})
	}
	var size, resident uint64 // in pages: proc_pid_statm(5)
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if _, err := fmt.Sscan(string(text), &size, &resident); err == nil {
			page := uint64(os.Getpagesize())
			list = append(list, value{"process_virtual_memory_bytes", "Address space.", float64(size * page)},
				value{"process_resident_memory_bytes", "Memory.", float64(resident * page)})
		}
	}
	return list
}
