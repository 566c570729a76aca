package archive

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/jet/jettest"
	"github.com/thinkd/thinkd/session/storetest"
)

// clean cleans a copy once, as a process that looks at the clock after some time.
func clean(t *testing.T, link jet.Link, dir string, after time.Duration) []*tail {
	t.Helper()
	now := func() time.Time { return time.Now().Add(after) }
	return cleanBy(t, link, dir, now, now)
}

// cleanBy cleans a copy once, by the clock of the process and that of the store servers.
func cleanBy(t *testing.T, link jet.Link, dir string, own, theirs func() time.Time) []*tail {
	t.Helper()
	f := &Follower{Link: link, Prefix: "thinkd", Dir: dir, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), settle: time.Nanosecond, clock: own}
	if theirs != nil {
		f.theirs = func(context.Context) (time.Time, error) { return theirs(), nil }
	}
	tails, err := f.tails(jet.Streams{Prefix: "thinkd", Shards: shards})
	if err == nil {
		err = f.clean(t.Context(), tails)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tails
}

// having are the files that have a text.
func having(t *testing.T, dir, text string) (list []string) {
	t.Helper()
	for path, data := range filesOf(t, dir) {
		if strings.Contains(data, text) {
			list = append(list, path)
		}
	}
	return list
}

// filesOf are the files of a copy. They are strings, because cmp compares these at once, and slices byte for byte.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*.segment"))
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[path] = string(data)
	}
	return all
}

func verified(t *testing.T, dir string) Report {
	t.Helper()
	report, err := Verify(t.Context(), dir)
	if err != nil || len(report.Broken) > 0 {
		t.Fatalf("%v, %v", report.Broken, err)
	}
	return report
}

