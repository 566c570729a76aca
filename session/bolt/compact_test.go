package bolt

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/storetest"
)

// What was deleted is in no file of the store after Compact, with sessions in use before, during and after it.
func TestCompactInUse(t *testing.T) {
	t.Parallel()
	const secret = "canary of a deleted session "
	dir := t.TempDir()
	b := openTest(t, dir)
	for n := range 6 {
		storetest.Create(t, b, session.Session{ID: storetest.ID(n)})
		text := strings.Repeat("kept ", 3000)
		if n%2 == 1 {
			text = strings.Repeat(secret, 1000)
		}
		storetest.Add(t, b, storetest.ID(n), storetest.Said(storetest.TurnA, "x"), storetest.Started(storetest.TurnA),
			storetest.Sealed(storetest.TurnA, storetest.MsgA, 0, text))
	}
	log, err := b.Claim(t.Context(), storetest.ID(0)) // a holder before and after
	if err != nil {
		t.Fatal(err)
	}
	if there, err := b.Deletions(); there || err != nil {
		t.Errorf("before a deletion: %v, %v", there, err)
	}
	for n := range 3 {
		if err := b.Delete(t.Context(), storetest.ID(2*n+1)); err != nil {
			t.Fatal(err)
		}
	}
	if !occurs(t, dir, secret) {
		t.Error("deleted sessions leave nothing in the file: the test shows nothing")
	}
	if there, err := b.Deletions(); !there || err != nil {
		t.Errorf("after a deletion: %v, %v", there, err)
	}
	var writers sync.WaitGroup
	writers.Go(testgo.Guard(t, func() { // it ends by itself
		for n := range 50 {
			if _, err := log.Append(t.Context(), storetest.Sealed(storetest.TurnA, storetest.MsgA, n+1, "meanwhile")); err != nil {
				t.Error(err)
			}
		}
	}))
	before, after, err := b.Compact(t.Context())
	writers.Wait()
	if err != nil || before.Sessions != 3 || after.Sessions != 3 || after.Entries != before.Entries || before.Entries < 9 || after.Size >= before.Size {
		t.Errorf("%+v became %+v, %v", before, after, err)
	}
	if occurs(t, dir, secret) {
		t.Error("a deleted session is still in a file")
	}
	if there, err := b.Deletions(); there || err != nil {
		t.Errorf("after the rewrite: %v, %v", there, err)
	}
	if n := len(storetest.Entries(t, b, storetest.ID(0))); n != 53 {
		t.Errorf("%d entries, want 53", n)
	}
	storetest.Equal(t, "files", names(t, dir), []string{fileName, lockName, markName})
	if err := errors.Join(log.Release(t.Context()), b.Close()); err != nil {
		t.Fatal(err)
	}
	again := openTest(t, dir)
	if n := len(storetest.Entries(t, again, storetest.ID(0))); n != 53 {
		t.Errorf("after a start: %d entries, want 53", n)
	}
	if _, _, err := b.Compact(t.Context()); !errors.Is(err, session.ErrClosed) {
		t.Errorf("a closed store: %v", err)
	}
}

// occurs reports whether bytes are in a file of a directory.
func occurs(t *testing.T, dir, text string) bool {
	t.Helper()
	for _, name := range names(t, dir) {
		data, err := os.ReadFile(dir + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(text)) {
			return true
		}
	}
	return false
}

// A store with damage is not rewritten, and no second file stays.
func TestCompactRefusesDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := openTest(t, dir)
	for n := range 2 {
		storetest.Create(t, b, session.Session{ID: storetest.ID(n)})
		storetest.Add(t, b, storetest.ID(n), storetest.Said(storetest.TurnA, strings.Repeat("word ", 4000)))
	}
	path := b.path
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	zeroLog(t, path, storetest.ID(1))
	broken, err := openStore(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := broken.Compact(t.Context()); !errors.Is(err, session.ErrDamaged) {
		t.Errorf("a damaged store: %v", err)
	}
	storetest.Equal(t, "files", names(t, dir), []string{fileName, lockName, markName})
	storetest.Add(t, broken, storetest.ID(0), storetest.Said(storetest.TurnB, "it still takes entries"))
	if err := broken.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, sound, 0o600); err != nil { // for the check at the end
		t.Fatal(err)
	}
}

// Backups and rewrites at once wait for each other.
func TestCompactAndBackup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := openTest(t, dir)
	storetest.Create(t, b, session.Session{ID: storetest.ID(0)})
	storetest.Add(t, b, storetest.ID(0), storetest.Said(storetest.TurnA, strings.Repeat("word ", 20_000)))
	var all sync.WaitGroup
	for range 4 {
		all.Go(testgo.Guard(t, func() {
			if _, _, err := b.Compact(t.Context()); err != nil {
				t.Error(err)
			}
		}))
		all.Go(testgo.Guard(t, func() {
			if report, err := b.Check(t.Context()); err != nil || report.Sessions != 1 || len(report.Damaged) > 0 {
				t.Errorf("%+v, %v", report, err)
			}
		}))
	}
	all.Wait()
}
