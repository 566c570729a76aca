package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
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
