package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// heapVariable names the directory into which the program writes, each time it gets SIGUSR1, what its heap holds: N has
// the bytes and the number of objects in use. Garbage is collected before, so that both are of what is reachable, and not of
// when the last collection was. Where it writes profiles (see profileVariable) N.heap is one, for `go tool pprof -base`.
const heapVariable = "THINKD_TEST_HEAP"

// offerHeap lets this process be asked, if it was started for that.
func offerHeap() {
	dir := os.Getenv(heapVariable)
	if dir == "" {
		return
	}
	if os.Getenv(profileVariable) != "" {
		runtime.MemProfileRate = 512 // what leaks may be small
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go func() { // ends with the process
		for n := 1; ; n++ {
			<-asked
			if err := writeHeap(filepath.Join(dir, strconv.Itoa(n))); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	}()
}

func writeHeap(name string) error {
	runtime.GC()
	runtime.GC() // what had a finaliser, and what pools kept, is garbage only now
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if os.Getenv(profileVariable) != "" {
		f, err := os.Create(name + ".heap")
		if err != nil {
			return err
		}
		if err := errors.Join(pprof.WriteHeapProfile(f), f.Close()); err != nil {
			return err
		}
	}
	if err := os.WriteFile(name+".new", fmt.Appendf(nil, "%d %d", m.HeapAlloc, m.HeapObjects), 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// heapLooks are looks at the heap of a process that writes into dir.
type heapLooks struct {
	dir  string
	pid  int
	last int
}

// look asks the process once.
func (h *heapLooks) look(ctx context.Context) (bytes, objects float64, err error) {
	if err := syscall.Kill(h.pid, syscall.SIGUSR1); err != nil {
		return 0, 0, err
	}
	h.last++
	for {
		text, err := os.ReadFile(filepath.Join(h.dir, strconv.Itoa(h.last)))
		if err == nil {
			_, err = fmt.Sscan(string(text), &bytes, &objects)
			return bytes, objects, err
		}
		if ctx.Err() != nil {
			return 0, 0, errors.Join(err, context.Cause(ctx))
		}
		moment(10 * time.Millisecond)
	}
}

// memoryBy is what the kernel counts for a process, in bytes (proc_pid_status(5)): by name, RssAnon, RssFile and RssShmem.
func memoryBy(pid int) (map[string]float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil, err
	}
	found := make(map[string]float64)
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		if !strings.HasPrefix(name, "Rss") {
			continue
		}
		kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		found[name] = kib * 1024
	}
	if found["RssAnon"] == 0 {
		return nil, errors.New("the kernel does not tell RssAnon")
	}
	return found, nil
}
