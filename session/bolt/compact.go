package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/session"
)

// bbolt gives the pages of a deleted session to later commits, and overwrites them only then. Until then its bytes are in the file. To
// rewrite the file is the way to be rid of them:
//
//	old file --copy--> thinkd.db.new --compare, sync--> rename to thinkd.db
//
// A kill or a loss of power on the way leaves one of the two files under the name thinkd.db, and both hold the same. The next Open removes
// what is left of the other one.
//
// deletedKey is in the bucket meta from the first deletion on until the file is rewritten. So a rewrite is known to be due, also after a
// crash.

// compactBatch is how much goes into one commit of the new file, in bytes.
const compactBatch = 4 << 20

// Compact rewrites a store's file without the pages that nothing uses, and puts the new one in its place when it has
// been checked: before has the report of the old one, after of the new one. The errors are those of CheckFile. A store with damage is
// ErrDamaged and stays as it is. It needs room for both. While the store is open, see [Store.Compact].
func Compact(ctx context.Context, path string) (before, after session.Report, err error) {
	dir := filepath.Dir(path)
	m, err := readMark(dir)
	if err != nil {
		return before, after, err
	}
	there, err := present(path, m)
	if err != nil {
		return before, after, err
	}
	if !there {
		return before, after, fmt.Errorf("%s: %w", filepath.Base(path), os.ErrNotExist)
	}
	lock, err := durable.TakeLock(filepath.Join(dir, lockName), true)
	if err != nil {
		return before, after, err
	}
	defer lock.Free() // it ends with the process at the latest
	if before, err = checkFile(ctx, path, m.store); err != nil {
		return before, after, err
	}
	if len(before.Damaged) > 0 {
		return before, after, refuseDamaged(len(before.Damaged))
	}
	fresh := freshName(path)
	if err := rewrite(path, fresh); err != nil {
		return before, after, errors.Join(err, removeIfThere(fresh))
	}
	after, err = checkFile(ctx, fresh, before.Store)
	if err == nil && (after.Sessions != before.Sessions || after.Entries != before.Entries || len(after.Damaged) > 0) {
		err = fmt.Errorf("%w: the new file has %d sessions and %d entries of %d and %d", session.ErrDamaged,
			after.Sessions, after.Entries, before.Sessions, before.Entries)
	}
	if err != nil {
		return before, after, errors.Join(err, os.Remove(fresh))
	}
	return before, after, durable.Publish(fresh, path)
}

func refuseDamaged(sessions int) error {
	return fmt.Errorf("%w: %d sessions cannot be read; only an undamaged store is rewritten", session.ErrDamaged, sessions)
}

// freshName is where the next file of a store is written.
func freshName(path string) string { return path + ".new" }

// removeLeftovers removes what a process left that was killed during a rewrite or a check. Either holds what sessions had that may
// be deleted since.
func removeLeftovers(path string) error {
	return errors.Join(removeIfThere(freshName(path)), removeIfThere(checkName(path)), removeIfThere(partName(checkName(path))))
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// rewrite copies what a sound file holds to a new one, durable on return.
func rewrite(path, fresh string) error {
	from := &Store{path: path}
	if _, err := from.openFile(walkRecords, readOnly); err != nil {
		return err
	}
	defer from.closeFile() // nothing was written
	_, err := copyAnew(context.Background(), from.db, fresh)
	return err
}

// holdings counts what a file holds.
type holdings struct{ sessions, entries int }

// copyAnew copies what a sound file holds to a new one, compares the two, and makes the new one durable.
func copyAnew(ctx context.Context, from *bbolt.DB, fresh string) (holdings, error) {
	if err := removeIfThere(fresh); err != nil { // of one that was killed
		return holdings{}, err
	}
	to, err := openFresh(fresh)
	if err != nil {
		return holdings{}, err
	}
	c := comparison{ctx: ctx}
	err = guard(func() error {
		if err := bbolt.Compact(to, from, compactBatch); err != nil {
			return err
		}
		err := from.View(func(old *bbolt.Tx) error {
			return to.View(func(new *bbolt.Tx) error { return c.compare(old, new) })
		})
		if err != nil {
			return err
		}
		return to.Update(func(tx *bbolt.Tx) error { return tx.Bucket(metaBucket).Delete(deletedKey) })
	})
	return c.holdings, errors.Join(err, to.Sync(), to.Close())
}

// openFresh opens a file that is written without syncs. The caller syncs it at the end.
func openFresh(path string) (*bbolt.DB, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockWait, FreelistType: bbolt.FreelistMapType, NoSync: true,
		OpenFile: func(name string, flag int, _ os.FileMode) (*os.File, error) { return durable.Open(name, flag) }})
	if err == nil {
		db.AllocSize = growBy
	}
	return db, err
}

// comparison walks two files that are to hold the same, and counts.
type comparison struct {
	ctx context.Context
	holdings
}

func (c *comparison) compare(old, new *bbolt.Tx) error {
	return c.cursors(old.Cursor(), new.Cursor(), func(name []byte) error {
		a, b := old.Bucket(name), new.Bucket(name)
		switch {
		case bytes.Equal(name, sessionBucket):
			return c.buckets(a, b, func() { c.sessions++ })
		case bytes.Equal(name, logBucket):
			return c.cursors(a.Cursor(), b.Cursor(), func(id []byte) error {
				return c.buckets(a.Bucket(id), b.Bucket(id), func() { c.entries++ })
			})
		}
		return c.buckets(a, b, func() {})
	})
}

var errDiffers = fmt.Errorf("%w: the new file does not hold what the old one does", session.ErrDamaged)

