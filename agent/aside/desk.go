package aside

import (
	"errors"
	"sync"
)

// Most is how many side questions of one session run in parallel.
const Most = 4

// ErrFull says that Most side questions of the session run.
var ErrFull = errors.New("too many side questions of this session run")

// Desk counts the side questions of one loaded session that run. The zero Desk has none. It is safe for concurrent use.
type Desk struct {
	mu      sync.Mutex
	running int
}

// Begin takes a place for a call. Error: ErrFull.
func (d *Desk) Begin() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running == Most {
		return ErrFull
	}
	d.running++
	return nil
}

// End gives the place back.
func (d *Desk) End() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running--
}

// Running is the number of calls that run.
func (d *Desk) Running() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.running
}
