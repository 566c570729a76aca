package bolt

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/storetest"
)

func TestReopen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ref := session.BlockRef{Turn: storetest.TurnA, Message: storetest.MsgA, Number: 0, Kind: provider.KindThinking}
	want := []session.Entry{storetest.Said(storetest.TurnA, "x"), storetest.Started(storetest.TurnA)}
	b := openTest(t, dir)
	for i := range 20 {
		storetest.Create(t, b, session.Session{ID: storetest.ID(i), Updated: int64(i)})
	}
	storetest.Add(t, b, storetest.ID(3), want...)
	b.writes().Checkpoint(storetest.ID(3), ref, 0, "half a thought")
	if err := b.Close(); err != nil { // writes what waits
		t.Fatal(err)
	}

	b = openTest(t, dir)
	storetest.Equal(t, "entries", storetest.Entries(t, b, storetest.ID(3)), want)
	open, err := b.OpenTurns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	storetest.Equal(t, "open turns", open, []session.Ref{{ID: storetest.ID(3)}})
	growth, err := b.writes().Checkpoints(t.Context(), storetest.ID(3))
	if err != nil {
		t.Fatal(err)
	}
	storetest.Equal(t, "growth", growth, []session.Growth{{BlockRef: ref, Text: "half a thought"}})
	page, _, err := b.List(t.Context(), session.Query{Limit: 2})
	if err != nil || len(page) != 2 || page[0].ID != storetest.ID(3) || page[1].ID != storetest.ID(19) {
		t.Errorf("list: %v, %v", page, err)
	}
	if last := storetest.Add(t, b, storetest.ID(3), storetest.Ended(storetest.TurnA)); last != 3 {
		t.Errorf("goes on at %d, want 3", last)
	}
}

