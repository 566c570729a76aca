package bolt

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/bolt/page"
	"github.com/thinkd/thinkd/session/storetest"
)

// With so many sessions that their records are walked in parts, each session whose record or log is gone is found, and no
// other, wherever it stands.
func TestManySessions(t *testing.T) {
	t.Parallel()
	const sessions = 3000
	file, mark, ids := manySessions(t, sessions)
	p, err := page.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	top := make(map[string]page.Item)
	err = p.Walk(p.Head.Root, p.NewUse(), func(it page.Item) error {
		top[string(it.Key)] = it.Clone()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	parts, err := p.Parts(top[string(sessionBucket)], recordWalks, p.NewUse())
	if err != nil || len(parts) != recordWalks {
		t.Fatalf("the records are walked in %d parts: %v", len(parts), err)
	}
	for _, bucket := range [][]byte{sessionBucket, indexBucket, logBucket} { // the walks beside the one that stops end as well
		list := pagesOf(t, p, top[string(bucket)])
		for _, id := range []uint64{list[0], list[len(list)/2], list[len(list)-1]} {
			data := bytes.Clone(file)
			data[int(id)*p.PageSize()+8] = 0xFF // its flags
			if _, err := examine(bytes.NewReader(data), int64(len(data)), walkRecords); err == nil || !strings.Contains(err.Error(), "bucket "+string(bucket)) {
				t.Errorf("page %d of %s is broken: %v", id, bucket, err)
			}
		}
	}

	dropLogs := func(gone ...session.ID) func(*bbolt.Tx) error {
		return func(tx *bbolt.Tx) error {
			for _, id := range gone {
				if err := tx.Bucket(logBucket).DeleteBucket([]byte(id)); err != nil {
					return err
				}
			}
			return nil
		}
	}
	dropRecords := func(indexToo bool, gone ...session.ID) func(*bbolt.Tx) error {
		return func(tx *bbolt.Tx) error {
			for _, id := range gone {
				r, err := getRecord(tx, rowKey(id))
				if err != nil {
					return err
				}
				if err := tx.Bucket(sessionBucket).Delete([]byte(id)); err != nil {
					return err
				}
				if !indexToo {
					continue
				}
				if err := errors.Join(tx.Bucket(fixedBucket).Delete([]byte(id)), tx.Bucket(indexBucket).Delete(indexKey(r.change, rowKey(id)))); err != nil {
					return err
				}
			}
			return nil
		}
	}
	last := sessions - 1
	for _, c := range []struct {
		name    string
		change  func(*bbolt.Tx) error
		damaged []session.ID
		why     string
	}{
		{"nothing", func(*bbolt.Tx) error { return nil }, nil, ""},
		{"the first log", dropLogs(ids[0]), ids[:1], "its log is missing"},
		{"the last log", dropLogs(ids[last]), ids[last:], "its log is missing"},
		{"two logs apart", dropLogs(ids[700], ids[2100]), []session.ID{ids[700], ids[2100]}, "its log is missing"},
		{"more logs in a row than one batch has", dropLogs(ids[900 : 900+2*logEndsRoom]...), ids[900 : 900+2*logEndsRoom], "its log is missing"},
		{"the last logs, and all of a part", dropLogs(ids[1500:]...), ids[1500:], "its log is missing"},
		{"all logs", dropLogs(ids...), ids, "its log is missing"},
		{"the first record", dropRecords(true, ids[0]), ids[:1], "its record is missing"},
		{"records here and there", dropRecords(true, ids[1], ids[1499], ids[last]), []session.ID{ids[1], ids[1499], ids[last]}, "its record is missing"},
		{"a record that changed", func(tx *bbolt.Tx) error {
			value := bytes.Clone(tx.Bucket(sessionBucket).Get([]byte(ids[2000])))
			value[len(value)-1] ^= 1
			return tx.Bucket(sessionBucket).Put([]byte(ids[2000]), value)
		}, ids[2000:2001], "checksum is wrong"},
		{"a record that is listed", dropRecords(false, ids[44]), nil, fmt.Sprintf("it lists %d sessions of %d", sessions, sessions-1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, fileName)
			if err := os.WriteFile(path, file, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, markName), mark, 0o600); err != nil {
				t.Fatal(err)
			}
			db, err := bbolt.Open(path, 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Update(c.change); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			b, err := openStore(dir, Options{})
			if c.damaged == nil && c.why != "" {
				if err == nil || !strings.Contains(err.Error(), c.why) {
					t.Fatal(err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			var damaged []session.ID
			for _, key := range slices.Sorted(maps.Keys(b.damaged)) {
				damaged = append(damaged, key.ref().ID)
			}
			if diff := cmp.Diff(c.damaged, damaged); diff != "" {
				t.Error(diff)
			}
			for id, err := range b.damaged {
				if !strings.Contains(err.Error(), c.why) {
					t.Errorf("%s: %v", id, err)
				}
			}
		})
	}
}

// pagesOf lists the pages of a bucket's tree.
func pagesOf(t *testing.T, p *page.File, bucket page.Item) (list []uint64) {
	t.Helper()
	mine := p.NewUse()
	if err := p.WalkBucket(bucket, mine, func(page.Item) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for id := range p.Head.Count {
		if mine.Has(id) {
			list = append(list, id)
		}
	}
	return list
}

// manySessions is a store with as many, each with an entry, and their ids in order.
func manySessions(t *testing.T, number int) (file, mark []byte, ids []session.ID) {
	t.Helper()
	dir := t.TempDir()
	b := openTest(t, dir)
	for range number {
		ids = append(ids, session.NewID())
	}
	const writers = 128 // who share commits
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(testgo.Guard(t, func() {
			for i := w; i < number; i += writers {
				if err := b.Create(t.Context(), session.Session{ID: ids[i], Updated: int64(i % 7), Title: strings.Repeat("t", 80)}); err != nil {
					t.Error(err)
				}
				if _, err := b.writes().Append(t.Context(), ids[i], storetest.Said(storetest.TurnA, strings.Repeat("x", 900))); err != nil {
					t.Error(err)
				}
			}
		}))
	}
	writing.Wait()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(ids)
	file, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	if mark, err = os.ReadFile(filepath.Join(dir, markName)); err != nil {
		t.Fatal(err)
	}
	return file, mark, ids
}
