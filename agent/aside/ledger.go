package aside

import (
	"errors"
	"sync"

	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Most is how many side questions of one session run in parallel.
const Most = 4

// ErrFull says that Most side questions of the session run.
var ErrFull = errors.New("too many side questions of this session run")

// Ledger counts the side questions of one loaded session. It is safe for concurrent use.
type Ledger struct {
	book *Book
	id   session.ID

	mu      sync.Mutex
	running int
	pending budget.Used // the estimated prompts of those that run
}

// NewLedger returns the ledger of a session, which begins with what the book has of earlier side questions.
func NewLedger(book *Book, id session.ID) *Ledger { return &Ledger{book: book, id: id} }

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

// End gives the place back, and adds what the call used to the book. sent is as in Begin. The error is that of [Book.Add].
func (l *Ledger) End(sent budget.Used, used provider.Usage) error {
	err := l.book.Add(l.id, used)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	l.pending = l.pending.Minus(sent)
	return err
}

// Running is the number of calls that run.
func (l *Ledger) Running() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running
}

// Used is what all calls used so far, and the estimated prompts of those that run, as budgets count it.
func (l *Ledger) Used() budget.Used {
	used := budget.Of(l.book.Used(l.id))
	l.mu.Lock()
	defer l.mu.Unlock()
	return used.Plus(l.pending)
}
