package jet

import (
	"sync"

	"github.com/thinkd/thinkd/session"
)

// losses are the sessions of which a claim or an append of this node found that the store has lost messages. A claim is compared with the second copy
// after it is stored: only then nobody else can append. A session that is known to be short is compared before as well, so that each try to open it
// does not add a message to its log.
type losses struct {
	mu sync.Mutex
	of map[session.Ref]struct{}
}

// maxLosses is how many are remembered. Of more, each try adds a message.
const maxLosses = 10_000

func newLosses() *losses { return &losses{of: make(map[session.Ref]struct{})} }

func (l *losses) add(ref session.Ref) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.of) < maxLosses {
		l.of[ref] = struct{}{}
	}
}

func (l *losses) has(ref session.Ref) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.of[ref]
	return ok
}

func (l *losses) remove(ref session.Ref) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, ref)
}
