//go:build long

package jet_test

import (
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet/jettest"
	"github.com/thinkd/thinkd/session/storetest"
)

// TestManySessions lists 5,000 sessions of one user: a server answers up to 1,024 values at once. A session that another node has just made is in the list.
func TestManySessions(t *testing.T) {
	testgo.Cost(t)
	link := jettest.Start(t, 1).Dial()
	s := openOne(t, link)
	of := s.For(session.Operator)
	made := 0
	for _, n := range []int{1020, 1025, 5000} {
		for ; made < n; made++ {
			storetest.Create(t, of, session.Session{ID: storetest.ID(made), Title: fmt.Sprint(made)})
		}
		fresh := openOne(t, link).For(session.Operator)
		since := time.Now()
		seen := make(map[session.ID]bool)
		for q := (session.Query{Limit: 500}); ; {
			page, next, err := fresh.List(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, record := range page {
				seen[record.ID] = true
			}
			if q.Cursor = next; next == "" {
				break
			}
		}
		t.Logf("%d sessions are listed in %v", n, time.Since(since))
		if len(seen) != n {
			t.Errorf("%d of %d sessions are listed", len(seen), n)
		}
		storetest.Create(t, of, session.Session{ID: storetest.ID(made)})
		made++
		page, _, err := fresh.List(t.Context(), session.Query{Limit: 1})
		if err != nil || len(page) != 1 || page[0].ID != storetest.ID(made-1) {
			t.Errorf("the newest is %v, %v", page, err)
		}
	}
}

// TestSpreadSession opens a session whose 200 messages are spread over a stream with 50,000 messages of others.
func TestSpreadSession(t *testing.T) {
	testgo.Cost(t)
	link := jettest.Start(t, 1).Dial()
	s := openOne(t, link)
	of, id := s.For(session.Operator), storetest.ID(1)
	storetest.Create(t, of, session.Session{ID: id})
	log := storetest.Claim(t, of, id)
	body := make([]byte, 4<<10)
	rand.Read(body)
	replies, err := link[0].SubscribeSync(link[0].NewRespInbox())
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		storetest.AddTo(t, log, session.Entry{Body: session.Setting{}})
		for other := range 250 {
			m := nats.NewMsg(fmt.Sprintf("thinkd.log.0.other.other.%d", other))
			m.Reply, m.Data = replies.Subject, body
			if err := link[0].PublishMsg(m); err != nil {
				t.Fatal(err)
			}
		}
		for range 250 {
			if _, err := replies.NextMsg(time.Minute); err != nil {
				t.Fatal(err)
			}
		}
	}
	fresh := openOne(t, link)
	since := time.Now()
	if n := len(storetest.Entries(t, fresh.For(session.Operator), id)); n != 200 {
		t.Errorf("%d entries", n)
	}
	t.Logf("200 entries among 50,000 messages of others, 200 MB, were read in %v", time.Since(since))
}
