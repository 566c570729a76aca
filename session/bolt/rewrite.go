package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"go.etcd.io/bbolt"

	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/bolt/page"
)

// A file of an older format is upgraded before it is used, and the old file is kept as thinkd.db.format-N. To go back to an older
// program, put that file in place of thinkd.db.
//
// Up to format 3 the store is rewritten next to the old file, in commits of a bounded size, and is checked. Then the old file gets the
// second name, and the new one takes its place. A crash on the way leaves the old file as it was, and the next start begins again. The
// disk needs room for both.
//
// What is damaged in the old file is as damaged in the new one, except a log whose pages cannot be walked: that is in the old
// file alone.
//
// A file of format 4 is copied, and then upgraded in place, since only the number of its format changes. That is one commit. The disk
// needs room for the copy, unless the file system shares blocks between files. Without a copy there is no upgrade.

// upgrade upgrades the file, which is open.
func (b *Store) upgrade(inv *inventory) (*inventory, error) {
	if inv.format < fixedFormat {
		return b.upgradeAnew(inv.format)
	}
	kept, err := copyFormat(b.path, inv.format)
	if err == nil {
		err = guard(func() error {
			return b.db.Update(func(tx *bbolt.Tx) error {
				return tx.Bucket(metaBucket).Put(formatKey, []byte(strconv.Itoa(formatVersion)))
			})
		})
	}
	if err != nil {
		return nil, errors.Join(upgradeError(inv.format, err), b.closeFile())
	}
	if b.opt.Upgraded != nil {
		b.opt.Upgraded(inv.format, kept)
	}
	inv.tx++
	inv.format = formatVersion
	return inv, nil
}

func upgradeError(format int, err error) error {
	return fmt.Errorf("upgrade of %s from format %d to %d: %w", fileName, format, formatVersion, err)
}

// upgradeAnew writes a new file, and opens it.
func (b *Store) upgradeAnew(format int) (*inventory, error) {
	if err := b.closeFile(); err != nil {
		return nil, err
	}
	fresh := b.path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) { // of one that was killed
		return nil, err
	}
	err := rewriteFormat(b.path, fresh)
	var kept string
	if err == nil {
		kept, err = keepFormat(b.path, format)
	}
	if err != nil {
		if gone := os.Remove(fresh); !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
		return nil, upgradeError(format, err)
	}
	if err := durable.Publish(fresh, b.path); err != nil {
		return nil, err
	}
	if b.opt.Upgraded != nil {
		b.opt.Upgraded(format, kept)
	}
	return b.openFile(walkRecords, readWrite)
}

// keepFormat gives the file a second name that no other has, durably with the rename that follows.
func keepFormat(path string, format int) (kept string, err error) {
	ours, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	kept, there, err := formatName(path, format, func(other os.FileInfo, _ string) (bool, error) { return os.SameFile(ours, other), nil })
	if err != nil || there {
		return kept, err
	}
	if os.Link(path, kept) == nil {
		return kept, nil
	}
	return kept, durable.Copy(path, kept) // there are file systems without links
}

// copyFormat copies the file to a name that no other has. The copy is durable.
func copyFormat(path string, format int) (kept string, err error) {
	ours, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	kept, there, err := formatName(path, format, func(other os.FileInfo, name string) (bool, error) {
		if other.Size() != ours.Size() || !other.Mode().IsRegular() {
			return false, nil
		}
		return sameText(path, name)
	})
	if err != nil || there {
		return kept, err
	}
	return kept, durable.Copy(path, kept)
}

// formatName is the name for a kept file. there is true if the file of that name is the one to keep, left by an upgrade that was killed.
func formatName(path string, format int, same func(other os.FileInfo, name string) (bool, error)) (kept string, there bool, err error) {
	name := path + ".format-" + strconv.Itoa(format)
	for kept = name; ; kept = name + "-" + session.NewStoreID() {
		other, err := os.Lstat(kept)
		if errors.Is(err, os.ErrNotExist) {
			return kept, false, nil
		}
		if err == nil {
			there, err = same(other, kept)
		}
		if err != nil || there {
			return kept, there, err
		}
	}
}

// sameText reports whether two files of one size have the same contents.
func sameText(a, b string) (bool, error) {
	f, err := durable.Open(a, os.O_RDONLY)
	if err != nil {
		return false, err
	}
	defer f.Close()
	g, err := durable.Open(b, os.O_RDONLY)
	if err != nil {
		return false, err
	}
	defer g.Close()
	left, right := make([]byte, 1<<16), make([]byte, 1<<16)
	for {
		n, err := io.ReadFull(f, left)
		m, otherErr := io.ReadFull(g, right)
		switch {
		case n != m || !bytes.Equal(left[:n], right[:m]):
			return false, nil
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return true, nil
		case err != nil || otherErr != nil:
			return false, errors.Join(err, otherErr)
		}
	}
}

