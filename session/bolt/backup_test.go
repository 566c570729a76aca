package bolt

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/storetest"
)

// TestBackup copies a store while four writers append. A copy opens as a store of its own; it has all that was
// acknowledged before it was begun, nothing that was not written, and no hole.
func TestBackup(t *testing.T) {
	t.Parallel()
	const writers, copies = 4, 5
	dir := t.TempDir()
	b := openTest(t, dir)
	var acked [writers]atomic.Uint64
	var writing sync.WaitGroup
	stop := make(chan struct{})
	for n := range writers {
		storetest.Create(t, b, session.Session{ID: storetest.ID(n)})
		storetest.Add(t, b, storetest.ID(n), storetest.Said(storetest.TurnA, "x"), storetest.Started(storetest.TurnA))
		acked[n].Store(2)
		writing.Go(testgo.Guard(t, func() { // ends when stop is closed
			for number := 0; ; number++ {
				select {
				case <-stop:
					return
				default:
				}
				last, err := b.writes().Append(t.Context(), storetest.ID(n), numbered(number))
				if err != nil {
					t.Errorf("append during a copy: %v", err)
					return
				}
				acked[n].Store(last)
			}
		}))
	}
	for n := range copies {
		var before [writers]uint64
		for w := range writers {
			before[w] = acked[w].Load()
		}
		fresh := t.TempDir()
		path := filepath.Join(fresh, fileName)
		report, err := b.Backup(t.Context(), path)
		if err != nil || report.Sessions != writers || len(report.Damaged) > 0 {
			t.Fatalf("copy %d: %+v, %v", n, report, err)
		}
		storetest.Equal(t, "files beside the copy", names(t, fresh), []string{fileName})
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 || info.Size() != report.Size {
			t.Errorf("copy %d is %v, %v; the report says %d bytes", n, info, err, report.Size)
		}
		restored := openTest(t, fresh)
		for w := range writers {
			entries := storetest.Entries(t, restored, storetest.ID(w))
			if got := uint64(len(entries)); got < before[w] || got > acked[w].Load()+1 {
				t.Errorf("copy %d has %d entries of session %d; %d were acknowledged before, %d after", n, got, w, before[w], acked[w].Load())
			}
			for i, e := range entries[2:] {
				if fmt.Sprint(e.Body) != fmt.Sprint(numbered(i).Body) {
					t.Fatalf("copy %d, session %d, entry %d: %v", n, w, i+3, e.Body)
				}
			}
		}
		storetest.Add(t, restored, storetest.ID(0), session.Entry{Body: session.Setting{}}) // it is a store as any other
	}
	close(stop)
	writing.Wait()
}

func numbered(n int) session.Entry {
	return storetest.Sealed(storetest.TurnA, storetest.MsgA, n, strings.Repeat(fmt.Sprint("text ", n, " "), n%50))
}

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestBackupRefused has copies that cannot be made: nothing is overwritten, and nothing is left of them.
func TestBackupRefused(t *testing.T) {
	t.Parallel()
	b := openTest(t, t.TempDir())
	storetest.Create(t, b, session.Session{ID: storetest.ID(1)})
	dir := t.TempDir()
	path := filepath.Join(dir, "copy")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := b.Backup(t.Context(), path)
	storetest.WantErr(t, "over a file", err, fs.ErrExist)
	if text, err := os.ReadFile(path); string(text) != "mine" {
		t.Errorf("the file now has %q, %v", text, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = b.Backup(gone, filepath.Join(dir, "cancelled"))
	storetest.WantErr(t, "cancelled", err, context.Canceled)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = b.Backup(t.Context(), filepath.Join(dir, "closed"))
	storetest.WantErr(t, "closed", err, session.ErrClosed)
	storetest.Equal(t, "what is left", names(t, dir), []string{"copy"})
}

// TestCheck looks at a store in use, sound and with a session that is damaged.
func TestCheck(t *testing.T) {
	t.Parallel()
	file, mark, want := damageSample(t)
	dir := t.TempDir()
	path := filepath.Join(dir, fileName)
	if err := os.WriteFile(filepath.Join(dir, markName), mark, 0o600); err != nil {
		t.Fatal(err)
	}
	bad := []byte(strings.ReplaceAll(string(file), "text 30text 30", "text 30TEXT 30"))
	for _, what := range []string{"sound", "damaged"} { // the damaged one stays
		data := map[string][]byte{"sound": file, "damaged": bad}[what]
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := openStore(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			report, err := b.Check(t.Context())
			if err != nil || report.Sessions != len(want) || report.Free == 0 || (len(report.Damaged) > 0) != (what == "damaged") {
				t.Errorf("%s: %+v, %v", what, report, err)
			}
		}
		storetest.Equal(t, "files of the directory", names(t, dir), []string{fileName, lockName, markName})
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, bad, 0o600); err != nil { // the loop may have ended with either
		t.Fatal(err)
	}
	if _, _, err := Compact(t.Context(), path); slices.Equal(file, bad) || err == nil {
		t.Errorf("a damaged store is written anew: %v", err)
	}
}

// TestCompact has a store grow and shrink ten times: its file stays below 2.5 times the most that was in use at once, and
// written anew it has no more than what is in use, with every entry as it was.
func TestCompact(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := openTest(t, dir)
	var used, length int64
	for round := range 10 {
		together(t, 16, func(n int) { // they share commits
			r := rand.New(rand.NewPCG(uint64(round), uint64(n)))
			id := storetest.ID(100*round + n)
			storetest.Create(t, b, session.Session{ID: id})
			entries := []session.Entry{storetest.Said(storetest.TurnA, "x"), storetest.Started(storetest.TurnA)}
			for number := range r.IntN(40) {
				entries = append(entries, storetest.Sealed(storetest.TurnA, storetest.MsgA, number, strings.Repeat("word ", r.IntN(2000))))
			}
			storetest.Add(t, b, id, entries...)
		})
		if round == 9 { // two sessions of each round stay: never more is in use than now
			report, err := b.Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(b.path)
			if err != nil {
				t.Fatal(err)
			}
			used, length = report.Size-report.Free, info.Size()
		}
		together(t, 14, func(n int) {
			if err := b.Delete(t.Context(), storetest.ID(100*round+n)); err != nil {
				t.Error(err)
			}
		})
	}
	want := storetest.Entries(t, b, storetest.ID(915))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Compact(t.Context(), b.path); err != nil {
		t.Fatal(err)
	}
	// Twice: the first one's result is the second one's beginning.
	before, after, err := Compact(t.Context(), b.path)
	if err != nil || before.Sessions != 20 || after.Entries != before.Entries {
		t.Fatalf("%+v became %+v, %v", before, after, err)
	}
	info, err := os.Stat(b.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("at most %d KiB in use, the file %d KiB; written anew %d KiB, of which %d KiB are in use",
		used>>10, length>>10, info.Size()>>10, (after.Size-after.Free)>>10)
	if float64(length) > 2.5*float64(used) {
		t.Errorf("the file has %d bytes where at most %d were in use", length, used)
	}
	if live := after.Size - after.Free; info.Size() > live+2*growBy {
		t.Errorf("written anew it has %d bytes where %d are in use", info.Size(), live)
	}
	storetest.Equal(t, "files of the directory", names(t, dir), []string{fileName, lockName, markName})
	again := openTest(t, dir)
	storetest.Equal(t, "a log", storetest.Entries(t, again, storetest.ID(915)), want)
}

// together runs f for 0 to n-1 at the same time, and waits.
func together(t *testing.T, n int, f func(int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(testgo.Guard(t, func() { f(i) }))
	}
	all.Wait()
}
