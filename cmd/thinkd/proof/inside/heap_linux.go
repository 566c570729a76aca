package inside

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"syscall"
)

// HeapVariable names the directory into which the program writes, each time it gets SIGUSR1, what its heap holds: N has
// the bytes and the number of objects in use. Garbage is collected before, so that both are of what is reachable, and not of
// when the last collection was. Where it writes profiles (see profiled) N.heap is one, for `go tool pprof -base`.
const HeapVariable = "THINKD_TEST_HEAP"

// profiled is set where profiles are written.
const profiled = "THINKD_PROFILE"

// offerHeap lets this process be asked, if it was started for that.
func offerHeap() {
	dir := os.Getenv(HeapVariable)
	if dir == "" {
		return
	}
	if os.Getenv(profiled) != "" {
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
	if os.Getenv(profiled) != "" {
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
