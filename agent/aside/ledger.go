package aside

import (
	"errors"
	"sync"

	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/provider"
)

// Most is how many side questions of one session run in parallel.
const Most = 4

// ErrFull says that Most side questions of the session run.
var ErrFull = errors.New("too many side questions of this session are running")

// Ledger counts the side questions of one session. It is safe for concurrent use. Its zero value is ready.
type Ledger struct {
	mu      sync.Mutex
	running int
	pending budget.Used // the estimated prompts of those that run
	used    provider.Usage
}

// Begin takes a place for a call whose prompt is estimated at sent. Error: ErrFull.
func (l *Ledger) Begin(sent budget.Used) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running == Most {
		return ErrFull
	}
	l.running++
	l.pending = l.pending.Plus(sent)
	return nil
}

// End gives the place back, and adds what the call used. sent is as in Begin.
func (l *Ledger) End(sent budget.Used, used provider.Usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	l.pending = l.pending.Minus(sent)
	l.used = l.used.Add(used)
}

// Running is the number of calls that run.
func (l *Ledger) Running() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running
}

// Unused reports whether no call runs, and none has used anything. A nil Ledger is unused.
func (l *Ledger) Unused() bool {
	if l == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running == 0 && budget.Of(l.used) == budget.Used{}
}

// Used is what all calls used so far, and the estimated prompts of those that run, as budgets count it.
func (l *Ledger) Used() budget.Used {
	l.mu.Lock()
	defer l.mu.Unlock()
	return budget.Of(l.used).Plus(l.pending)
}