// rewriteFormat writes what a file of an older format holds to a new one, durable and checked on return.
func rewriteFormat(path, fresh string) error {
	from := &Store{path: path}
	inv, err := from.openFile(walkLogs, readOnly)
	if err != nil {
		return err
	}
	defer from.closeFile() // nothing was written
	to, err := openFresh(fresh)
	if err != nil {
		return err
	}
	w := &rewriter{from: from, to: to, damaged: inv.damaged}
	err = guard(w.run)
	if err := errors.Join(err, to.Sync(), to.Close()); err != nil {
		return err
	}
	report, err := checkFile(context.Background(), fresh, inv.store)
	if err != nil {
		return err
	}
	for _, d := range report.Damaged {
		if inv.damaged[keyOf(d.Session)] == nil {
			return fmt.Errorf("%w: session %s: %w", session.ErrDamaged, d.Session, d.Err)
		}
	}
	if report.Sessions != w.sessions {
		return fmt.Errorf("%w: the new file has %d sessions of %d", session.ErrDamaged, report.Sessions, w.sessions)
	}
	return nil
}

// rewriter copies one file to another.
type rewriter struct {
	from     *Store
	to       *bbolt.DB
	damaged  map[rowKey]error // in the old file
	sessions int

	tx   *bbolt.Tx // of the new file
	size int       // bytes in it
}

func (w *rewriter) run() (err error) {
	if w.tx, err = w.to.Begin(true); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.tx.Rollback())
		} else {
			err = w.tx.Commit()
		}
	}()
	for _, name := range allBuckets() {
		if _, err := w.tx.CreateBucket(name); err != nil {
			return err
		}
	}
	return w.from.view(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{metaBucket, openBucket, creationBucket, forkBucket} {
			if old := tx.Bucket(name); old != nil {
				if err := old.ForEach(func(key, value []byte) error { return w.put(name, nil, key, value) }); err != nil {
					return err
				}
			}
		}
		meta := w.tx.Bucket(metaBucket)
		if err := errors.Join(meta.Delete(roomKey), meta.Put(formatKey, []byte(strconv.Itoa(formatVersion)))); err != nil {
			return err
		}
		if err := w.records(tx); err != nil {
			return err
		}
		return errors.Join(w.own(tx, logBucket), w.own(tx, growthBucket))
	})
}

// put writes a value, in a bucket of a session if one is given, and commits now and then.
func (w *rewriter) put(name, id, key, value []byte) (err error) {
	if w.size += len(key) + len(value); w.size > compactBatch {
		if err := w.tx.Commit(); err != nil {
			return err
		}
		if w.tx, err = w.to.Begin(true); err != nil {
			return err
		}
		w.size = 0
	}
	bucket := w.tx.Bucket(name)
	if id != nil {
		if bucket, err = bucket.CreateBucketIfNotExists(id); err != nil {
			return err
		}
	}
	bucket.FillPercent = 0.9 // keys come in order
	if key == nil {
		return nil
	}
	return bucket.Put(key, value)
}

// records numbers the sessions in the order of the index, which has the times of their last changes, and splits their records.
func (w *rewriter) records(tx *bbolt.Tx) error {
	sessions := tx.Bucket(sessionBucket)
	err := tx.Bucket(indexBucket).ForEach(func(key, _ []byte) error {
		id := rowKey(key[8:])
		value := sessions.Get([]byte(id))
		if value == nil {
			return fmt.Errorf("%w: session %s has no record", session.ErrDamaged, id)
		}
		w.sessions++
		r, err := readRecord(id, value, false)
		f := fixedOf(r.Session)
		r.change = uint64(w.sessions)
		if err == nil {
			value, err = r.encode()
		}
		if err != nil && w.damaged[id] == nil { // one that is damaged is copied as it is
			return err
		}
		rest, err := f.encode(id)
		if err != nil {
			return err
		}
		place := indexKey(r.change, id)
		return errors.Join(
			w.put(sessionBucket, nil, []byte(id), value),
			w.put(fixedBucket, nil, []byte(id), rest),
			w.put(indexBucket, nil, place, seal(place, nil)))
	})
	return errors.Join(err, w.tx.Bucket(indexBucket).SetSequence(uint64(w.sessions)))
}

// own copies the buckets of single sessions. Those that bbolt could not walk are left out.
func (w *rewriter) own(tx *bbolt.Tx, name []byte) error {
	buckets := tx.Bucket(name)
	return buckets.ForEachBucket(func(id []byte) error {
		bucket := buckets.Bucket(id)
		if w.damaged[rowKey(id)] != nil && !w.walks(tx, bucket) {
			return nil
		}
		if err := w.put(name, id, nil, nil); err != nil {
			return err
		}
		err := guard(func() error {
			return bucket.ForEach(func(key, value []byte) error { return w.put(name, id, key, value) })
		})
		if errors.Is(err, session.ErrDamaged) && w.damaged[rowKey(id)] != nil {
			return nil
		}
		return err
	})
}

func (w *rewriter) walks(tx *bbolt.Tx, bucket *bbolt.Bucket) bool {
	size := w.from.db.Info().PageSize
	p := page.Assume(w.from.file, size, uint64(tx.Size())/uint64(size))
	if bucket.Root() == 0 {
		return true // it is in its parent's page, and leads to no other
	}
	return p.WalkValues(page.BucketAt(uint64(bucket.Root())), p.NewUse(), func(page.Item) error { return nil }) == nil
}