// buckets compares two buckets, and calls value for each of their values.
func (c *comparison) buckets(old, new *bbolt.Bucket, value func()) error {
	if old.Sequence() != new.Sequence() {
		return errDiffers
	}
	x, y := old.Cursor(), new.Cursor()
	k, v := x.First()
	l, w := y.First()
	for ; k != nil && bytes.Equal(k, l) && bytes.Equal(v, w) && (v == nil) == (w == nil); k, v = x.Next() {
		if v != nil {
			value()
		} else if err := c.buckets(old.Bucket(k), new.Bucket(l), value); err != nil {
			return err
		}
		l, w = y.Next()
	}
	if k != nil || l != nil {
		return errDiffers
	}
	return context.Cause(c.ctx)
}

// cursors compares two lists of buckets, and calls bucket for each.
func (c *comparison) cursors(old, new *bbolt.Cursor, bucket func(name []byte) error) error {
	k, v := old.First()
	l, w := new.First()
	for ; k != nil && bytes.Equal(k, l) && v == nil && w == nil; k, v = old.Next() {
		if err := bucket(k); err != nil {
			return err
		}
		l, w = new.Next()
	}
	if k != nil || l != nil {
		return errDiffers
	}
	return nil
}

// Compact is the function Compact for a store that is open. Reads go on, writes wait until it is over, and so does a backup. ctx ends it
// before the new file takes its name, not after. Damaged has no entries.
//
// A store that is read-only is ErrReadOnly. If the new file has its name and the name cannot be made durable, the store becomes
// read-only for good: a loss of power may bring the old file back, without what would be written from then on.
func (b *Store) Compact(ctx context.Context) (before, after session.Report, err error) {
	done, err := b.takeTurn(ctx)
	if err != nil {
		return before, after, err
	}
	defer done()
	over := make(chan struct{})
	run := func() {
		defer close(over)
		before, after, err = b.compactAlone(ctx)
	}
	select {
	case b.alone <- run:
		<-over
		return before, after, err
	case <-b.done:
		return before, after, session.ErrClosed
	case <-ctx.Done():
		return before, after, context.Cause(ctx)
	}
}

// compactAlone runs on the writer's goroutine.
func (b *Store) compactAlone(ctx context.Context) (before, after session.Report, err error) {
	if b.writer.trouble != nil {
		return before, after, b.refused()
	}
	if err := b.ours(); err != nil {
		b.end(err)
		return before, after, err
	}
	before, after, fresh, err := b.rewriteOpen(ctx)
	if err != nil {
		return before, after, errors.Join(err, removeIfThere(freshName(b.path)))
	}
	return before, after, b.swap(fresh)
}

// rewriteOpen writes the new file, checks it, and says what it is.
func (b *Store) rewriteOpen(ctx context.Context) (before, after session.Report, fresh examined, err error) {
	path := freshName(b.path)
	info, err := b.file.Stat()
	if err != nil {
		return before, after, fresh, err
	}
	inv, err := examine(b.file, info.Size(), walkLogs) // bbolt trusts what it reads
	if err != nil {
		return before, after, fresh, err
	}
	before = session.Report{Store: inv.store, Size: inv.size, Free: inv.free}
	if len(inv.damaged) > 0 {
		return before, after, fresh, refuseDamaged(len(inv.damaged))
	}
	held, err := copyAnew(ctx, b.db, path)
	if err != nil {
		return before, after, fresh, err
	}
	before.Sessions, before.Entries = held.sessions, held.entries
	check := &Store{path: path, store: b.store}
	fresh.inventory, err = check.openFile(walkLogs, readOnly)
	if err == nil && len(fresh.damaged) > 0 {
		err = errDiffers
	}
	if err != nil {
		return before, after, fresh, errors.Join(err, check.closeFile())
	}
	fresh.info = check.info
	after = before
	after.Size, after.Free = fresh.size, fresh.free
	return before, after, fresh, check.closeFile()
}

// examined is a file that was found sound.
type examined struct {
	*inventory
	info os.FileInfo
}

// swap puts the new file in place of the one that is open, and opens it.
func (b *Store) swap(fresh examined) error {
	failed, halts := b.swapFiles(fresh)
	if halts {
		b.writer.failures = failuresBorne + 1
		b.halt(failed)
	}
	return failed
}

// swapFiles is swap while nobody reads. halts says that nothing may be written any more.
func (b *Store) swapFiles(fresh examined) (err error, halts bool) {
	b.dbMu.Lock()
	defer b.dbMu.Unlock()
	err = b.closeFileLocked()
	if err == nil {
		err = durable.Publish(freshName(b.path), b.path)
	}
	if now, statErr := os.Lstat(b.path); statErr == nil && os.SameFile(now, fresh.info) {
		halts = err != nil
		b.info, b.writer.tx = fresh.info, fresh.tx
		b.mu.Lock()
		b.damaged, b.vetted = make(map[rowKey]error), nil // each log was walked
		b.mu.Unlock()
	} else {
		err = errors.Join(err, removeIfThere(freshName(b.path)))
	}
	if _, openErr := b.openFileLocked(walkHeads, readWrite); openErr != nil {
		return errors.Join(err, openErr), true
	}
	return err, halts
}

// Deletions reports whether something was deleted since the file was last rewritten, so that its bytes may still be in the file.
func (b *Store) Deletions() (there bool, err error) {
	err = b.view(func(tx *bbolt.Tx) error {
		there = tx.Bucket(metaBucket).Get(deletedKey) != nil
		return nil
	})
	return there, err
}
