package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

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
		proof.Moment(10 * time.Millisecond)
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
