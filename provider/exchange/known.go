package exchange

import (
	"sync"

	"github.com/thinkd/thinkd/provider/refusal"
)

// limits is what an address has said of its models in refusals, for as long as its adapter lives.
type limits struct {
	mu    sync.Mutex
	known map[string]refusal.Room
}

// modelsMost is for how many models limits are remembered: an address with more than that makes them up.
const modelsMost = 1000

func (l *limits) of(model string) refusal.Room {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[model]
}

func (l *limits) learn(model string, said refusal.Room) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[string]refusal.Room{}
	}
	if _, ok := l.known[model]; !ok && len(l.known) >= modelsMost {
		return
	}
	was := l.known[model]
	l.known[model] = refusal.Room{Window: lower(was.Window, said.Window), Output: lower(was.Output, said.Output)}
}

// lower returns the smaller of two numbers; 0 stands for no number.
func lower(a, b int) int {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
