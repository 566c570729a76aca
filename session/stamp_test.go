package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/thinkd/thinkd/provider/testgo"
)

func madeBy(stamp string, n int) Made {
	return Made{Stamp: Stamp{stamp, []byte{byte(n), 0, 255}}, Session: testID(n), Answer: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))}
}

func once(t testing.TB, s Store, stamp string, n int) Made {
	t.Helper()
	first, err := s.CreateOnce(t.Context(), Session{ID: testID(n), Title: stamp}, madeBy(stamp, n))
	if err != nil {
		t.Fatal(err)
	}
	return first
}

// remembered is what the store knows of an id; ok is false for nothing.
func remembered(t testing.TB, s Store, stamp string) (Made, bool) {
	t.Helper()
	m, ok, err := s.Made(t.Context(), stamp)
	if err != nil {
		t.Fatal(err)
	}
	return m, ok
}

func testCreateOnce(t *testing.T, s Store) {
	ctx := t.Context()
	if m, ok := remembered(t, s, "a"); ok {
		t.Errorf("nothing was made, and %+v is remembered", m)
	}
	words := []string{"a", "", "A", strings.Repeat("é", 128), "a\x00b", "t\x00\x00\x00\x00\x00\x00\x00\x01"}
	for i, word := range words {
		equal(t, "first", once(t, s, word, i), madeBy(word, i))
		equal(t, "second", once(t, s, word, i+100), madeBy(word, i))
	}
	for i, word := range words {
		m, ok := remembered(t, s, word)
		equal(t, "remembered", m, madeBy(word, i))
		record, err := s.Get(ctx, testID(i))
		if !ok || err != nil || record.Title != word {
			t.Errorf("%q: %v, %+v, %v", word, ok, record, err)
		}
		_, err = s.Get(ctx, testID(i+100))
		wantErr(t, "what the second would have made", err, ErrNotFound)
		add(t, s, testID(i), said(turnA, "x"))
	}
	create(t, s, Session{ID: testID(50)})
	_, err := s.CreateOnce(ctx, Session{ID: testID(50)}, madeBy("b", 50))
	wantErr(t, "an id that is taken", err, ErrExists)
	if m, ok := remembered(t, s, "b"); ok {
		t.Errorf("nothing was made, and %+v is remembered", m)
	}
	if _, err := s.CreateOnce(ctx, Session{}, madeBy("b", 51)); err == nil {
		t.Error("a session without an id was taken")
	}
	if _, err := s.CreateOnce(ctx, Session{ID: testID(52)}, Made{Stamp: Stamp{ID: "b"}, Answer: json.RawMessage("{")}); err == nil {
		t.Error("an answer that is no JSON was taken")
	}
	if err := s.Delete(ctx, testID(0)); err != nil {
		t.Fatal(err)
	}
	equal(t, "after the session is gone", once(t, s, "a", 60), madeBy("a", 0))
}

func testCreateOnceTogether(t *testing.T, s Store) {
	const stamps, each = 10, 8
	first := make([][]Made, stamps)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for n := range stamps * each {
		wg.Go(testgo.Guard(t, func() {
			m, err := s.CreateOnce(t.Context(), Session{ID: testID(n)}, madeBy(fmt.Sprint(n%stamps), n))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			first[n%stamps] = append(first[n%stamps], m)
		}))
	}
	wg.Wait()
	for i, list := range first {
		kept, ok := remembered(t, s, fmt.Sprint(i))
		if !ok {
			t.Errorf("%d is not remembered", i)
		}
		for _, m := range list {
			equal(t, "first", m, kept)
		}
	}
	if page, _, err := s.List(t.Context(), Query{Limit: 1000}); len(page) != stamps || err != nil {
		t.Errorf("%d sessions were made, want %d: %v", len(page), stamps, err)
	}
}

