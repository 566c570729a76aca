package jet_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/jet/jettest"
	"github.com/thinkd/thinkd/session/storetest"
)

func openOne(t *testing.T, link jet.Link) *jet.Store {
	t.Helper()
	s, err := jet.Open(t.Context(), link, jet.Options{Shards: 1, Replicas: 1, MaxGrowth: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, session.ErrClosed) {
			t.Error(err)
		}
	})
	return s
}

// TestBackward reads a log backward, by its maps: the first time, and when it has grown. It has appends of several messages.
func TestBackward(t *testing.T) {
	t.Parallel()
	link := jettest.Start(t, 1).Dial()
	s, id := openOne(t, link), storetest.ID(1)
	of := s.For(session.Operator)
	storetest.Create(t, of, session.Session{ID: id, System: strings.Repeat("s", 2<<20)})
	log := storetest.Claim(t, of, id)
	var want []session.Entry
	add := func(n int) {
		for range n {
			e := session.Entry{Time: int64(len(want)), Body: session.Setting{}}
			if len(want)%100 == 50 {
				e = storetest.Sealed(storetest.TurnA, storetest.MsgA, len(want), strings.Repeat("x", 1<<20))
			}
			storetest.AddTo(t, log, e)
			want = append(want, e)
		}
	}
	fresh := openOne(t, link)
	fresh.SetNear(0)
	for _, n := range []int{100, 30, 300, 1} {
		add(n)
		got := storetest.Entries(t, fresh.For(session.Operator), id)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("after %d entries (-want +got):\n%s", len(want), diff[:min(len(diff), 2000)])
		}
	}
	again := openOne(t, link)
	again.SetNear(0)
	page, err := again.For(session.Operator).Entries(t.Context(), id, 200, 3)
	if err != nil || !cmp.Equal(page, want[200:203]) {
		t.Errorf("%v, %v", page, err)
	}
	record, err := again.For(session.Operator).Get(t.Context(), id)
	if err != nil || len(record.System) != 2<<20 {
		t.Errorf("%d bytes, %v", len(record.System), err)
	}
}

// TestForeignMessage: a message that somebody else puts into a log is found, and nothing behind it is believed.
func TestForeignMessage(t *testing.T) {
	servers := jettest.Start(t, 1)
	link := servers.Dial()
	s, id := openOne(t, link), storetest.ID(1)
	of := s.For(session.Operator)
	storetest.Create(t, of, session.Session{ID: id})
	log := storetest.Claim(t, of, id)
	storetest.AddTo(t, log, storetest.Said(storetest.TurnA, "x"))
	seen := make(chan *nats.Msg, 16)
	if _, err := link[0].ChanSubscribe("thinkd.log.>", seen); err != nil {
		t.Fatal(err)
	}
	if err := link[0].Flush(); err != nil {
		t.Fatal(err)
	}
	storetest.AddTo(t, log, storetest.Started(storetest.TurnA))
	m := <-seen
	forged := nats.NewMsg(m.Subject)
	forged.Data = m.Data
	forged.Header.Set("Thinkd", strings.Replace(m.Header.Get("Thinkd"), `"pos":2`, `"pos":3`, 1))
	if _, err := link[0].RequestMsg(forged, time.Minute); err != nil {
		t.Fatal(err)
	}
	fresh := openOne(t, link)
	for _, near := range []uint64{1 << 20, 0} {
		fresh.SetNear(near)
		_, err := fresh.For(session.Operator).Entries(t.Context(), id, 0, 10)
		storetest.WantErr(t, fmt.Sprint("entries, near ", near), err, session.ErrDamaged)
	}
	_, err := log.Append(t.Context(), storetest.Ended(storetest.TurnA))
	storetest.WantErr(t, "append of its holder", err, session.ErrFenced)
	deleted(t, fresh.For(session.Operator), id)
}

