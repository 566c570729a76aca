package stored

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/thinkd/thinkd/agent/room"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/mem"
)

var ann = session.Owner{User: "ann"}

func store(t *testing.T) session.Local {
	t.Helper()
	s := mem.New()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// write makes a session of ann's with a prompt, and returns what it takes.
func write(t *testing.T, s session.Store, text string) (session.Ref, int64) {
	t.Helper()
	record := session.Session{ID: session.NewID(), System: "system", Status: session.Idle}
	if err := s.For(ann).Create(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	log, err := s.For(ann).Claim(t.Context(), record.ID)
	if err != nil {
		t.Fatal(err)
	}
	entry := session.Entry{Turn: session.NewTurnID(), Body: session.Prompt{Message: session.NewMessageID(), Content: provider.Blocks{provider.Text{Text: text}, provider.Media{Type: "image/png", Hash: strings.Repeat("a", 64), Size: 5000}}}}
	if _, err := log.Append(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
	return session.Ref{Owner: ann, ID: record.ID}, room.OfRecord(record) + Bytes([]session.Entry{entry})
}

// What is there already counts, and so do appends and deletions.
func TestMeter(t *testing.T) {
	s := store(t)
	ref, first := write(t, s, "one")
	_, second := write(t, s, strings.Repeat("x", 3000))
	if first < 5000 || second < 8000 {
		t.Fatal("media and text do not count", first, second)
	}
	m := New(s, func(o session.Owner) int64 { return first + second + 100 }, nil)
	reserve := func(n int64) (func(), *Full) {
		t.Helper()
		release, err := m.Reserve(t.Context(), ann, n)
		full, ok := errors.AsType[*Full](err)
		if err != nil && !ok {
			t.Fatal(err)
		}
		return release, full
	}
	if _, full := reserve(101); full == nil || full.Used != first+second {
		t.Errorf("%v, want %d", full, first+second)
	}
	release, full := reserve(100)
	if full != nil {
		t.Fatal(full)
	}
	if _, full := reserve(1); full == nil {
		t.Error("a reservation does not count")
	}
	m.Add(ref, 100)
	release()
	release()
	if _, full := reserve(1); full == nil || full.Used != first+second+100 {
		t.Errorf("%v after an append", full)
	}
	m.Forget(ref)
	if _, full := reserve(first + 100); full != nil {
		t.Error(full)
	}
	if _, err := m.Reserve(t.Context(), session.Operator, 1<<40); err != nil {
		t.Error(err)
	}
	if _, err := (*Meter)(nil).Reserve(t.Context(), ann, 1<<40); err != nil {
		t.Error(err)
	}
}

// Requests in parallel never store more together than the quota has.
func TestRace(t *testing.T) {
	const most, each = 10_000, 300
	m := New(store(t), func(session.Owner) int64 { return most }, nil)
	var all sync.WaitGroup
	var mu sync.Mutex
	var sum int64
	for range 16 {
		all.Go(testgo.Guard(t, func() {
			ref := session.Ref{Owner: ann, ID: session.NewID()}
			for range 50 {
				release, err := m.Reserve(context.Background(), ann, each)
				if err != nil {
					continue
				}
				m.Add(ref, each)
				mu.Lock()
				sum += each
				mu.Unlock()
				release()
			}
		}))
	}
	all.Wait()
	if sum > most || sum < most-each {
		t.Errorf("%d of %d", sum, most)
	}
}
