package builtin

import (
	"context"
	"sync"
)

// locks let only one call change a file.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	turn  chan struct{} // has a token while nobody holds it
	users int
}

// take waits for a file's lock.
func (l *locks) take(ctx context.Context, path string) (release func(), err error) {
	l.mu.Lock()
	k := l.held[path]
	if k == nil {
		k = &lock{turn: make(chan struct{}, 1)}
		k.turn <- struct{}{}
		l.held[path] = k
	}
	k.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.held, path)
		}
	}
	select {
	case <-k.turn:
		return func() { k.turn <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
