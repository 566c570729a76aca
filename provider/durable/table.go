package durable

import (
	"bytes"
	"context"
	"maps"
	"sync"
)

// Table is small texts by key that several processes share: API tokens, shares, keys. Each process has all rows in memory, and sees what others
// change within a second, as long as it can reach the servers that have the table. The methods are safe for concurrent use.
//
// A user keeps what it made of the rows, and makes it again when Version is another one.
type Table interface {
	// Name is what people know the table by, in messages.
	Name() string

	// Rows returns the rows as this process knows them, without a call. The caller must not change the map or the texts. version grows with each
	// change of a row, by anybody.
	Rows() (rows map[string][]byte, version uint64)

	// Version is that of Rows. It costs no more than a look at a number.
	Version() uint64

	// Changed is closed at the next change of a row of any table.
	Changed() <-chan struct{}

	// Fresh reports whether this process knows the rows of the last seconds. If not, others may have removed rows meanwhile.
	Fresh() bool

	// Refresh reads what others have changed up to now.
	Refresh(ctx context.Context) error

	// Change replaces the text of a row by compare and set. change gets the newest text, or nil, and returns what replaces it; nil removes the row. It
	// may be called several times, also with what it has returned itself, and must neither block nor call the table. If change fails, its error is returned, and nothing has
	// changed. After any other error nobody knows whether the row has changed. When Change returns, Rows has its result.
	Change(ctx context.Context, key string, change func(old []byte) ([]byte, error)) error
}

// MemoryTable is a Table that ends with the process. The zero MemoryTable is empty.
type MemoryTable struct {
	mu      sync.Mutex
	rows    map[string][]byte
	version uint64
	changed chan struct{} // nil: nobody waits
}

var _ Table = (*MemoryTable)(nil)

func (t *MemoryTable) Name() string { return "memory" }

func (t *MemoryTable) Rows() (map[string][]byte, uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rows, t.version
}

func (t *MemoryTable) Version() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.version
}

func (t *MemoryTable) Changed() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return t.changed
}

func (t *MemoryTable) Fresh() bool { return true }

func (t *MemoryTable) Refresh(ctx context.Context) error { return context.Cause(ctx) }

func (t *MemoryTable) Change(_ context.Context, key string, change func(old []byte) ([]byte, error)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	old, ok := t.rows[key]
	text, err := change(old)
	if err != nil || bytes.Equal(text, old) && ok == (text != nil) {
		return err
	}
	next := maps.Clone(t.rows)
	if next == nil {
		next = make(map[string][]byte)
	}
	if next[key] = bytes.Clone(text); text == nil {
		delete(next, key)
	}
	t.rows, t.version = next, t.version+1
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
	return nil
}
