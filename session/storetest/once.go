package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
)

func testCreateOnce(t *testing.T, s session.Sessions) {
	ctx := t.Context()
	if m, ok := remembered(t, s, "a"); ok {
		t.Errorf("nothing was made, and %+v is remembered", m)
	}
	words := []string{"a", "", "A", strings.Repeat("é", 128), "a\x00b", "t\x00\x00\x00\x00\x00\x00\x00\x01"}
	for i, word := range words {
		Equal(t, "first", Once(t, s, word, i), CreationBy(word, i))
		Equal(t, "second", Once(t, s, word, i+100), CreationBy(word, i))
	}
	for i, word := range words {
		m, ok := remembered(t, s, word)
		Equal(t, "remembered", m, CreationBy(word, i))
		record, err := s.Get(ctx, ID(i))
		if !ok || err != nil || record.Title != word {
			t.Errorf("%q: %v, %+v, %v", word, ok, record, err)
		}
		_, err = s.Get(ctx, ID(i+100))
		WantErr(t, "what the second would have made", err, session.ErrNotFound)
		Add(t, s, ID(i), Said(TurnA, "x"))
	}
	Create(t, s, session.Session{ID: ID(50)})
	_, err := s.CreateOnce(ctx, session.Session{ID: ID(50)}, CreationBy("b", 50))
	WantErr(t, "an id that is taken", err, session.ErrExists)
	if m, ok := remembered(t, s, "b"); ok {
		t.Errorf("nothing was made, and %+v is remembered", m)
	}
	if _, err := s.CreateOnce(ctx, session.Session{}, CreationBy("b", 51)); err == nil {
		t.Error("a session without an id was taken")
	}
	if _, err := s.CreateOnce(ctx, session.Session{ID: ID(52)}, session.Creation{Stamp: session.Stamp{ID: "b"}, Answer: json.RawMessage("{")}); err == nil {
		t.Error("an answer that is no JSON was taken")
	}
	if err := s.Delete(ctx, ID(0)); err != nil {
		t.Fatal(err)
	}
	Equal(t, "after the session is gone", Once(t, s, "a", 60), CreationBy("a", 0))
}

func testCreateOnceTogether(t *testing.T, s session.Sessions) {
	const stamps, each = 10, 8
	first := make([][]session.Creation, stamps)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for n := range stamps * each {
		wg.Go(testgo.Guard(t, func() {
			m, err := s.CreateOnce(t.Context(), session.Session{ID: ID(n)}, CreationBy(fmt.Sprint(n%stamps), n))
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
			Equal(t, "first", m, kept)
		}
	}
	if page, _, err := s.List(t.Context(), session.Query{Limit: 1000}); len(page) != stamps || err != nil {
		t.Errorf("%d sessions were made, want %d: %v", len(page), stamps, err)
	}
}

func testCreateOnceMany(t *testing.T, s session.Sessions) {
	const more = 20
	Once(t, s, "oldest", 0)
	var wg sync.WaitGroup
	for i := range session.MaxStamps - 1 {
		wg.Go(testgo.Guard(t, func() { Once(t, s, fmt.Sprint("old ", i), 1+i) }))
	}
	wg.Wait()
	if _, ok := remembered(t, s, "oldest"); !ok {
		t.Errorf("the first of %d is forgotten", session.MaxStamps)
	}
	for i := range more {
		Once(t, s, fmt.Sprint("new ", i), session.MaxStamps+i)
	}
	if _, ok := remembered(t, s, "oldest"); ok {
		t.Errorf("the first of %d is remembered", session.MaxStamps+more)
	}
	left := 0
	for i := range session.MaxStamps - 1 {
		if _, ok := remembered(t, s, fmt.Sprint("old ", i)); ok {
			left++
		}
	}
	if left != session.MaxStamps-more {
		t.Errorf("%d of the old are remembered, want %d", left, session.MaxStamps-more)
	}
	Equal(t, "an id that was forgotten", Once(t, s, "oldest", 5000), CreationBy("oldest", 5000))
	Equal(t, "one of the newest", Once(t, s, fmt.Sprint("new ", more-1), 5001), CreationBy(fmt.Sprint("new ", more-1), session.MaxStamps+more-1))
}
