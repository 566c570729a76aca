package loaded

import (
	"context"
	"sync"

	"github.com/thinkd/thinkd/session"
)

// Model is a model of a server.
type Model struct{ At, ID string }

// Unload frees the memory of a model.
type Unload func(context.Context) error

// Models has the models that the sessions of a daemon use. It is safe for concurrent use. Its zero value is ready.
type Models struct {
	mu     sync.Mutex
	models map[Model]*use
}

type use struct {
	sessions map[session.ID]bool
	unload   Unload // nil: the last call left the time to the server
}

// Use notes that a session calls a model, up to Leave. unload is nil if the call leaves to the server how long it keeps the model: the
// last call decides, no matter which session makes it.
func (m *Models) Use(id session.ID, model Model, unload Unload) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.models == nil {
		m.models = make(map[Model]*use)
	}
	u := m.models[model]
	if u == nil {
		u = &use{sessions: make(map[session.ID]bool)}
		m.models[model] = u
	}
	u.sessions[id] = true
	u.unload = unload
}

// Rest forgets all sessions, at the end of the daemon. It returns how to unload the models that were to stay.
func (m *Models) Rest() (unload []Unload) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, u := range m.models {
		if u.unload != nil {
			unload = append(unload, u.unload)
		}
	}
	m.models = nil
	return unload
}

// Leave forgets a session that has ended. It returns how to unload the models that no session uses any more, and that were to stay.
func (m *Models) Leave(id session.ID) (unload []Unload) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for model, u := range m.models {
		if !u.sessions[id] {
			continue
		}
		if delete(u.sessions, id); len(u.sessions) > 0 {
			continue
		}
		delete(m.models, model)
		if u.unload != nil {
			unload = append(unload, u.unload)
		}
	}
	return unload
}
