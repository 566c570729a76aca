package jet_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet/jettest"
	"github.com/thinkd/thinkd/session/storetest"
)

// TestTotal: what a session has used is read without a look at the accounts of the user's other sessions, of which there may be 10,000.
func TestTotal(t *testing.T) {
	link := jettest.Start(t, 1).Dial()
	s := openOne(t, link)
	of, id, other := s.For(session.Operator), storetest.ID(1), storetest.ID(2)
	for _, made := range []session.ID{id, other} {
		storetest.Create(t, of, session.Session{ID: made})
	}
	if _, _, err := of.List(t.Context(), session.Query{Limit: 10}); err != nil { // which writes the accounts
		t.Fatal(err)
	}
	m, err := link[0].Request("$JS.API.STREAM.INFO.thinkd_STATE", []byte(`{"subjects_filter":">"}`), time.Minute)
	var info struct {
		State struct{ Subjects map[string]int }
	}
	if err == nil {
		err = json.Unmarshal(m.Data, &info)
	}
	if err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for subject := range info.State.Subjects {
		if strings.HasSuffix(subject, ".s."+string(other)) {
			if _, err := link[0].Request(subject, []byte("{"), time.Minute); err != nil {
				t.Fatal(err)
			}
			damaged++
		}
	}
	if damaged != 1 {
		t.Fatalf("%d accounts of the other session among %v", damaged, info.State.Subjects)
	}
	total := func(id session.ID) error {
		_, err := openOne(t, link).Ledger().Total(t.Context(), session.Ref{Owner: session.Operator, ID: id})
		return err
	}
	if err := total(id); err != nil {
		t.Errorf("the total of a session, when the account of another one is damaged: %v", err)
	}
	if err := total(other); !errors.Is(err, session.ErrDamaged) {
		t.Errorf("the total of the session whose account is damaged: %v", err)
	}
}

// TestListOfMany: a page decodes the accounts that are on it, not those of all sessions of the user.
func TestListOfMany(t *testing.T) {
	of := openOne(t, jettest.Start(t, 1).Dial()).For(session.Operator)
	made := 0
	allocations := func(sessions int) float64 {
		for ; made < sessions; made++ {
			storetest.Create(t, of, session.Session{ID: storetest.ID(made), Title: "title"})
		}
		return testing.AllocsPerRun(5, func() {
			page, next, err := of.List(t.Context(), session.Query{Limit: 10})
			if err != nil || len(page) != 10 || next == "" || page[0].ID != storetest.ID(made-1) {
				t.Errorf("%d sessions, %q, %v", len(page), next, err)
			}
		})
	}
	few, many := allocations(20), allocations(1020)
	t.Logf("a page takes %.0f allocations of 20 sessions, and %.0f of 1,020", few, many)
	if many > few+4000 { // the server is in this process; to decode all takes 13,000
		t.Error("a page takes more with more sessions")
	}
}
