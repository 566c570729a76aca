package storetest

import (
	"testing"

	"github.com/thinkd/thinkd/session"
)

// testMarkRead: a mark changes nothing except what a principal has read, and later entries leave it.
func testMarkRead(t *testing.T, s session.Sessions) {
	ctx := t.Context()
	for i := range 3 {
		Create(t, s, session.Session{ID: ID(i), System: "be brief", Read: map[string]int{"early": 9}})
	}
	mark := func(principal string, ended int) {
		t.Helper()
		if err := s.MarkRead(ctx, ID(1), principal, ended); err != nil {
			t.Fatal(err)
		}
	}
	record := func() session.Session {
		t.Helper()
		got, err := s.Get(ctx, ID(1))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	Equal(t, "marks of a new session", record().Read, map[string]int(nil))
	Add(t, s, ID(1), Said(TurnA, "x"), Started(TurnA))
	Add(t, s, ID(2), Said(TurnB, "y"))
	before := record()
	mark("ann", 0)
	Equal(t, "a mark of nothing", record(), before)
	Add(t, s, ID(1), Ended(TurnA))
	Add(t, s, ID(2), Started(TurnB))
	before = record()
	Equal(t, "ended", before.Ended, 1)
	if !before.Unread("ann") || !before.Unread("bob") {
		t.Error("a session without a mark is not unread")
	}
	mark("ann", 1)
	mark("ann", 0)
	before.Read = map[string]int{"ann": 1}
	Equal(t, "marked", record(), before)
	if before.Unread("ann") || !before.Unread("bob") {
		t.Error("the mark is not that of one principal")
	}
	page, _, err := s.List(ctx, session.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if len(page) != 3 || page[0].ID != ID(2) || page[1].Read["ann"] != 1 {
		t.Errorf("the list after a mark: %v", page)
	}
	mark("bob", 7)
	Add(t, s, ID(1), session.Entry{Time: 9000, Body: session.Setting{}})
	Equal(t, "marks after an entry", record().Read, map[string]int{"ann": 1, "bob": 7})
	WantErr(t, "a mark in none", s.MarkRead(ctx, ID(9), "ann", 1), session.ErrNotFound)
	if err := s.Delete(ctx, ID(1)); err != nil {
		t.Fatal(err)
	}
	WantErr(t, "a mark in a deleted session", s.MarkRead(ctx, ID(1), "ann", 2), session.ErrNotFound)
}
