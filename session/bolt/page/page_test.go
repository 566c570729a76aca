package page

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
)

// sample is a database with a bucket of many values, one inside of its item, and free pages.
func sample(t *testing.T) (data []byte, want map[string]string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: 1024})
	if err != nil {
		t.Fatal(err)
	}
	want = make(map[string]string)
	for round := range 2 { // the second leaves free pages
		err = db.Update(func(tx *bbolt.Tx) error {
			large, err := tx.CreateBucketIfNotExists([]byte("large"))
			if err != nil {
				return err
			}
			for i := range 150 {
				key, value := fmt.Sprintf("key %03d", i), string(bytes.Repeat([]byte{byte('a' + round)}, 1+i%5*400))
				want["large/"+key] = value
				if err := large.Put([]byte(key), []byte(value)); err != nil {
					return err
				}
			}
			small, err := tx.CreateBucketIfNotExists([]byte("small"))
			if err != nil {
				return err
			}
			want["small/k"] = "v"
			return small.Put([]byte("k"), []byte("v"))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if data, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return data, want
}

// read walks all buckets of a database, in parts if they are large, and is what they have.
func read(data []byte) (got map[string]string, err error) {
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	got = make(map[string]string)
	taken := f.NewUse()
	err = f.Walk(f.Head.Root, taken, func(bucket Item) error {
		bucket = bucket.Clone()
		parts, err := f.Parts(bucket, 3, taken)
		if err != nil {
			return err
		}
		for _, part := range parts {
			err := f.Clone().WalkPart(part, taken, Values(func(it Item) error {
				got[string(bucket.Key)+"/"+string(it.Key)] = string(it.Value)
				return nil
			}))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	free, err := f.Free(taken)
	if err != nil {
		return nil, err
	}
	for _, id := range free {
		if err := taken.Take(id, 1); err != nil {
			return nil, err
		}
	}
	if n := taken.Count() + 2; uint64(n) != f.Head.Count {
		return nil, fmt.Errorf("%d pages of %d are in use or free", n, f.Head.Count)
	}
	return got, nil
}

// A walk finds what bbolt wrote, and each page is needed for that: one that is zeroed is found, unless it is free.
func TestWalk(t *testing.T) {
	data, want := sample(t)
	got, err := read(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Errorf("%d values, want %d", len(got), len(want))
	}
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s has %.10q, want %.10q", key, got[key], value)
		}
	}
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	free, err := f.Free(f.NewUse())
	if err != nil || len(free) == 0 {
		t.Fatalf("free pages: %v, %v", free, err)
	}
	isFree := f.NewUse()
	for _, id := range free {
		if err := isFree.Take(id, 1); err != nil {
			t.Fatal(err)
		}
	}
	raw := make([]byte, f.PageSize())
	for id := range f.Head.Count {
		if err := f.Raw(id, raw); err != nil || !bytes.Equal(raw, data[int(id)*f.PageSize():][:f.PageSize()]) {
			t.Fatalf("page %d: %v", id, err)
		}
		damaged := bytes.Clone(data)
		clear(damaged[int(id)*f.PageSize():][:f.PageSize()])
		got, err := read(damaged)
		switch {
		case isFree.Has(id):
			if err != nil {
				t.Errorf("free page %d is zeroed: %v", id, err)
			}
		case err == nil && len(got) == len(want) && got["small/k"] == "v" && same(got, want):
			t.Errorf("page %d is zeroed, and nothing shows", id)
		}
	}
}

func same(a, b map[string]string) bool {
	for key, value := range a {
		if b[key] != value {
			return false
		}
	}
	return true
}

// A page belongs to one tree.
func TestUse(t *testing.T) {
	f := Assume(bytes.NewReader(nil), 1024, 200)
	one, other := f.NewUse(), f.NewUse()
	if err := one.Take(63, 3); err != nil || !one.Has(63) || !one.Has(65) || one.Has(62) || one.Has(66) {
		t.Errorf("%b, %v", one, err)
	}
	if one.Take(65, 1) == nil {
		t.Error("a page was taken twice")
	}
	if err := other.Take(100, 1); err != nil {
		t.Fatal(err)
	}
	if err := one.Merge(other); err != nil || one.Count() != 4 {
		t.Errorf("%d pages, %v", one.Count(), err)
	}
	if err := one.Merge(other); err == nil {
		t.Error("a page of two trees was taken")
	}
}
