package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
)

// profileVariable names a directory into which a process writes what it did, for `go tool pprof`: PID-COMMAND.cpu from
// its start to its orderly end, and PID-COMMAND.heap as it is then. Unset, as it is for all but those who measure,
// nothing is written.
const profileVariable = "THINKD_PROFILE"

// profile begins to write; end completes the files. A door hands its environment to the daemon that it starts, so that one
// variable has both.
func profile(dir, command string) (end func() error, err error) {
	base := filepath.Join(dir, fmt.Sprintf("%d-%s", os.Getpid(), command))
	cpu, err := os.Create(base + ".cpu")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", profileVariable, err)
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return nil, errors.Join(err, cpu.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		err := cpu.Close()
		heap, openErr := os.Create(base + ".heap")
		if openErr != nil {
			return errors.Join(err, openErr)
		}
		runtime.GC() // so that what is in use is as of now
		return errors.Join(err, pprof.WriteHeapProfile(heap), heap.Close())
	}, nil
}
