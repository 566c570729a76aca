package vault

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/durable"
)

func openTable(t *testing.T, kept durable.Table, m Masters) (s *Table, rotated bool) {
	t.Helper()
	s, rotated, err := OpenTable(t.Context(), kept, "keys", m, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s, rotated
}

func put(t *testing.T, s durable.Table, key, text string) {
	t.Helper()
	err := s.Change(t.Context(), key, func([]byte) ([]byte, error) {
		if text == "" {
			return nil, nil
		}
		return []byte(text), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, s durable.Table, texts map[string]string) {
	t.Helper()
	rows, _ := s.Rows()
	for key, text := range texts {
		if string(rows[key]) != text {
			t.Errorf("row %s is %q, want %q", key, rows[key], text)
		}
	}
	if len(rows) != len(texts) {
		t.Errorf("%d rows: %q", len(rows), rows)
	}
}

// Processes with the same key share texts, of which nothing is stored. A text that does not change is not stored again.
func TestTable(t *testing.T) {
	kept := new(durable.MemoryTable)
	a, _ := openTable(t, kept, masters(t, line('a')))
	b, rotated := openTable(t, kept, masters(t, line('a')))
	put(t, a, "one", secret)
	put(t, b, "two", secret+"2")
	put(t, b, "three", secret)
	put(t, a, "three", "")
	for _, s := range []*Table{a, b} {
		want(t, s, map[string]string{"one": secret, "two": secret + "2"})
	}
	before := kept.Version()
	if put(t, b, "one", secret); kept.Version() != before || rotated {
		t.Error("a text that is the same is stored again")
	}
	refused := errors.New("refused")
	if err := a.Change(t.Context(), "one", func(old []byte) ([]byte, error) {
		if string(old) != secret {
			t.Errorf("the old text is %q", old)
		}
		return nil, refused
	}); !errors.Is(err, refused) {
		t.Error(err)
	}
	rows, _ := kept.Rows()
	for key, text := range rows {
		if strings.Contains(string(text), "sk-") || !Sealed(text) {
			t.Errorf("row %s: %s", key, text)
		}
	}
	if err := a.Change(t.Context(), checkRow, nil); err == nil {
		t.Error("the row of the table itself can be changed")
	}
}

// A process with another key is refused, also if there is no row yet, and so is a row that was put in place of another.
func TestOtherKey(t *testing.T) {
	kept := new(durable.MemoryTable)
	a, _ := openTable(t, kept, masters(t, line('a')))
	for _, key := range []string{"", "one"} {
		if key != "" {
			put(t, a, key, secret)
		}
		_, _, err := OpenTable(t.Context(), kept, "keys", masters(t, line('b')), slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), "which is not in the test") {
			t.Errorf("with another key: %v", err)
		}
	}
	rows, _ := kept.Rows()
	swapped := rows["one"]
	put(t, kept, "two", string(swapped))
	want(t, a, map[string]string{"one": secret})
	if _, _, err := OpenTable(t.Context(), kept, "keys", masters(t, line('a')), slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a text of another row is read")
	}
}

// A new key as the first one encrypts all rows anew. A process that has both goes on, and one that has the old one alone sees no rows.
func TestRotateTable(t *testing.T) {
	kept := new(durable.MemoryTable)
	old, _ := openTable(t, kept, masters(t, line('a')))
	both, _ := openTable(t, kept, masters(t, line('a')+line('b')))
	put(t, old, "one", secret)
	next, rotated := openTable(t, kept, masters(t, line('b')+line('a')))
	if !rotated {
		t.Error("nothing was encrypted anew")
	}
	want(t, next, map[string]string{"one": secret})
	want(t, both, map[string]string{"one": secret})
	want(t, old, map[string]string{})
	openTable(t, kept, masters(t, line('b')))
}