// TestLazyWalk has a store that is not walked whole at start: each log is when it is first used.
func TestLazyWalk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, err := openStore(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := make([]session.Entry, 40)
	for i := range want {
		want[i] = session.Entry{Seq: uint64(i), Body: session.Repair{API: strings.Repeat("x", 900)}}
	}
	for i := range 3 {
		storetest.Create(t, b, session.Session{ID: storetest.ID(i)})
		storetest.Add(t, b, storetest.ID(i), want...)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	zeroLog(t, b.path, storetest.ID(1))

	b, err = openStore(dir, Options{testSmall: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	storetest.Create(t, b, session.Session{ID: storetest.ID(7)})
	storetest.Add(t, b, storetest.ID(7), want...)
	for _, id := range []session.ID{storetest.ID(0), storetest.ID(2), storetest.ID(7)} {
		storetest.Add(t, b, id, want[0])
		storetest.Equal(t, string(id), storetest.Entries(t, b, id), append(want[:len(want):len(want)], want[0]))
	}
	_, err = b.writes().Append(t.Context(), storetest.ID(1), want[0])
	storetest.WantErr(t, "append", err, session.ErrDamaged)
	_, err = b.Entries(t.Context(), storetest.ID(1), 0, 1)
	storetest.WantErr(t, "entries", err, session.ErrDamaged)
	_, err = b.Get(t.Context(), storetest.ID(1))
	storetest.WantErr(t, "get", err, session.ErrDamaged)
	storetest.WantErr(t, "delete", b.Delete(t.Context(), storetest.ID(1)), session.ErrDamaged)
	page, _, err := b.List(t.Context(), session.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range page {
		if damaged := s.Status == session.Damaged; damaged != (s.ID == storetest.ID(1)) {
			t.Errorf("session %s is listed as %s", s.ID, s.Status)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	report, err := CheckFile(t.Context(), b.path)
	if err != nil || len(report.Damaged) != 1 || report.Damaged[0].Session.ID != storetest.ID(1) || report.Sessions != 4 {
		t.Errorf("check: %+v, %v", report, err)
	}
}

// TestDeletedIsForgotten deletes sessions of a store that is walked log by log. What was known of them goes with them: of those that come
// and go the daemon would else keep something for ever.
func TestDeletedIsForgotten(t *testing.T) {
	t.Parallel()
	b, err := openStore(t.TempDir(), Options{testSmall: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	parent, child := storetest.ID(1), storetest.ID(2)
	storetest.Conversed(t, b, parent)
	v, err := session.Load(t.Context(), b, parent)
	if err != nil {
		t.Fatal(err)
	}
	record, _, err := v.Fork("")
	if err != nil {
		t.Fatal(err)
	}
	record.ID = child
	storetest.Create(t, b, record)
	b.writes().Checkpoint(parent, session.BlockRef{Turn: storetest.TurnB, Message: storetest.MsgB, Number: 7}, 0, "growth of a block that has no end")
	known := func() (ids []session.ID) {
		b.mu.Lock()
		defer b.mu.Unlock()
		for id := range b.vetted {
			ids = append(ids, session.ID(id))
		}
		for id := range b.growth {
			ids = append(ids, session.ID(id))
		}
		slices.Sort(ids)
		return ids
	}
	storetest.Equal(t, "known before", known(), []session.ID{parent, parent, child})
	for _, id := range []session.ID{parent, child} {
		if err := b.Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if _, err := session.Load(t.Context(), b, child); id == parent && err != nil { // walks what it shares
			t.Error(err)
		}
	}
	storetest.Equal(t, "known after", known(), []session.ID(nil))
}

// zeroLog wipes the root page of a session's log.
func zeroLog(t *testing.T, path string, id session.ID) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var at int64
	err = db.View(func(tx *bbolt.Tx) error {
		at = int64(tx.Bucket(logBucket).Bucket([]byte(id)).Root()) * int64(db.Info().PageSize)
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil || at == 0 {
		t.Fatal(at, err)
	}
	writeAt(t, path, at, make([]byte, 4096))
}

func writeAt(t *testing.T, path string, at int64, data []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(data, at)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestRecordAgainstLog(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		damage func(*bbolt.Tx) error
	}{
		{"last entry lost", func(tx *bbolt.Tx) error {
			return tx.Bucket(logBucket).Bucket([]byte(storetest.ID(1))).Delete(position(2))
		}},
		{"entry of another position", func(tx *bbolt.Tx) error {
			log := tx.Bucket(logBucket).Bucket([]byte(storetest.ID(1)))
			return log.Put(position(2), bytes.Clone(log.Get(position(1))))
		}},
		{"entry of another session", func(tx *bbolt.Tx) error {
			log := tx.Bucket(logBucket)
			return log.Bucket([]byte(storetest.ID(1))).Put(position(2), bytes.Clone(log.Bucket([]byte(storetest.ID(2))).Get(position(2))))
		}},
		{"changed bit", func(tx *bbolt.Tx) error {
			log := tx.Bucket(logBucket).Bucket([]byte(storetest.ID(1)))
			value := bytes.Clone(log.Get(position(2)))
			value[len(value)-3] ^= 1
			return log.Put(position(2), value)
		}},
		{"record does not fit", func(tx *bbolt.Tx) error {
			r, err := getRecord(tx, rowKey(storetest.ID(1)))
			if err != nil {
				return err
			}
			r.Title = "forged"
			r.Usage.Output = 99
			value, err := r.encode()
			return errors.Join(err, tx.Bucket(sessionBucket).Put([]byte(storetest.ID(1)), value))
		}},
	} {
		dir := t.TempDir()
		b, err := openStore(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			storetest.Create(t, b, session.Session{ID: storetest.ID(i)})
			storetest.Add(t, b, storetest.ID(i), storetest.Said(storetest.TurnA, "x"), storetest.Started(storetest.TurnA))
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		db, err := bbolt.Open(b.path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Update(c.damage), db.Close()); err != nil {
			t.Fatal(err)
		}
		report, err := CheckFile(t.Context(), b.path)
		if err != nil || len(report.Damaged) != 1 || report.Damaged[0].Session.ID != storetest.ID(1) || !errors.Is(report.Damaged[0].Err, session.ErrDamaged) {
			t.Errorf("%s: check says %+v, %v", c.name, report, err)
		}
		if c.name == "record does not fit" {
			continue // only the check folds
		}
		if b, err = openStore(dir, Options{}); err != nil {
			t.Fatal(err)
		}
		_, err = session.Load(t.Context(), b, storetest.ID(1))
		storetest.WantErr(t, c.name, err, session.ErrDamaged)
		if _, err := session.Load(t.Context(), b, storetest.ID(2)); err != nil {
			t.Errorf("%s: another session: %v", c.name, err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSecondOwner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := openTest(t, dir)
	begin := time.Now()
	_, err := openStore(dir, Options{})
	locked, ok := errors.AsType[*LockedError](err)
	if !ok || locked.PID != os.Getpid() || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("second open: %v", err)
	}
	t.Logf("the second open took %v", time.Since(begin).Round(time.Millisecond))
	if _, err := CheckFile(t.Context(), b.path); !errors.As(err, &locked) {
		t.Errorf("check of a store in use: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	openTest(t, dir)
}

// refused opens a store that must be refused, and checks that no file was touched.
func refused(t *testing.T, what, dir string, want error, words ...string) {
	t.Helper()
	before := contents(t, dir)
	b, err := openStore(dir, Options{})
	if err == nil {
		b.Close()
		t.Errorf("%s: it opened", what)
		return
	}
	storetest.WantErr(t, what, err, want)
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %q does not say %q", what, err, word)
		}
	}
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
		t.Errorf("%s: files were touched:\n%s", what, diff)
	}
}

// contents is all files but the lock.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for _, entry := range list {
		if entry.Name() == lockName {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[entry.Name()] = string(data)
	}
	return all
}

func TestMark(t *testing.T) {
	t.Parallel()
	made := func() (dir, file, mark string) {
		dir = t.TempDir()
		b, err := openStore(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		storetest.Create(t, b, session.Session{ID: storetest.ID(1)})
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		return dir, b.path, filepath.Join(dir, markName)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	copyFile := func(from, to string) {
		t.Helper()
		data, err := os.ReadFile(from)
		must(err)
		must(os.WriteFile(to, data, 0o600))
	}
	opens := func(what, dir string, sessions int) {
		t.Helper()
		b, err := openStore(dir, Options{})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
		defer b.Close()
		page, _, err := b.List(t.Context(), session.Query{})
		if err != nil || len(page) != sessions {
			t.Errorf("%s: %d sessions, want %d; %v", what, len(page), sessions, err)
		}
	}

	dir, file, mark := made()
	must(os.Remove(file))
	refused(t, "missing", dir, session.ErrDamaged, "is missing", "restore a copy", "remove thinkd.mark")
	must(os.WriteFile(file, nil, 0o600))
	refused(t, "empty", dir, session.ErrDamaged, "is empty")
	must(os.WriteFile(mark, []byte("scribble"), 0o600))
	refused(t, "empty, and the mark unreadable", dir, session.ErrDamaged, "is empty")
	must(os.Remove(mark))
	opens("empty without a mark", dir, 0)
	must(os.Remove(mark))
	must(os.Remove(file))
	opens("nothing", dir, 0)

	dir, file, mark = made()
	otherDir, otherFile, _ := made()
	copyFile(otherFile, file)
	refused(t, "another store", dir, session.ErrDamaged, "not the store that was here")
	must(os.Remove(mark))
	opens("another store, and the mark removed", dir, 1)
	must(os.Remove(filepath.Join(otherDir, markName)))
	opens("the mark lost", otherDir, 1)
	if m, err := readMark(otherDir); err != nil || m.store == "" {
		t.Errorf("the mark was not written again: %v, %v", m, err)
	}

	must(os.WriteFile(file, []byte(strings.Repeat("some other file\n", 1000)), 0o600))
	refused(t, "no store at all", dir, session.ErrDamaged, "is no head page")
	must(os.WriteFile(file, []byte("short"), 0o600))
	refused(t, "a short file", dir, session.ErrDamaged)

	must(os.Remove(file))
	db, err := bbolt.Open(file, 0o600, nil)
	must(err)
	must(db.Close())
	refused(t, "an empty database of bbolt's", dir, session.ErrDamaged, "meta")
}

func TestNewer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format string
		want   error
	}{{strconv.Itoa(formatVersion + 1), session.ErrNewer}, {"1000", session.ErrNewer}, {"0", session.ErrDamaged}, {"-1", session.ErrDamaged}, {"", session.ErrDamaged}, {"one", session.ErrDamaged}} {
		dir := t.TempDir()
		b, err := openStore(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		db, err := bbolt.Open(b.path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(func(tx *bbolt.Tx) error {
			tx.DeleteBucket(indexBucket) // another format may have other buckets
			return tx.Bucket(metaBucket).Put(formatKey, []byte(c.format))
		})
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		refused(t, "format "+c.format, dir, c.want)
		_, err = CheckFile(t.Context(), b.path)
		storetest.WantErr(t, "check of format "+c.format, err, c.want)
	}
}

func TestHalfMadeStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, fileName+".new"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := openTest(t, dir)
	storetest.Create(t, b, session.Session{ID: storetest.ID(1)})
	if _, err := os.Stat(filepath.Join(dir, fileName+".new")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a crash left at the first start is still there: %v", err)
	}
}

// TestReplaced takes the file away from under the store.
func TestReplaced(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs: a system on which an open file can be removed")
	}
	for _, c := range []struct {
		name string
		do   func(path, older string) error
	}{
		{"unlinked", func(path, _ string) error { return os.Remove(path) }},
		{"renamed", func(path, _ string) error { return os.Rename(path, path+".away") }},
		{"replaced", func(path, older string) error { return os.Rename(older, path) }},
		{"overwritten by an older copy", func(path, older string) error {
			data, err := os.ReadFile(older)
			return errors.Join(err, os.WriteFile(path, data, 0o600))
		}},
		{"truncated", func(path, _ string) error { return os.Truncate(path, 0) }},
		{"cut", func(path, _ string) error { return os.Truncate(path, 8192) }},
	} {
		for _, write := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, write %t", c.name, write), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				states := make(chan error, 10)
				b, err := openStore(dir, Options{OnState: func(readOnly bool, why error) { states <- why }})
				if err != nil {
					t.Fatal(err)
				}
				defer b.Close()
				storetest.Create(t, b, session.Session{ID: storetest.ID(1)})
				older := filepath.Join(dir, "older")
				data, err := os.ReadFile(b.path)
				if err := errors.Join(err, os.WriteFile(older, data, 0o600)); err != nil {
					t.Fatal(err)
				}
				storetest.Add(t, b, storetest.ID(1), storetest.Said(storetest.TurnA, "x"), storetest.Started(storetest.TurnA))
				if err := c.do(b.path, older); err != nil {
					t.Fatal(err)
				}
				if _, err := session.Load(t.Context(), b, storetest.ID(1)); err != nil && !errors.Is(err, session.ErrReplaced) && !errors.Is(err, session.ErrDamaged) {
					t.Errorf("load: %v", err)
				}
				if write {
					_, err = b.writes().Append(t.Context(), storetest.ID(1), storetest.Ended(storetest.TurnA))
					if !errors.Is(err, session.ErrReplaced) && !errors.Is(err, session.ErrDamaged) {
						t.Errorf("append: %v", err)
					}
				} else if strings.HasPrefix(c.name, "overwritten") {
					return // only a write can tell, and no answer depends on it before
				}
				select {
				case why := <-states:
					storetest.WantErr(t, "state", why, session.ErrReplaced)
				case <-time.After(time.Minute): // a bound for failures
					t.Fatal("the state was not reported")
				}
				_, err = b.writes().Append(t.Context(), storetest.ID(1), storetest.Ended(storetest.TurnA))
				storetest.WantErr(t, "append afterwards", err, session.ErrReplaced)
				_, err = b.Get(t.Context(), storetest.ID(1))
				storetest.WantErr(t, "get afterwards", err, session.ErrReplaced)
				if now, err := os.ReadFile(b.path); err == nil && len(now) == len(data) && !bytes.Equal(now, data) {
					t.Error("the other file was written to")
				}
			})
		}
	}
}
