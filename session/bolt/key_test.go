package bolt

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/storetest"
)

// TestKeys makes keys of random names from an alphabet in which names and lengths look alike: no two sessions have the same key, a key
// gives back its session, and the numbers of an owner are found among its own.
func TestKeys(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		text := make([]byte, r.IntN(4))
		for i := range text {
			text[i] = []byte{0, 1, 2, 'a', '0', 0xff, 0x80}[r.IntN(7)]
		}
		if r.IntN(20) == 0 {
			return string(bytes.Repeat(text, 100)) // its length takes two bytes
		}
		return string(text)
	}
	refs, indexed := make(map[rowKey]session.Ref), make(map[string]session.Ref)
	const n = 20_000
	for range n {
		ref := session.Ref{Owner: session.Owner{Tenant: word(), User: word()}, ID: session.ID(word())}
		key := keyOf(ref)
		if before, ok := refs[key]; ok && before != ref {
			t.Fatalf("%#v and %#v have the same key", before, ref)
		}
		refs[key] = ref
		if got := key.ref(); got != ref {
			t.Fatalf("the key of %#v is that of %#v", ref, got)
		}
		if got := key.of("x"); got != keyOf(session.Ref{Owner: ref.Owner, ID: "x"}) {
			t.Fatalf("another session of %#v has the key %q", ref, string(got))
		}
		change := r.Uint64N(4)
		in := indexKey(change, key)
		if before, ok := indexed[string(in)]; ok && before != ref {
			t.Fatalf("%#v and %#v have the same place in the index", before, ref)
		}
		indexed[string(in)] = ref
		if got, id, ok := readNumber(ownerKey(ref.Owner), in); !ok || got != change || session.ID(id) != ref.ID {
			t.Fatalf("change %d of %#v is read as %d of %q, %v", change, ref, got, id, ok)
		}
		other := session.Owner{Tenant: word(), User: word()}
		if _, _, ok := readNumber(ownerKey(other), in); ok && other != ref.Owner {
			t.Fatalf("a change of %#v is listed for %s", ref, other)
		}
		if at := numberKey(ownerKey(ref.Owner), maxNumber); bytes.Compare(in, at) >= 0 {
			t.Fatalf("a change of %#v is behind its owner's", ref)
		}
	}
	if len(refs) < n/10 {
		t.Errorf("only %d sessions were tried", len(refs))
	}
}

func FuzzSplitOwner(f *testing.F) {
	f.Add("\x01\x04acme\x03ann01K")
	f.Add("\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")
	f.Fuzz(func(t *testing.T, key string) {
		o, word, err := splitOwner(key)
		if err != nil {
			if !errors.Is(err, session.ErrDamaged) {
				t.Error(err)
			}
			return
		}
		if o2, word2, err := splitOwner(owned(o, word)); o2 != o || word2 != word || err != nil {
			t.Errorf("%q of %s is read as %q of %s, %v", word, o, word2, o2, err)
		}
	})
}

// TestOwnersAreKept closes, checks, copies and compacts a store of several owners.
func TestOwnersAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	owners := []session.Owner{session.Operator, {Tenant: "acme", User: "ann"}, {Tenant: "acme", User: "bob"}, {Tenant: "a"}}
	check := func(what string, b *Store) {
		t.Helper()
		for n, owner := range owners {
			s := b.For(owner)
			storetest.Equal(t, what, storetest.Entries(t, s, storetest.ID(n)), []session.Entry{storetest.Said(storetest.TurnA, owner.String())})
			if m, ok, err := s.Creation(t.Context(), "stamp"); m.Session != storetest.ID(n) || !ok || err != nil {
				t.Errorf("%s: %s made %+v, %v, %v", what, owner, m, ok, err)
			}
			if page, _, err := s.List(t.Context(), session.Query{}); len(page) != 1 || err != nil {
				t.Errorf("%s: %s has %v, %v", what, owner, page, err)
			}
		}
	}
	b := openTest(t, dir)
	for n, owner := range owners {
		s := b.For(owner)
		storetest.Once(t, s, "stamp", n)
		storetest.Add(t, s, storetest.ID(n), storetest.Said(storetest.TurnA, owner.String()))
	}
	check("while open", b.Store)
	fresh := t.TempDir()
	report, err := b.Backup(t.Context(), filepath.Join(fresh, fileName))
	if err != nil || report.Sessions != len(owners) || report.Entries != len(owners) || len(report.Damaged) > 0 {
		t.Errorf("backup: %+v, %v", report, err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, after, err := Compact(t.Context(), b.path); err != nil || after.Sessions != len(owners) {
		t.Errorf("compact: %+v, %v", after, err)
	}
	check("compacted", openTest(t, dir).Store)
	check("the copy", openTest(t, fresh).Store)
}