// copyAll copies what the store has.
func copyAll(t *testing.T, link jet.Link, dir string) {
	t.Helper()
	stop := follow(t, link, dir)
	copied(t, link, dir)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// secrets makes a session with a text in each place that a session has, and another one that looks like it.
func secrets(t *testing.T, s *jet.Store) {
	t.Helper()
	of := s.For(session.Operator)
	for i, word := range []string{"gone", "kept"} {
		id := storetest.ID(40 + i)
		storetest.Create(t, of, session.Session{ID: id, Title: word + "-title", System: word + "-system"})
		log := storetest.Claim(t, of, id)
		storetest.AddTo(t, log, storetest.Said(storetest.TurnA, word+"-prompt"), storetest.Started(storetest.TurnA))
		storetest.AddTo(t, log, storetest.Sealed(storetest.TurnA, storetest.MsgA, 0, strings.Repeat(word+"-text", 1<<17)), storetest.MessageEnded(storetest.TurnA, storetest.MsgA, 3), storetest.Ended(storetest.TurnA))
		if _, _, err := of.List(t.Context(), session.Query{Limit: 1}); err != nil { // it writes what lists show
			t.Fatal(err)
		}
	}
}

// TestClean: nothing of a deleted session is in a copy after a cleaning, except that it was deleted and what it used. Everything else is there.
func TestClean(t *testing.T) {
	testgo.Cost(t)
	link, dir := jettest.Start(t, 1).Dial(), filepath.Join(t.TempDir(), "copy")
	s := openStore(t, link)
	of := s.For(session.Operator)
	secrets(t, s)
	copyAll(t, link, dir)
	until := lastTime(t, dir)
	fill(t, s)
	if err := of.Delete(t.Context(), storetest.ID(40)); err != nil {
		t.Fatal(err)
	}
	after := contentOf(t, s)
	copyAll(t, link, dir)
	if n := len(having(t, dir, "gone-")); n < 2 {
		t.Fatalf("the deleted session is in %d files", n)
	}
	before := filesOf(t, dir)
	clean(t, link, dir, 0)
	if list := having(t, dir, "gone-"); list != nil {
		t.Errorf("the deleted session is still in %q", list)
	}
	report := verified(t, dir)
	if !report.Since.IsZero() {
		t.Errorf("the copy cannot be restored to times before %v", report.Since)
	}
	files := filesOf(t, dir)
	if len(files) >= len(before) {
		t.Errorf("%d files, after %d", len(files), len(before))
	}
	whole, done := restored(t, dir, time.Time{})
	if diff := cmp.Diff(after, contentOf(t, whole)); diff != "" {
		t.Errorf("all of it (-want +got):\n%s", diff[:min(len(diff), 4000)])
	}
	if done.Deleted != 2 {
		t.Errorf("%+v", done)
	}
	earlier, _ := restored(t, dir, until)
	if c := contentOf(t, earlier); len(c.Listed) != 1 || c.Records[storetest.ID(41)].Title != "kept-title" {
		t.Errorf("up to %v: %v", until, c.Listed)
	}
	clean(t, link, dir, 0) // there is nothing to do
	if diff := cmp.Diff(files, filesOf(t, dir)); diff != "" {
		t.Errorf("a second cleaning changed files (-want +got):\n%s", diff[:min(len(diff), 2000)])
	}
}

// TestCleanOld: what was replaced long ago goes, and a restore to that time is refused. Tombstones go last.
func TestCleanOld(t *testing.T) {
	testgo.Cost(t)
	link, dir := jettest.Start(t, 1).Dial(), filepath.Join(t.TempDir(), "copy")
	s := openStore(t, link)
	of, title := s.For(session.Operator), "kept-title-2"
	secrets(t, s)
	copyAll(t, link, dir)
	until := lastTime(t, dir)
	storetest.AddTo(t, storetest.Claim(t, of, storetest.ID(41)), storetest.Reserved(storetest.TurnB, "2026-11-22", "", 1), session.Entry{Body: session.Setting{Title: &title}})
	del := func(i int) {
		if err := of.Delete(t.Context(), storetest.ID(i)); err != nil {
			t.Fatal(err)
		}
	}
	del(40)
	copyAll(t, link, dir)
	later := DefaultKeep + 24*time.Hour
	clean(t, link, dir, later)
	if r := verified(t, dir); r.Since.Before(until) || deletedIn(r) != 1 {
		t.Errorf("%+v", r)
	}
	for i := 42; i < 46; i++ { // there is one in each stream
		storetest.Create(t, of, session.Session{ID: storetest.ID(i)})
		del(i)
	}
	used, want := usedIn(t, s), contentOf(t, s)
	copyAll(t, link, dir)
	clean(t, link, dir, later) // the first tombstone has done its work
	if r := verified(t, dir); deletedIn(r) != 4 {
		t.Errorf("%+v", r)
	}
	_, err := Restoring{Conns: link, Dir: dir, Until: until}.Restore(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no values of") {
		t.Errorf("restore to a time of which the copy has nothing: %v", err)
	}
	whole, _ := restored(t, dir, time.Time{})
	if diff := cmp.Diff(want, contentOf(t, whole)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff[:min(len(diff), 4000)])
	}
	if diff := cmp.Diff(used, usedIn(t, whole)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCleanByWrongClock: a clock that is ahead, of the process or of a store server, removes nothing that a restore needs.
func TestCleanByWrongClock(t *testing.T) {
	testgo.Cost(t)
	link, dir, title := jettest.Start(t, 1).Dial(), filepath.Join(t.TempDir(), "copy"), "kept-title-2"
	s := openStore(t, link)
	secrets(t, s)
	copyAll(t, link, dir)
	of := s.For(session.Operator)
	storetest.AddTo(t, storetest.Claim(t, of, storetest.ID(41)), session.Entry{Body: session.Setting{Title: &title}})
	if _, _, err := of.List(t.Context(), session.Query{Limit: 1}); err != nil { // it writes what lists show
		t.Fatal(err)
	}
	copyAll(t, link, dir)
	ahead := func() time.Time { return time.Now().AddDate(1, 0, 0) }
	for name, clocks := range map[string][2]func() time.Time{"of the process": {ahead, nil}, "of a store server": {time.Now, ahead}} {
		cleanBy(t, link, dir, clocks[0], clocks[1])
		if r := verified(t, dir); !r.Since.IsZero() {
			t.Errorf("by the clock %s, the copy cannot be restored to times before %v", name, r.Since)
		}
	}
	clean(t, link, dir, DefaultKeep+24*time.Hour)
	if r := verified(t, dir); r.Since.IsZero() {
		t.Error("by both clocks, nothing that was replaced goes")
	}
}

// A cleaning of a clock that was ahead does not put off the next one.
func TestCleanDue(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for last, want := range map[time.Time]time.Duration{
		{}: -1, now: cleanTime, now.Add(-time.Hour): cleanTime - time.Hour, now.AddDate(1, 0, 0): 0,
	} {
		if got := due(last, now, cleanTime); max(got, -1) != want {
			t.Errorf("after a cleaning at %v: %v, want %v", last, got, want)
		}
	}
}

func deletedIn(r Report) (n int) {
	for _, s := range r.Streams {
		n += s.Deleted
	}
	return n
}

// TestCleanKilled: a cleaning that was killed at any point left old files beside the new one. They do no harm, and the next cleaning removes them.
func TestCleanKilled(t *testing.T) {
	link, dir := jettest.Start(t, 1).Dial(), filepath.Join(t.TempDir(), "copy")
	s := openStore(t, link)
	secrets(t, s)
	if err := s.For(session.Operator).Delete(t.Context(), storetest.ID(40)); err != nil {
		t.Fatal(err)
	}
	copyAll(t, link, dir)
	old := filesOf(t, dir)
	clean(t, link, dir, 0)
	want, files := verified(t, dir), filesOf(t, dir)
	for path, data := range old {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, verified(t, dir)); diff != "" {
		t.Errorf("with old files (-want +got):\n%s", diff)
	}
	copyAll(t, link, dir)
	clean(t, link, dir, 0)
	if diff := cmp.Diff(files, filesOf(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff[:min(len(diff), 2000)])
	}
}

// TestCleanWhileCopying: cleanings and readers meet a process that copies, and nothing is missing at the end.
func TestCleanWhileCopying(t *testing.T) {
	testgo.Cost(t)
	link, dir := jettest.Start(t, 1).Dial(), filepath.Join(t.TempDir(), "copy")
	s := openStore(t, link)
	of := s.For(session.Operator)
	storetest.Create(t, of, session.Session{ID: storetest.ID(0)})
	copyAll(t, link, dir)
	stop := followWith(t, &Follower{Link: link, Dir: dir, settle: time.Nanosecond, cleanEvery: time.Nanosecond})
	for i := range 30 {
		storetest.Create(t, of, session.Session{ID: storetest.ID(50 + i), Title: "short-lived"})
		storetest.AddTo(t, storetest.Claim(t, of, storetest.ID(50+i)), storetest.Said(storetest.TurnA, "short-lived"))
		if i%3 > 0 {
			if err := of.Delete(t.Context(), storetest.ID(50+i)); err != nil {
				t.Fatal(err)
			}
		}
		verified(t, dir)
	}
	copied(t, link, dir)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	clean(t, link, dir, 0)
	verified(t, dir)
	whole, done := restored(t, dir, time.Time{})
	if diff := cmp.Diff(contentOf(t, s), contentOf(t, whole)); diff != "" || done.Deleted != 20 {
		t.Errorf("%+v (-want +got):\n%s", done, diff[:min(len(diff), 4000)])
	}
}

// usedIn is what was used in a store, ever.
func usedIn(t *testing.T, s *jet.Store) []session.Line {
	t.Helper()
	lines, err := s.Ledger().Lines(t.Context(), nil, "0000-01-01", "9999-12-31")
	if err != nil {
		t.Fatal(err)
	}
	return lines
}