// deleted deletes a session. It must not come back.
func deleted(t *testing.T, of session.Sessions, id session.ID) {
	t.Helper()
	if err := of.Delete(t.Context(), id); err != nil {
		t.Errorf("delete: %v", err)
	}
	_, err := of.Get(t.Context(), id)
	storetest.WantErr(t, "get of a deleted session", err, session.ErrNotFound)
	storetest.WantErr(t, "late create", of.Create(t.Context(), session.Session{ID: id}), session.ErrExists)
	if page, _, err := of.List(t.Context(), session.Query{Limit: 100}); err != nil || slices.ContainsFunc(page, func(s session.Session) bool { return s.ID == id }) {
		t.Errorf("a deleted session is listed: %v", err)
	}
}

// TestLostAnswers has the connection break in an append: before the server has it, and after the server has stored it.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	servers := jettest.Start(t, 1)
	proxy := jettest.NewProxy(t, servers.Address(0))
	s, clean, id := openOne(t, jettest.Dial(t, proxy.URL())), openOne(t, servers.Dial()), storetest.ID(1)
	of := s.For(session.Operator)
	storetest.Create(t, of, session.Session{ID: id})
	log := storetest.Claim(t, of, id)
	storetest.AddTo(t, log, storetest.Said(storetest.TurnA, "x"))
	for i, lose := range []func(){proxy.LoseAnswers, proxy.Cut} {
		lose()
		appended := make(chan uint64, 1)
		testgo.Go(t, func() {
			last, err := log.Append(t.Context(), session.Entry{Time: int64(i), Body: session.Setting{}})
			if err != nil {
				t.Error(err)
			}
			appended <- last
		})
		for len(storetest.Entries(t, clean.For(session.Operator), id)) < i+2 { // until it is stored
			if t.Failed() {
				return
			}
		}
		proxy.Cut()
		if last := <-appended; last != uint64(i+2) {
			t.Errorf("append %d is at %d", i, last)
		}
	}
	if n := len(storetest.Entries(t, clean.For(session.Operator), id)); n != 3 {
		t.Errorf("%d entries", n)
	}
}

// TestFullStream: a stream that is full refuses at once. What is there can be read, and deleted, and then there is space again.
func TestFullStream(t *testing.T) {
	link := jettest.Start(t, 1).Dial()
	s, err := jet.Open(t.Context(), link, jet.Options{Shards: 1, Replicas: 1, MaxGrowth: 1 << 20, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	of, id := s.For(session.Operator), storetest.ID(1)
	storetest.Create(t, of, session.Session{ID: id})
	log := storetest.Claim(t, of, id)
	n := 0
	for ; err == nil; n++ {
		_, err = log.Append(t.Context(), session.Entry{Body: session.Repair{API: strings.Repeat("x", 100<<10)}})
	}
	storetest.WantErr(t, "append", err, session.ErrReadOnly)
	if got := len(storetest.Entries(t, of, id)); got != n-1 {
		t.Errorf("%d entries of %d", got, n-1)
	}
	other := storetest.ID(2)
	for err = nil; err == nil; n++ { // until there is no space at all
		_, err = log.Append(t.Context(), session.Entry{Body: session.Setting{}})
	}
	storetest.WantErr(t, "append", err, session.ErrReadOnly)
	_, err = s.For(session.Operator).Claim(t.Context(), id)
	storetest.WantErr(t, "claim", err, session.ErrReadOnly)
	storetest.WantErr(t, "create", of.Create(t.Context(), session.Session{ID: other}), session.ErrReadOnly)
	deleted(t, of, id)
	_, err = log.Append(t.Context(), session.Entry{Body: session.Setting{}})
	storetest.WantErr(t, "append to a deleted session", err, session.ErrNotFound)
	storetest.Create(t, of, session.Session{ID: other})
	storetest.Add(t, of, other, session.Entry{Body: session.Repair{API: strings.Repeat("x", 100<<10)}})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
