package gate

import (
	"sync"

	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/provider"
)

// Sum is what the calls of one session have used, and what those that run have reserved. It is safe for concurrent use.
type Sum struct {
	mu       sync.Mutex
	used     budget.Used
	held     map[*reservation]bool
	unlogged []func() // of settled calls: to be called when the log has them
}

// reservation is what a call that runs counts for in the Sum of its session, whose lock guards it.
type reservation struct{ used budget.Used }

// NewSum returns the sum of a session that has used so much.
func NewSum(used provider.Usage) *Sum {
	return &Sum{used: budget.Of(used), held: make(map[*reservation]bool)}
}

// Used is what is used or reserved.
func (s *Sum) Used() budget.Used { return s.without(nil) }

// without is Used except one reservation.
func (s *Sum) without(one *reservation) budget.Used {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := s.used
	for h := range s.held {
		if h != one {
			sum = sum.Plus(h.used)
		}
	}
	return sum
}

func (s *Sum) hold(h *reservation, most provider.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.used, s.held[h] = budget.Of(most), true
}

func (s *Sum) settle(h *reservation, used provider.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, h)
	s.used = s.used.Plus(budget.Of(used))
}

// later has f called by Logged.
func (s *Sum) later(f func()) {
	if f == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlogged = append(s.unlogged, f)
}

// Logged says that the log, or the ledger, has what the settled calls used. The caller calls it after each Append, also after one that failed: what the
// log does not have then counts for nobody.
func (s *Sum) Logged() {
	s.mu.Lock()
	list := s.unlogged
	s.unlogged = nil
	s.mu.Unlock()
	for _, f := range list {
		f()
	}
}
