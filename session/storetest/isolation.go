package storetest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
)

// isolationTests are about several owners in one store.
var isolationTests = []struct {
	name string
	run  func(*testing.T, session.Store)
}{
	{"another owner's session", testForeign},
	{"another owner's fork", testForeignFork},
	{"stamps of several owners", testStampsOfOwners},
	{"lists of several owners", testListsOfOwners},
	{"names of owners", testOwnerNames},
	{"forgotten owner", testForget},
}

var ann, bob = session.Owner{Tenant: "acme", User: "ann"}, session.Owner{Tenant: "acme", User: "bob"}

// testForeign: the id of another owner's session is that of no session, whatever is asked, and nothing changes.
func testForeign(t *testing.T, s session.Store) {
	ctx, id := t.Context(), ID(1)
	ours := s.For(ann)
	Create(t, ours, session.Session{ID: id, Title: "secret"})
	log := Claim(t, ours, id)
	AddTo(t, log, Said(TurnA, "secret"), Started(TurnA))
	ref := session.BlockRef{Turn: TurnA, Message: MsgA, Number: 0, Kind: provider.KindText}
	log.Checkpoint(ref, 0, "half")
	grown := []session.Growth{{BlockRef: ref, Text: "half"}}
	Stored(t, log, grown)
	record, err := ours.Get(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	entries := Entries(t, ours, id)
	for _, owner := range []session.Owner{bob, session.Operator, {Tenant: "acme"}, {User: "ann"}, {Tenant: "other", User: "ann"}} {
		theirs := s.For(owner)
		_, err := theirs.Get(ctx, id)
		WantErr(t, "get", err, session.ErrNotFound)
		_, err = theirs.Entries(ctx, id, 0, 10)
		WantErr(t, "entries", err, session.ErrNotFound)
		_, err = theirs.Claim(ctx, id)
		WantErr(t, "claim", err, session.ErrNotFound)
		_, err = session.Load(ctx, theirs, id)
		WantErr(t, "load", err, session.ErrNotFound)
		_, err = session.Recover(ctx, theirs, log, id, time.UnixMilli(1))
		WantErr(t, "recover", err, session.ErrNotFound)
		if err := theirs.Delete(ctx, id); err != nil {
			t.Errorf("delete: %v", err)
		}
		for _, word := range []string{"\x01\x04acme\x03ann", "\x00", "acme.ann.", "acme/ann/", "../ann/"} { // ids that look like another owner's
			like := session.ID(word) + id
			_, err := theirs.Get(ctx, like)
			WantErr(t, "get of "+string(like), err, session.ErrNotFound)
			_, err = theirs.Claim(ctx, like)
			WantErr(t, "claim of "+string(like), err, session.ErrNotFound)
		}
		page, next, err := theirs.List(ctx, session.Query{})
		if len(page) != 0 || next != "" || err != nil {
			t.Errorf("list: %v, %q, %v", page, next, err)
		}
		page, _, err = theirs.List(ctx, session.Query{Filter: session.Filter{Text: "secret"}})
		if len(page) != 0 || err != nil {
			t.Errorf("search: %v, %v", page, err)
		}
	}
	AddTo(t, log) // nobody has fenced it
	after, err := ours.Get(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	Equal(t, "record", after, record)
	Equal(t, "entries", Entries(t, ours, id), entries)
	Stored(t, log, grown)
}

// testForeignFork: a fork shares logs of its owner only, and a log that outlives its session stays that owner's.
func testForeignFork(t *testing.T, s session.Store) {
	ctx, parent := t.Context(), ID(1)
	ours, theirs := s.For(ann), s.For(bob)
	Conversed(t, ours, parent)
	view, err := session.Load(ctx, ours, parent)
	if err != nil {
		t.Fatal(err)
	}
	fork, ok, err := view.Fork(MsgA)
	if !ok || err != nil {
		t.Fatalf("fork: %v, %v", ok, err)
	}
	fork.ID = ID(2)
	WantErr(t, "a fork of another owner's session", theirs.Create(ctx, fork), session.ErrNotFound)
	_, err = theirs.CreateOnce(ctx, fork, CreationBy("a", 2))
	WantErr(t, "the same, stamped", err, session.ErrNotFound)
	if _, ok := remembered(t, theirs, "a"); ok {
		t.Error("the stamp of what was refused is remembered")
	}
	Create(t, ours, fork)
	if err := ours.Delete(ctx, parent); err != nil {
		t.Fatal(err)
	}
	_, err = theirs.Entries(ctx, parent, 0, 10)
	WantErr(t, "the log of a deleted session", err, session.ErrNotFound)
	WantErr(t, "a fork of it", theirs.Create(ctx, fork), session.ErrNotFound)
	if err := theirs.Delete(ctx, fork.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Load(ctx, ours, fork.ID); err != nil {
		t.Errorf("load of the fork: %v", err)
	}
}

// testStampsOfOwners: each owner has stamps of its own, and pushes out none of another.
func testStampsOfOwners(t *testing.T, s session.Store) {
	ctx := t.Context()
	owners := []session.Owner{session.Operator, ann, bob}
	for i, owner := range owners {
		Equal(t, "first", Once(t, s.For(owner), "a", i), CreationBy("a", i))
		Equal(t, "second", Once(t, s.For(owner), "a", i+100), CreationBy("a", i))
	}
	// The stamp of one is spelled like that of another.
	for i, word := range []string{"\x01\x04acme\x03ann" + "a", "\x04acme\x03ann" + "a", "acme\x00ann\x00a", "acme.ann.a", "acme/ann/a"} {
		for j, owner := range owners {
			n := 200 + 10*i + j
			Equal(t, "a stamp like another", Once(t, s.For(owner), word, n), CreationBy(word, n))
		}
	}
	// As many as a store remembers of one owner leave those of others alone.
	var wg sync.WaitGroup
	for i := range session.MaxStamps + 1 {
		wg.Go(testgo.Guard(t, func() { Once(t, s.For(ann), "more "+string(ID(i)), 1000+i) }))
	}
	wg.Wait()
	for i, owner := range owners {
		m, ok := remembered(t, s.For(owner), "a")
		if want := owner != ann; ok != want {
			t.Errorf("%s: remembered: %v, want %v", owner, ok, want)
		} else if ok {
			Equal(t, "remembered", m, CreationBy("a", i))
		}
	}
	if _, _, err := s.For(session.Owner{Tenant: "nobody"}).Creation(ctx, "a"); err != nil {
		t.Error(err)
	}
}

// testListsOfOwners: pages of one owner do not depend on what others do between them.
func testListsOfOwners(t *testing.T, s session.Store) {
	ctx := t.Context()
	owners := []session.Owner{bob, session.Operator, ann, {Tenant: "acme2"}, {User: "x"}}
	const each = 30
	for i := range each {
		for j, owner := range owners {
			Create(t, s.For(owner), session.Session{ID: ID(i*10 + j), CWD: "/" + owner.User})
		}
	}
	for j, owner := range owners {
		q := session.Query{Limit: 7}
		var got, want []session.ID
		for i := range each {
			want = append(want, ID((each-1-i)*10+j))
		}
		for {
			page, next, err := s.For(owner).List(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			for _, record := range page {
				got = append(got, record.ID)
			}
			if next == "" {
				break
			}
			q.Cursor = next
			other := owners[(j+1)%len(owners)]
			Add(t, s.For(other), ID((j+1)%len(owners)), session.Entry{Time: 1, Body: session.Setting{}})
			Equal(t, "page", len(page), q.Limit)
		}
		if j > 0 { // its oldest session changed during the list of the owner before, and is its newest
			want = append(want[each-1:], want[:each-1]...)
		}
		Equal(t, owner.String(), got, want)
	}
}

// Lister is a store that lists owners.
type Lister interface {
	session.Store
	Owners(ctx context.Context) ([]session.Owner, error)
}

func testOwners(t *testing.T, s session.Local) { TestOwners(t, s) }

// TestOwners: an owner is listed as long as it has a session. It closes the store.
func TestOwners(t *testing.T, s Lister) {
	ctx := t.Context()
	owners := func() []session.Owner {
		list, err := s.Owners(ctx)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(list, func(a, b session.Owner) int {
			return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.User, b.User))
		})
		return list
	}
	Equal(t, "nobody", owners(), []session.Owner(nil))
	want := []session.Owner{session.Operator, {User: "u"}, {Tenant: "a"}, ann, bob, {Tenant: strings.Repeat("x", 255)}}
	for _, owner := range want {
		for i := range 3 {
			Create(t, s.For(owner), session.Session{ID: ID(i)})
		}
	}
	Equal(t, "all", owners(), want)
	for len(want) > 0 {
		first := s.For(want[0])
		for i := range 3 {
			Equal(t, "those left", owners(), want)
			if err := first.Delete(ctx, ID(i)); err != nil {
				t.Fatal(err)
			}
		}
		want = want[1:]
	}
	Equal(t, "none left", owners(), []session.Owner(nil))
	why := errors.New("enough")
	ended, cancel := context.WithCancelCause(ctx)
	cancel(why)
	_, err := s.Owners(ended)
	WantErr(t, "with a context that has ended", err, why)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = s.Owners(ctx)
	WantErr(t, "after close", err, session.ErrClosed)
}

// testOwnerNames: names are compared byte by byte, whatever is in them, and no two owners are one. A session of the same id that
// several owners have is a session each.
func testOwnerNames(t *testing.T, s session.Store) {
	long := strings.Repeat("é", 127) + "x"
	owners := []session.Owner{
		session.Operator, {Tenant: "a"}, {User: "a"}, {Tenant: "a", User: "a"},
		{Tenant: "ab", User: "c"}, {Tenant: "a", User: "bc"}, {Tenant: "abc"}, {User: "abc"},
		{Tenant: "a.b", User: "c"}, {Tenant: "a", User: "b.c"}, {Tenant: "a/b", User: "c"}, {Tenant: "a", User: "b/c"},
		{Tenant: "*", User: ">"}, {Tenant: ">", User: "*"}, {Tenant: "acme.com", User: "a b|c"}, {Tenant: "ACME.com", User: "a b|c"},
		{Tenant: "\x00"}, {User: "\x00"}, {Tenant: "\x00\x00"}, {Tenant: "\x00", User: "\x00"}, {Tenant: "\x01", User: "\x01a"},
		{Tenant: "\xff\xff\xff\xff\xff\xff\xff\xff\xff", User: "\xff"},
		{Tenant: "é", User: "u"}, {Tenant: "e\u0301", User: "u"}, {Tenant: "\xe9", User: "u"}, // one letter, written in three ways
		{Tenant: long, User: long}, {Tenant: long, User: long[1:]}, {Tenant: long},
		{Tenant: string(ID(1))}, {User: string(ID(1))},
	}
	for i, owner := range owners {
		Create(t, s.For(owner), session.Session{ID: ID(1), Title: "title"})
		Add(t, s.For(owner), ID(1), session.Entry{Time: int64(i + 1), Body: session.Setting{}})
	}
	for i, owner := range owners {
		of := s.For(owner)
		entries := Entries(t, of, ID(1))
		page, next, err := of.List(t.Context(), session.Query{Filter: session.Filter{Text: "title"}})
		if len(entries) != 1 || entries[0].Time != int64(i+1) || len(page) != 1 || page[0].Updated != int64(i+1) || next != "" || err != nil {
			t.Errorf("%s: entries %v, list %v, %q, %v", owner, entries, page, next, err)
		}
		if err := of.Delete(t.Context(), ID(1)); err != nil {
			t.Fatal(err)
		}
		_, err = of.Get(t.Context(), ID(1))
		WantErr(t, "get of a deleted session", err, session.ErrNotFound)
	}
}

// testForget checks that Forget removes all data of an owner except sessions, and no data of other owners.
func testForget(t *testing.T, s session.Store) {
	ctx := t.Context()
	owners := []session.Owner{ann, {Tenant: "acme", User: "anna"}, {Tenant: "acmeann"}, {User: "ann"}, session.Operator}
	used := func(owner session.Owner) int { return len(lines(t, s, &owner, "", "9")) }
	for i, owner := range owners {
		ours := s.For(owner)
		if _, err := ours.CreateOnce(ctx, session.Session{ID: ID(i)}, CreationBy("a", i)); err != nil {
			t.Fatal(err)
		}
		log := Claim(t, ours, ID(i))
		AddTo(t, log, Said(TurnA, "a"), Started(TurnA), Reserved(TurnA, dayA, provider.High, 1), costs(TurnA, MsgA, Used(5, 0.5)))
		if err := s.Ledger().Hold(ctx, session.Ref{Owner: owner, ID: ID(i)}, "h", session.Reserved{Day: dayA, Usage: Used(1, 1)}); err != nil {
			t.Fatal(err)
		}
		if used(owner) == 0 {
			t.Fatal("the ledger has no line")
		}
	}
	WantErr(t, "the operator", s.Forget(ctx, session.Operator), session.ErrOwner)
	WantErr(t, "an owner with a session", s.Forget(ctx, ann), session.ErrOwner)
	if err := s.For(ann).Delete(ctx, ID(0)); err != nil {
		t.Fatal(err)
	}
	if used(ann) == 0 {
		t.Error("a deletion has changed the ledger")
	}
	for range 2 { // what is gone already is a success
		if err := s.Forget(ctx, ann); err != nil {
			t.Fatal(err)
		}
	}
	holds, err := s.Ledger().Holds(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, owner := range owners {
		_, ok := remembered(t, s.For(owner), "a")
		held := slices.ContainsFunc(holds, func(h session.Hold) bool { return h.Ref.Owner == owner })
		if stays := i > 0; ok != stays || held != stays || used(owner) > 0 != stays {
			t.Errorf("%s: stamp %v, reservation %v, %d lines", owner, ok, held, used(owner))
		}
	}
	if err := s.Ledger().Settle(ctx, session.Ref{Owner: ann, ID: ID(0)}, "h", Used(1, 1), nil); err != nil || used(ann) > 0 {
		t.Errorf("a call that ends late: %v, %d lines", err, used(ann))
	}
	if _, err := s.For(ann).CreateOnce(ctx, session.Session{ID: ID(9)}, CreationBy("a", 9)); err != nil {
		t.Fatalf("the owner comes back: %v", err)
	}
	if m, ok := remembered(t, s.For(ann), "a"); !ok || m.Session != ID(9) {
		t.Errorf("a stamp after that: %+v, %v", m, ok)
	}
}