func testCreateOnceMany(t *testing.T, s Store) {
	const more = 20
	once(t, s, "oldest", 0)
	var wg sync.WaitGroup
	for i := range MaxStamps - 1 {
		wg.Go(testgo.Guard(t, func() { once(t, s, fmt.Sprint("old ", i), 1+i) }))
	}
	wg.Wait()
	if _, ok := remembered(t, s, "oldest"); !ok {
		t.Errorf("the first of %d is forgotten", MaxStamps)
	}
	for i := range more {
		once(t, s, fmt.Sprint("new ", i), MaxStamps+i)
	}
	if _, ok := remembered(t, s, "oldest"); ok {
		t.Errorf("the first of %d is remembered", MaxStamps+more)
	}
	left := 0
	for i := range MaxStamps - 1 {
		if _, ok := remembered(t, s, fmt.Sprint("old ", i)); ok {
			left++
		}
	}
	if left != MaxStamps-more {
		t.Errorf("%d of the old are remembered, want %d", left, MaxStamps-more)
	}
	equal(t, "an id that was forgotten", once(t, s, "oldest", 5000), madeBy("oldest", 5000))
	equal(t, "one of the newest", once(t, s, fmt.Sprint("new ", more-1), 5001), madeBy(fmt.Sprint("new ", more-1), MaxStamps+more-1))
}

// What was made by a stamp is there after a restart.
func TestMadeIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := openTest(t, dir)
	create(t, b, Session{ID: testID(9)})
	once(t, b, "a", 1)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = openTest(t, dir)
	equal(t, "after a restart", once(t, b, "a", 2), madeBy("a", 1))
	for i := range 10 {
		add(t, b, testID(1), Entry{Seq: uint64(i), Body: Setting{}})
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
		value := append([]byte(nil), tx.Bucket(madeBucket).Get(stampKey("a"))...)
		value[len(value)-1] ^= 1
		return tx.Bucket(madeBucket).Put(stampKey("a"), value)
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = OpenBolt(damaged, BoltOptions{})
	wantErr(t, "open", err, ErrDamaged)
}

func stamped(turn TurnID, stamp string) Entry {
	e := said(turn, "x")
	p := e.Body.(Prompt)
	p.Stamp = &Stamp{stamp, []byte(turn)}
	e.Body = p
	return e
}

func TestViewRemembersStamps(t *testing.T) {
	t.Parallel()
	v := NewView(Session{ID: testID(1)})
	turn := func(n int) TurnID { return TurnID(fmt.Sprint("turn ", n)) }
	const n = 2*MaxStamps + 7
	for i := range n {
		stamp := fmt.Sprint(i)
		if i == n-1 {
			stamp = "3" // comes again, long after it was forgotten
		}
		for _, e := range []Entry{said(turn(-1-i), "without"), stamped(turn(i), stamp)} {
			if err := v.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		if i == MaxStamps {
			if v.Stamped("0") != nil || v.Stamped("1") == nil {
				t.Error("after one too many, the oldest is not the one that is forgotten")
			}
		}
	}
	if len(v.stamps) != MaxStamps || len(v.stamped) != MaxStamps {
		t.Errorf("%d and %d are remembered", len(v.stamps), len(v.stamped))
	}
	for i := range n - 1 {
		got := v.Stamped(fmt.Sprint(i))
		want := i >= n-MaxStamps
		switch {
		case i == 3:
			if got == nil || got.ID != turn(n-1) {
				t.Errorf("3 is %+v", got)
			}
		case (got != nil) != want || got != nil && got.ID != turn(i):
			t.Fatalf("%d is %+v", i, got)
		}
	}
	err := (Stamp{"a", []byte{1}}).Repeats(Stamp{"a", []byte{2}})
	wantErr(t, "another request", err, ErrReused)
	wantErr(t, "the same", (Stamp{"a", []byte{1}}).Repeats(Stamp{"a", []byte{1}}), nil)
}

// After a commit that failed, what is there decides: the session of the first request, or the word that there was one.
func TestCreateOnceLanded(t *testing.T) {
	t.Parallel()
	b := openTest(t, t.TempDir())
	once(t, b, "a", 1)
	change := func(stamp string, n int, first Made) *onceChange {
		return &onceChange{createChange: createChange{Session: Session{ID: testID(n)}}, made: madeBy(stamp, n), first: first}
	}
	for _, test := range []struct {
		name string
		*onceChange
		want bool
	}{
		{"the first", change("a", 1, madeBy("a", 1)), true},
		{"a later one", change("a", 2, madeBy("a", 1)), true},
		{"a later one, whose first is not there", change("a", 2, madeBy("a", 3)), false},
		{"one that is not there", change("b", 2, madeBy("b", 2)), false},
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
