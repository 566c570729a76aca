//go:build !linux

package main

import (
	"errors"
	"runtime"
	"time"
)

var errOnlyLinux = errors.New("what a process uses is only known on Linux here")

func cpuTime(int) (time.Duration, error) { return 0, errOnlyLinux }
func memory(int) (float64, error)        { return 0, errOnlyLinux }
func writeCalls(int) (int, error)        { return 0, errOnlyLinux }
func family(pid int) []int               { return []int{pid} }
func machine() string                    { return runtime.GOOS }
