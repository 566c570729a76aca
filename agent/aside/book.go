package aside

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/session"
)

// maxBook is how many sessions a Book has. Beyond it the oldest sessions are forgotten: their budgets no longer count what side
// questions used.
const maxBook = 10_000

// Book has what the side questions of sessions used. It is no part of their logs, because a side question leaves a session unchanged.
// It is safe for concurrent use.
type Book struct {
	mu    sync.Mutex
	value durable.Value
	used  map[session.ID]provider.Usage
}

// NewBook returns an empty book that ends with the process.
func NewBook() *Book {
	return &Book{value: new(durable.Memory), used: make(map[session.ID]provider.Usage)}
}

// OpenBook reads a book. If the text is damaged, the book is empty, and the error says so: the daemon works without it.
func OpenBook(v durable.Value) (*Book, error) {
	b := &Book{value: v, used: make(map[session.ID]provider.Usage)}
	text, err := v.Get()
	if err == nil && text != nil {
		err = json.Unmarshal(text, &b.used)
	}
	if err != nil || b.used == nil {
		b.used = make(map[session.ID]provider.Usage)
		if err != nil {
			err = fmt.Errorf("what side questions used is forgotten: %s: %w", v.Name(), err)
		}
	}
	return b, err
}

// Used is what the side questions of a session used so far.
func (b *Book) Used(id session.ID) provider.Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used[id]
}

// Add counts a side question. It is durable on return. After an error it counts until the daemon exits.
func (b *Book) Add(id session.ID, used provider.Usage) error {
	if used.Input+used.Output == 0 && used.Cost == nil && used.Premium == (provider.Usage{}).Premium {
		return nil
	}
	used.Context = nil
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used[id] = b.used[id].Add(used)
	if len(b.used) > maxBook { // ids begin with the time of their session
		delete(b.used, slices.Min(slices.Collect(maps.Keys(b.used))))
	}
	return b.put()
}

// Forget removes a session that was deleted.
func (b *Book) Forget(id session.ID) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.used[id]; !ok {
		return nil
	}
	delete(b.used, id)
	return b.put()
}

func (b *Book) put() error {
	text, err := json.Marshal(b.used)
	if err != nil {
		return err
	}
	return b.value.Put(text)
}
