package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
)

// Each of these names a directory into which a process writes what it did, from its start to its orderly end. Unset, as they are for all
// but those who measure, nothing is written. A door hands its environment to the daemon that it starts, so that one variable has both.
const (
	profileVariable = "THINKD_PROFILE" // PID-COMMAND.cpu, and PID-COMMAND.heap as it is at the end: for `go tool pprof`
	traceVariable   = "THINKD_TRACE"   // PID-COMMAND.trace: for `go tool trace`. Some MiB for each second of work
)

// record begins what the variables ask for; end completes the files.
func record(getenv func(string) string, command string) (end func() error, err error) {
	var ends []func() error
	end = func() error {
		var errs []error
		for _, end := range ends {
			errs = append(errs, end())
		}
		return errors.Join(errs...)
	}
	for _, r := range []struct {
		variable string
		begin    func(base string) (end func() error, err error)
	}{{profileVariable, profile}, {traceVariable, traced}} {
		dir := getenv(r.variable)
		if dir == "" {
			continue
		}
		one, err := r.begin(filepath.Join(dir, fmt.Sprintf("%d-%s", os.Getpid(), command)))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", r.variable, err), end())
		}
		ends = append(ends, one)
	}
	return end, nil
}

func profile(base string) (end func() error, err error) {
	cpu, err := os.Create(base + ".cpu")
	if err != nil {
		return nil, err
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

func traced(base string) (end func() error, err error) {
	file, err := os.Create(base + ".trace")
	if err != nil {
		return nil, err
	}
	if err := trace.Start(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() error {
		trace.Stop()
		return file.Close()
	}, nil
}
