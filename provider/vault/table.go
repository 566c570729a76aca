package vault

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	"github.com/thinkd/thinkd/provider/durable"
)

// Table is a [durable.Table] whose texts are encrypted, each with a data key of its own, and bound to its row. The keys of rows are not. All processes
// that share the table need the same master key. [OpenTable] makes one.
type Table struct {
	durable.Table
	name    string
	masters Masters
	log     *slog.Logger

	mu      sync.Mutex
	read    bool
	version uint64
	plain   map[string][]byte // of version; replaced as a whole
}

// checkRow is a row that says which master key the table has before there is any other row.
const checkRow = "master key"

// OpenTable encrypts the texts of t, under a name that they are bound to. A table that another master key has encrypted is an error, also if it has no
// rows yet. Rows that are encrypted with a key that is not the first are encrypted anew: rotated says so. Errors do not quote what is stored.
func OpenTable(ctx context.Context, t durable.Table, name string, masters Masters, log *slog.Logger) (s *Table, rotated bool, err error) {
	s = &Table{Table: t, name: name, masters: masters, log: log}
	err = t.Change(ctx, checkRow, func(old []byte) ([]byte, error) {
		if old != nil {
			return old, nil
		}
		return s.seal(checkRow, []byte("this table is encrypted"))
	})
	if err != nil {
		return nil, false, err
	}
	rows, _ := t.Rows()
	var old []string
	for key, text := range rows { // all of them, before any is changed
		_, first, err := s.open(key, text)
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", t.Name(), err)
		}
		if !first {
			old = append(old, key)
		}
	}
	for _, key := range old {
		if err := s.anew(ctx, key); err != nil {
			return nil, false, err
		}
	}
	return s, len(old) > 0, nil
}

// anew encrypts a row with the first of the master keys.
func (t *Table) anew(ctx context.Context, key string) error {
	return t.Table.Change(ctx, key, func(old []byte) ([]byte, error) {
		if old == nil {
			return nil, nil
		}
		text, first, err := t.open(key, old)
		if err != nil || first {
			return old, err
		}
		return t.seal(key, text)
	})
}

// bound is what a text is bound to.
func (t *Table) bound(key string) string { return t.name + "\x00" + key }

// seal encrypts a text with a new data key.
func (t *Table) seal(key string, text []byte) ([]byte, error) {
	v := Value{name: t.bound(key), masters: t.masters}
	rand.Read(v.data[:]) // never fails
	var err error
	if v.wrapped, err = encrypt(t.masters.keys[0], forKey+v.name, v.data[:]); err != nil {
		return nil, err
	}
	ciphertext, err := encrypt(v.data, forText+v.name, text)
	if err != nil {
		return nil, err
	}
	return json.Marshal(sealed{version, mark(t.masters.keys[0]), v.wrapped, ciphertext})
}

func (t *Table) open(key string, text []byte) (plain []byte, first bool, err error) {
	stored, ok := readSealed(text)
	if !ok {
		return nil, false, fmt.Errorf("row %q is not encrypted", key)
	}
	return (&Value{name: t.bound(key), masters: t.masters}).open(stored)
}

// Rows decrypts the rows. One that cannot be decrypted is left out, and logged: another process has encrypted it with a key that this one does not have.
func (t *Table) Rows() (map[string][]byte, uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.read && t.version == t.Table.Version() {
		return t.plain, t.version
	}
	rows, version := t.Table.Rows()
	plain := make(map[string][]byte, len(rows))
	for key, text := range rows {
		if key == checkRow {
			continue
		}
		if text, _, err := t.open(key, text); err != nil {
			t.log.Error("a stored text cannot be read", "table", t.Name(), "err", err)
		} else {
			plain[key] = text
		}
	}
	t.read, t.version, t.plain = true, version, plain
	return plain, version
}

// Change implements [durable.Table].
func (t *Table) Change(ctx context.Context, key string, change func(old []byte) ([]byte, error)) error {
	if key == checkRow {
		return fmt.Errorf("%s: the row %q is the table's own", t.Name(), key)
	}
	return t.Table.Change(ctx, key, func(old []byte) (next []byte, err error) {
		var before []byte
		if old != nil {
			if before, _, err = t.open(key, old); err != nil {
				return nil, err
			}
		}
		text, err := change(before)
		switch {
		case err != nil || text == nil:
			return nil, err
		case old != nil && bytes.Equal(text, before): // another encryption of it would be a change
			return old, nil
		}
		return t.seal(key, text)
	})
}
