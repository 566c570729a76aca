package bolt

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/storetest"
)

// What was made by a stamp is there after a restart.
func TestMadeIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := openTest(t, dir)
	storetest.Create(t, b, session.Session{ID: storetest.ID(9)})
	storetest.Once(t, b, "a", 1)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = openTest(t, dir)
	storetest.Equal(t, "after a restart", storetest.Once(t, b, "a", 2), storetest.CreationBy("a", 1))
	for i := range 10 {
		storetest.Add(t, b, storetest.ID(1), session.Entry{Seq: uint64(i), Body: session.Setting{}})
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}

	// Damage of it is seen before anybody relies on it.
	whole, err := os.ReadFile(b.path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := t.TempDir()
	if err := os.WriteFile(filepath.Join(damaged, fileName), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(filepath.Join(damaged, fileName), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		value := append([]byte(nil), tx.Bucket(creationBucket).Get(stampKey(session.Operator, "a"))...)
		value[len(value)-1] ^= 1
		return tx.Bucket(creationBucket).Put(stampKey(session.Operator, "a"), value)
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = openStore(damaged, Options{})
	storetest.WantErr(t, "open", err, session.ErrDamaged)
}

// After a commit that failed, what is there decides: the session of the first request, or the word that there was one.
func TestCreateOnceLanded(t *testing.T) {
	t.Parallel()
	b := openTest(t, t.TempDir())
	storetest.Once(t, b, "a", 1)
	change := func(stamp string, n int, first session.Creation) *onceChange {
		return &onceChange{createChange: createChange{Session: session.Session{ID: storetest.ID(n)}}, made: storetest.CreationBy(stamp, n), first: first}
	}
	for _, test := range []struct {
		name string
		*onceChange
		want bool
	}{
		{"the first", change("a", 1, storetest.CreationBy("a", 1)), true},
		{"a later one", change("a", 2, storetest.CreationBy("a", 1)), true},
		{"a later one, whose first is not there", change("a", 2, storetest.CreationBy("a", 3)), false},
		{"one that is not there", change("b", 2, storetest.CreationBy("b", 2)), false},
	} {
		if err := b.view(func(tx *bbolt.Tx) error {
			got, err := test.landed(tx)
			if got != test.want {
				t.Errorf("%s: %v", test.name, got)
			}
			return err
		}); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
