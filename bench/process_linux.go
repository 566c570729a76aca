package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the CPU time of all threads of a process in nanoseconds. The ticks of /proc/PID/stat are too coarse: one is as long
// as a thousand deltas. The clock of a process follows from its id (clock_getcpuclockid(3); in the kernel:
// posix-timers.h, CPUCLOCK_SCHED).
func cpuTime(pid int) (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &t); err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// family returns a process and its descendants.
func family(pid int) []int {
	all := []int{pid}
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is valid
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has exited
		}
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(all, family(child)...)
			}
		}
	}
	return all
}

// memory returns the proportional share of a process in bytes: its own pages, and a part of each shared page. So the sum over several
// processes has each page once (proc_pid_smaps(5)).
func memory(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	_, rest, ok := bytes.Cut(text, []byte("\nPss:"))
	if !ok {
		return 0, fmt.Errorf("process %d: smaps_rollup has no Pss", pid)
	}
	kib, err := strconv.ParseFloat(string(bytes.Fields(rest)[0]), 64)
	return kib * 1024, err
}

// writeCalls returns how often a process has called the system to write (proc_pid_io(5)).
func writeCalls(pid int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, err
	}
	_, rest, ok := bytes.Cut(text, []byte("\nsyscw:"))
	if !ok {
		return 0, fmt.Errorf("process %d: io has no syscw", pid)
	}
	return strconv.Atoi(string(bytes.Fields(rest)[0]))
}

// machine describes the machine of the measurements.
func machine() string {
	var u unix.Utsname
	kernel := "Linux"
	if unix.Uname(&u) == nil {
		kernel += " " + unix.ByteSliceToString(u.Release[:])
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		load = []byte("? ")
	}
	return fmt.Sprintf("%s, %s, load %s", processor(), kernel, bytes.Fields(load)[0])
}

func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "a processor of no name"
	}
	_, rest, _ := bytes.Cut(text, []byte("model name\t: "))
	name, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(name)
}
