package archive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
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

const shards = 2

func openStore(t *testing.T, link jet.Link) *jet.Store {
	t.Helper()
	s, err := jet.Open(t.Context(), link, jet.Options{Shards: shards, Replicas: 1, MaxGrowth: 1 << 20})
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

// follow runs a follower that writes small segments.
func follow(t *testing.T, link jet.Link, dir string) (stop func() error) {
	t.Helper()
	return followWith(t, &Follower{Link: link, Dir: dir})
}

func followWith(t *testing.T, f *Follower) (stop func() error) {
	t.Helper()
	f.Prefix, f.Log = "thinkd", slog.New(slog.NewTextHandler(t.Output(), nil))
	f.size, f.every, f.poll, f.loss = 20<<10, time.Nanosecond, time.Millisecond, time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	var err error
	done := testgo.Go(t, func() { err = f.Run(ctx) })
	return func() error {
		cancel()
		<-done
		return err
	}
}

// copied waits until the copy has all that the store has.
func copied(t *testing.T, link jet.Link, dir string) {
	t.Helper()
	streams, err := jet.FindStreams(t.Context(), link, "thinkd")
	if err != nil {
		t.Fatal(err)
	}
	for _, stream := range append(streams.Logs(), streams.State(), streams.Made(), streams.Tables()) {
		last, _, err := jet.LastSeq(t.Context(), link, stream)
		if err != nil {
			t.Fatal(err)
		}
		for covered := uint64(0); covered < last; {
			list, err := segments(filepath.Join(dir, stream))
			if err != nil {
				t.Fatal(err)
			}
			if len(list) > 0 {
				covered = list[len(list)-1].last
			}
			if t.Failed() {
				t.FailNow()
			}
		}
	}
}

// fill makes sessions: 0 has long entries, 1 is deleted, 2 is a fork of 0, and the others have a few entries.
func fill(t *testing.T, s *jet.Store) {
	of := s.For(session.Operator)
	for i := range 8 {
		if i == 2 {
			continue
		}
		storetest.Create(t, of, session.Session{ID: storetest.ID(i), Title: strings.Repeat("t", i), System: "system"})
		log := storetest.Claim(t, of, storetest.ID(i))
		storetest.AddTo(t, log, storetest.Said(storetest.TurnA, "hello"), storetest.Started(storetest.TurnA))
		if i == 0 {
			storetest.AddTo(t, log, storetest.Sealed(storetest.TurnA, storetest.MsgA, 0, strings.Repeat("x", 1<<20)))
		}
		storetest.AddTo(t, log, storetest.Ended(storetest.TurnA))
	}
	storetest.Create(t, of, session.Session{ID: storetest.ID(2), Shared: []session.Span{{Session: storetest.ID(0), Upto: 2}}})
	if err := of.Delete(t.Context(), storetest.ID(1)); err != nil {
		t.Fatal(err)
	}
}

// content is all that people see of a store.
type content struct {
	Records map[session.ID]session.Session
	Entries map[session.ID][]session.Entry
	Listed  []session.ID
}

func contentOf(t *testing.T, s *jet.Store) content {
	t.Helper()
	c := content{make(map[session.ID]session.Session), make(map[session.ID][]session.Entry), nil}
	of := s.For(session.Operator)
	page, _, err := of.List(t.Context(), session.Query{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, listed := range page {
		record, err := of.Get(t.Context(), listed.ID)
		if err != nil {
			t.Fatal(err)
		}
		c.Listed, c.Records[listed.ID] = append(c.Listed, listed.ID), record
		c.Entries[listed.ID] = storetest.Entries(t, of, listed.ID)
	}
	return c
}

// restored puts a copy back into a new server.
func restored(t *testing.T, dir string, until time.Time) (*jet.Store, Restored) {
	t.Helper()
	link := jettest.Start(t, 1).Dial()
	r := Restoring{Conns: link, Dir: dir, Until: until, Store: jet.Options{Replicas: 1, MaxGrowth: 1 << 20}}
	done, err := r.Restore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Restore(t.Context()); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("restored twice: %v", err)
	}
	return openStore(t, link), done
}

// TestRestore copies a store, and puts the copy back: all of it, and up to a point in time.
// One process writes in a directory. Another one is refused at once, and says which the first one is.
func TestOneCopy(t *testing.T) {
	link, dir := jettest.Start(t, 1).Dial(), t.TempDir()
	s := openPatient(t, link)
	defer s.Close()
	fill(t, s)
	stop := answering(t, link, dir)
	second := &Follower{Link: link, Prefix: "thinkd", Dir: dir, Log: slog.New(slog.DiscardHandler)}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := second.Run(ended); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("in use by process %d", os.Getpid())) {
		t.Errorf("a second process for one directory: %v", err)
	}
	stop()
	if err := second.Run(ended); err != nil {
		t.Errorf("after the first one has ended: %v", err)
	}
	if _, err := Verify(t.Context(), dir); err != nil {
		t.Error(err)
	}
}

func TestRestore(t *testing.T) {
	testgo.Cost(t)
	link, dir := jettest.Start(t, 1).Dial(), filepath.Join(t.TempDir(), "copy")
	s := openStore(t, link)
	of := s.For(session.Operator)
	stop := follow(t, link, dir)
	fill(t, s)
	before := contentOf(t, s)
	copied(t, link, dir)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	until := lastTime(t, dir)
	stop = follow(t, link, dir) // another process goes on
	storetest.AddTo(t, storetest.Claim(t, of, storetest.ID(3)), storetest.Said(storetest.TurnB, "later"))
	storetest.Create(t, of, session.Session{ID: storetest.ID(20)})
	if err := of.Delete(t.Context(), storetest.ID(4)); err != nil {
		t.Fatal(err)
	}
	after := contentOf(t, s)
	copied(t, link, dir)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	report, err := Verify(t.Context(), dir)
	if err != nil || len(report.Broken) > 0 {
		t.Fatalf("%v, %v", report.Broken, err)
	}
	t.Logf("%+v", report)

	whole, done := restored(t, dir, time.Time{})
	if diff := cmp.Diff(after, contentOf(t, whole)); diff != "" {
		t.Errorf("all of it (-want +got):\n%s", diff[:min(len(diff), 4000)])
	}
	if done.Sessions != 7 || done.Deleted != 2 {
		t.Errorf("%+v", done)
	}
	delete(before.Records, storetest.ID(4)) // it was deleted later, and so is not there
	delete(before.Entries, storetest.ID(4))
	before.Listed = without(before.Listed, storetest.ID(4))
	earlier, _ := restored(t, dir, until)
	if diff := cmp.Diff(before, contentOf(t, earlier)); diff != "" {
		t.Errorf("up to %v (-want +got):\n%s", until, diff[:min(len(diff), 4000)])
	}
	for _, s := range []*jet.Store{whole, earlier} {
		of := s.For(session.Operator)
		for _, gone := range []int{1, 4} {
			_, err := of.Get(t.Context(), storetest.ID(gone))
			storetest.WantErr(t, "get of a deleted session", err, session.ErrNotFound)
			err = of.Create(t.Context(), session.Session{ID: storetest.ID(gone)})
			storetest.WantErr(t, "create of a deleted session", err, session.ErrExists)
		}
		storetest.AddTo(t, storetest.Claim(t, of, storetest.ID(0)), storetest.Said(storetest.TurnB, "again"))
	}
}

func without(list []session.ID, id session.ID) (rest []session.ID) {
	for _, other := range list {
		if other != id {
			rest = append(rest, other)
		}
	}
	return rest
}

// lastTime is that of the newest message of a copy.
func lastTime(t *testing.T, dir string) (at time.Time) {
	t.Helper()
	report, err := Verify(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range report.Streams {
		if s.To.After(at) {
			at = s.To
		}
	}
	return at
}

// TestDamage changes each file of a copy, and removes each. Verify finds it, except if the last is removed.
func TestDamage(t *testing.T) {
	link, dir := jettest.Start(t, 1).Dial(), t.TempDir()
	s := openStore(t, link)
	stop := follow(t, link, dir)
	fill(t, s)
	copied(t, link, dir)
	storetest.Create(t, s.For(session.Operator), session.Session{ID: storetest.ID(20)}) // so a stream has two files at least, whatever the pace
	copied(t, link, dir)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.segment"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for i, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at := i * 7919 % len(data)
		data[at] ^= 1
		write := func(data []byte) {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(data)
		_, err = Verify(t.Context(), dir)
		storetest.WantErr(t, "a bit of "+path, err, ErrDamaged)
		data[at] ^= 1
		last := i+1 == len(files) || filepath.Dir(files[i+1]) != filepath.Dir(path)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(t.Context(), dir); !last && !errors.Is(err, ErrDamaged) {
			t.Errorf("%s is missing: %v", path, err)
		}
		write(data)
	}
	if _, err := Verify(t.Context(), dir); err != nil {
		t.Error(err)
	}
}

// TestKilled: a follower that was killed goes on behind the last file that it wrote, whatever that is, and a file that it did not complete is in no one's way.
func TestKilled(t *testing.T) {
	link, dir := jettest.Start(t, 1).Dial(), t.TempDir()
	s := openStore(t, link)
	fill(t, s)
	stop := follow(t, link, dir)
	copied(t, link, dir)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	want, err := Verify(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, keep := range []int{0, 1, 2} {
		for _, stream := range want.Streams {
			list, err := segments(filepath.Join(dir, stream.Name))
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range list {
				path := filepath.Join(dir, stream.Name, s.name())
				if i == keep { // it was being written
					err = os.Rename(path, path+".123")
				} else if i > keep {
					err = os.Remove(path)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		stop := follow(t, link, dir)
		copied(t, link, dir)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		got, err := Verify(t.Context(), dir)
		if err != nil || len(got.Broken) > 0 {
			t.Fatalf("%v, %v", got.Broken, err)
		}
		for i := range got.Streams { // how many messages a file has is up to the pace
			if g, w := got.Streams[i], want.Streams[i]; g.Messages != w.Messages || g.Last != w.Last || g.Bytes != w.Bytes {
				t.Errorf("with %d files: %+v, want %+v", keep, g, w)
			}
		}
	}
}

// TestTwoFollowers: of two processes that write to one directory, one reports the other, and the copy stays whole.
func TestTwoFollowers(t *testing.T) {
	link, dir := jettest.Start(t, 1).Dial(), t.TempDir()
	s := openStore(t, link)
	stop := follow(t, link, dir)
	fill(t, s)
	copied(t, link, dir)
	late := &tail{Follower: &Follower{Link: link, Prefix: "thinkd", Dir: dir, Log: slog.New(slog.DiscardHandler)}, stream: "thinkd_STATE", dir: filepath.Join(dir, "thinkd_STATE")}
	if err := late.open(); err != nil {
		t.Fatal(err)
	}
	storetest.Create(t, s.For(session.Operator), session.Session{ID: storetest.ID(30)})
	copied(t, link, dir)
	if _, err := late.step(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	storetest.WantErr(t, "the second process", late.flush(t.Context()), ErrDamaged)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(t.Context(), dir); err != nil {
		t.Error(err)
	}
}

// TestBrokenChain: a message that somebody else put into a log is copied and reported, and the copy is not put back.
func TestBrokenChain(t *testing.T) {
	link, dir := jettest.Start(t, 1).Dial(), t.TempDir()
	s := openStore(t, link)
	of, id := s.For(session.Operator), storetest.ID(3)
	storetest.Create(t, of, session.Session{ID: id})
	seen := make(chan *nats.Msg, 16)
	if _, err := link[0].ChanSubscribe("thinkd.log.>", seen); err != nil {
		t.Fatal(err)
	}
	if err := link[0].Flush(); err != nil {
		t.Fatal(err)
	}
	storetest.AddTo(t, storetest.Claim(t, of, id), storetest.Said(storetest.TurnA, "x"))
	<-seen
	m := <-seen
	forged := nats.NewMsg(m.Subject)
	forged.Data = m.Data
	forged.Header.Set("Thinkd", m.Header.Get("Thinkd"))
	if _, err := link[0].RequestMsg(forged, time.Minute); err != nil {
		t.Fatal(err)
	}
	stop := follow(t, link, dir)
	copied(t, link, dir)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	report, err := Verify(t.Context(), dir)
	if err != nil || len(report.Broken) != 1 || !strings.Contains(report.Broken[0], string(id)) {
		t.Errorf("%q, %v", report.Broken, err)
	}
	_, err = Restoring{Conns: jettest.Start(t, 1).Dial(), Dir: dir}.Restore(t.Context())
	storetest.WantErr(t, "restore", err, ErrDamaged)
}

// TestLoss: servers that do not have what was copied are reported, and nothing more is copied.
func TestLoss(t *testing.T) {
	for _, again := range []int{0, 3, 30} { // appends after the loss
		link, dir := jettest.Start(t, 1).Dial(), t.TempDir()
		s := openStore(t, link)
		stop := follow(t, link, dir)
		fill(t, s)
		copied(t, link, dir)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		for _, stream := range []string{"thinkd_LOG_0", "thinkd_LOG_1"} {
			if _, err := link[0].Request("$JS.API.STREAM.DELETE."+stream, nil, time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		other := openStore(t, link).For(session.Operator)
		for i := range again {
			storetest.Create(t, other, session.Session{ID: storetest.ID(100 + i)})
		}
		f := &Follower{Link: link, Prefix: "thinkd", Dir: dir, Log: slog.New(slog.DiscardHandler), every: time.Nanosecond, poll: time.Millisecond, loss: time.Millisecond}
		tails, err := f.tails(jet.Streams{Prefix: "thinkd", Shards: shards})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		testgo.Go(t, func() { done <- tails[0].run(t.Context()) })
		storetest.WantErr(t, "copy of a stream that has lost messages", <-done, ErrLost)
	}
}

// TestOlderStore: the servers are put back to an earlier state while a session is open. Its next append reports the loss, and does not go on.
func TestOlderStore(t *testing.T) {
	link, dir := jettest.Start(t, 1).Dial(), t.TempDir()
	s, err := jet.Open(t.Context(), link, jet.Options{Shards: shards, Replicas: 1, MaxGrowth: 1 << 20, Times: jet.Times{GiveUp: time.Minute, Later: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	of, id := s.For(session.Operator), storetest.ID(3)
	storetest.Create(t, of, session.Session{ID: id})
	log := storetest.Claim(t, of, id)
	storetest.AddTo(t, log, storetest.Said(storetest.TurnA, "kept"))
	stop := follow(t, link, dir)
	copied(t, link, dir)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	storetest.AddTo(t, log, storetest.Started(storetest.TurnA))
	for _, stream := range []string{"LOG_0", "LOG_1", "STATE", "MADE", "TABLE", "CKPT"} {
		if _, err := link[0].Request("$JS.API.STREAM.DELETE.thinkd_"+stream, nil, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := (Restoring{Conns: link, Dir: dir, Store: jet.Options{Replicas: 1, MaxGrowth: 1 << 20}}).Restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = log.Append(t.Context(), storetest.Ended(storetest.TurnA))
	storetest.WantErr(t, "append", err, session.ErrLost)
	storetest.WantErr(t, "append", err, session.ErrReadOnly)
	if n := len(storetest.Entries(t, of, id)); n != 1 {
		t.Errorf("%d entries", n)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestRestoredTables: rows are put back as they were, but a token that was revoked later stays revoked.
func TestRestoredTables(t *testing.T) {
	link, dir := jettest.Start(t, 1).Dial(), filepath.Join(t.TempDir(), "copy")
	openStore(t, link)
	rows := func(link jet.Link) *jet.Table {
		t.Helper()
		all, err := jet.OpenTables(t.Context(), link, jet.TableOptions{Prefix: "thinkd", Replicas: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(all.Close)
		return all.Table("tokens")
	}
	set := func(key, text string) {
		t.Helper()
		to := []byte(text)
		if text == "" {
			to = nil
		}
		if err := rows(link).Change(t.Context(), key, func([]byte) ([]byte, error) { return to, nil }); err != nil {
			t.Fatal(err)
		}
	}
	copyAll := func() {
		t.Helper()
		stop := follow(t, link, dir)
		copied(t, link, dir)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	}
	set("kept", "1")
	set("revoked", "1")
	copyAll()
	until := lastTime(t, dir)
	set("kept", "2")
	set("new", "1")
	set("revoked", "")
	copyAll()
	for at, want := range map[time.Time]map[string][]byte{
		{}:    {"kept": []byte("2"), "new": []byte("1")},
		until: {"kept": []byte("1")},
	} {
		link := jettest.Start(t, 1).Dial()
		r := Restoring{Conns: link, Dir: dir, Until: at, Store: jet.Options{Replicas: 1, MaxGrowth: 1 << 20}}
		if _, err := r.Restore(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, _ := rows(link).Rows()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("up to %v (-want +got):\n%s", at, diff)
		}
	}
}

// TestStreamOfLater: a store that an older build made has no tables. Its copy is whole, and has the tables as soon as a node makes them. A stream that is
// gone after it was copied is lost.
func TestStreamOfLater(t *testing.T) {
	link, dir := jettest.Start(t, 1).Dial(), filepath.Join(t.TempDir(), "copy")
	s := openStore(t, link)
	storetest.Create(t, s.For(session.Operator), session.Session{ID: storetest.ID(3)})
	remove := func() {
		t.Helper()
		if _, err := link[0].Request("$JS.API.STREAM.DELETE.thinkd_TABLE", nil, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	remove()
	f := &Follower{Link: link, Prefix: "thinkd", Dir: dir, Log: slog.New(slog.DiscardHandler), every: time.Nanosecond, loss: time.Millisecond}
	tails, err := f.tails(jet.Streams{Prefix: "thinkd", Shards: shards})
	if err != nil {
		t.Fatal(err)
	}
	table := tails[len(tails)-1]
	_, err = table.step(t.Context(), 0)
	storetest.WantErr(t, "a stream that was never made", err, errNotMade)
	copyAll(t, link, dir)
	verified(t, dir)
	restored(t, dir, time.Time{})

	all, err := jet.OpenTables(t.Context(), link, jet.TableOptions{Prefix: "thinkd", Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	if err := all.Table("tokens").Change(t.Context(), "a", func([]byte) ([]byte, error) { return []byte("1"), nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := table.step(t.Context(), 0); err != nil || table.last == 0 {
		t.Errorf("message %d, %v", table.last, err)
	}
	remove()
	_, err = table.step(t.Context(), 0)
	storetest.WantErr(t, "a stream that is gone", err, ErrLost)
}
