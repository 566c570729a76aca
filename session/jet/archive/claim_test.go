package archive

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/jet/jettest"
	"github.com/thinkd/thinkd/session/storetest"
)

// answering runs a follower that nodes can ask, and waits until it has all that the store has.
func answering(t *testing.T, link jet.Conns, dir string) (stop func()) {
	t.Helper()
	f := &Follower{Link: link, Asked: link, Prefix: "thinkd", Dir: dir, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), size: 20 << 10, every: time.Nanosecond, poll: time.Millisecond, loss: time.Millisecond}
	ctx, cancel := context.WithCancel(t.Context())
	done := testgo.Go(t, func() {
		if err := f.Run(ctx); err != nil {
			t.Log(err) // of the streams that have lost messages
		}
	})
	copied(t, link, dir)
	return func() {
		cancel()
		<-done
	}
}

// openPatient opens a store that does not wait for long between two reads, and from which no other node takes sessions.
func openPatient(t *testing.T, link jet.Link) *jet.Store {
	t.Helper()
	s, err := jet.Open(t.Context(), link, jet.Options{Shards: shards, Replicas: 1, MaxGrowth: 1 << 20, Times: jet.Times{GiveUp: time.Minute, Later: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestClaimAfterLoss: the servers are put back to an earlier state while no node has the session loaded. The log is whole, but shorter. A claim
// reports the loss, because the second copy has more, and also if others have appended since.
func TestClaimAfterLoss(t *testing.T) {
	for name, regrown := range map[string]int{"shorter": 0, "sequences that are given out again": 3} {
		t.Run(name, func(t *testing.T) {
			link, older, newer := jettest.Start(t, 1).Dial(), t.TempDir(), t.TempDir()
			s := openPatient(t, link)
			of, id, other := s.For(session.Operator), storetest.ID(3), storetest.ID(5)
			for _, made := range []session.ID{id, other} {
				storetest.Create(t, of, session.Session{ID: made})
			}
			log := storetest.Claim(t, of, id)
			storetest.AddTo(t, log, storetest.Said(storetest.TurnA, "kept"))
			answering(t, link, older)()
			storetest.AddTo(t, log, storetest.Started(storetest.TurnA))
			if err := log.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			answering(t, link, newer)()

			for _, stream := range []string{"LOG_0", "LOG_1", "STATE", "MADE", "TABLE", "CKPT"} {
				if _, err := link[0].Request("$JS.API.STREAM.DELETE.thinkd_"+stream, nil, time.Minute); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := (Restoring{Conns: link, Dir: older, Store: jet.Options{Replicas: 1, MaxGrowth: 1 << 20}}).Restore(t.Context()); err != nil {
				t.Fatal(err)
			}
			s = openPatient(t, link)
			defer s.Close()
			of = s.For(session.Operator)
			for range regrown { // nobody answers yet
				storetest.Claim(t, of, id)
			}
			f := &Follower{Link: link, Prefix: "thinkd", Dir: newer}
			for _, stream := range []string{"thinkd_LOG_0", "thinkd_LOG_1"} { // as after a restart of the copy
				if err := (&tail{Follower: f, stream: stream, dir: filepath.Join(newer, stream), chain: new(jet.Chain)}).open(); err != nil {
					t.Fatal(err)
				}
			}
			streams, err := jet.FindStreams(t.Context(), link, f.Prefix)
			if err != nil {
				t.Fatal(err)
			}
			f.has.Name(streams.ID) // as if the servers had been put back, and not restored
			stop, err := f.has.Serve(link, f.Prefix)
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			_, err = of.Claim(t.Context(), id)
			storetest.WantErr(t, "claim of a session that has lost an entry", err, session.ErrLost)
			storetest.WantErr(t, "claim of a session that has lost an entry", err, session.ErrReadOnly)
			storetest.Claim(t, of, other) // it has lost nothing
			messages := logMessages(t, link, streams)
			_, err = of.Claim(t.Context(), id)
			storetest.WantErr(t, "another claim of it", err, session.ErrLost)
			if now := logMessages(t, link, streams); now != messages {
				t.Errorf("another claim of it added %d messages to the logs", now-messages)
			}
			stop()
			storetest.Claim(t, of, id) // nothing is compared any more
		})
	}
}

// logMessages is how many messages were ever stored in the streams of logs.
func logMessages(t *testing.T, link jet.Conns, streams jet.Streams) (n uint64) {
	t.Helper()
	for _, stream := range streams.Logs() {
		reply, err := link[0].Request("$JS.API.STREAM.INFO."+stream, nil, time.Minute)
		var info struct {
			State struct {
				Last uint64 `json:"last_seq"`
			} `json:"state"`
		}
		if err == nil {
			err = json.Unmarshal(reply.Data, &info)
		}
		if err != nil {
			t.Fatalf("%s: %v", stream, err)
		}
		n += info.State.Last
	}
	if n == 0 {
		t.Fatal("the logs have no messages")
	}
	return n
}

// TestClaimsWithCopy: claims, forks and deletions go on as without a copy while it follows.
func TestClaimsWithCopy(t *testing.T) {
	link := jettest.Start(t, 1).Dial()
	s := openPatient(t, link)
	defer s.Close()
	fill(t, s)
	stop := answering(t, link, t.TempDir())
	defer stop()
	of := s.For(session.Operator)
	page, _, err := of.List(t.Context(), session.Query{Limit: 100})
	if err != nil || len(page) < 3 {
		t.Fatalf("%d sessions, %v", len(page), err)
	}
	for _, record := range page {
		for range 3 {
			log := storetest.Claim(t, of, record.ID)
			storetest.AddTo(t, log, session.Entry{Body: session.Setting{}})
		}
	}
	if err := of.Delete(t.Context(), page[0].ID); err != nil {
		t.Error(err)
	}
	_, err = of.Claim(t.Context(), page[0].ID)
	storetest.WantErr(t, "claim of a deleted session", err, session.ErrNotFound)
}

// TestOldCopyAfterRestore: a copy process that still runs after a restore to an earlier time makes no session read-only, and does not go on in its
// directory.
func TestOldCopyAfterRestore(t *testing.T) {
	link, dir := jettest.Start(t, 1).Dial(), t.TempDir()
	s := openPatient(t, link)
	of, id := s.For(session.Operator), storetest.ID(3)
	storetest.Create(t, of, session.Session{ID: id})
	copyAll(t, link, dir)
	until := lastTime(t, dir)
	log := storetest.Claim(t, of, id)
	storetest.AddTo(t, log, storetest.Said(storetest.TurnA, "later"))
	if err := errors.Join(log.Release(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	stop := answering(t, link, dir)
	defer stop()
	for _, stream := range []string{"LOG_0", "LOG_1", "STATE", "MADE", "TABLE", "CKPT"} {
		if _, err := link[0].Request("$JS.API.STREAM.DELETE.thinkd_"+stream, nil, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := (Restoring{Conns: link, Dir: dir, Until: until, Store: jet.Options{Replicas: 1, MaxGrowth: 1 << 20}}).Restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	s = openPatient(t, link)
	defer s.Close()
	storetest.AddTo(t, storetest.Claim(t, s.For(session.Operator), id), storetest.Said(storetest.TurnB, "instead"))
	stop()
	err := (&Follower{Link: link, Prefix: "thinkd", Dir: dir, Log: slog.New(slog.DiscardHandler)}).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "use a new directory") {
		t.Errorf("a copy goes on after a restore: %v", err)
	}
}
