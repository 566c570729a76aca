package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// compactBatch is how much goes into one commit of the new file, in bytes.
const compactBatch = 4 << 20

// Compact writes a store's file anew without the pages that nothing uses, and puts the new one in its place when it has
// been checked: before has the report of the old one, after of the new one. The errors are those of CheckFile. A store with damage is
// ErrDamaged and stays as it is. It needs room for both.
func Compact(ctx context.Context, path string) (before, after Report, err error) {
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
	lock, err := lockFile(filepath.Join(dir, lockName), makeIfMissing)
	if err != nil {
		return before, after, err
	}
	defer unlockFile(lock) // it ends with the process at the latest
	if before, err = checkFile(ctx, path, m.store); err != nil {
		return before, after, err
	}
	if len(before.Damaged) > 0 {
		return before, after, fmt.Errorf("%w: %d sessions cannot be read; only a sound store is written anew", ErrDamaged, len(before.Damaged))
	}
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) { // of one that was killed
		return before, after, err
	}
	if err := rewrite(path, fresh); err != nil {
		return before, after, errors.Join(err, os.Remove(fresh))
	}
	after, err = checkFile(ctx, fresh, before.Store)
	if err == nil && (after.Sessions != before.Sessions || after.Entries != before.Entries || len(after.Damaged) > 0) {
		err = fmt.Errorf("%w: the new file has %d sessions and %d entries of %d and %d", ErrDamaged,
			after.Sessions, after.Entries, before.Sessions, before.Entries)
	}
	if err != nil {
		return before, after, errors.Join(err, os.Remove(fresh))
	}
	return before, after, publish(fresh, path)
}

// rewrite copies what a sound file holds to a new one, durable on return.
func rewrite(path, fresh string) error {
	from := &Bolt{path: path}
	if _, err := from.openFile(walkRecords, readOnly); err != nil {
		return err
	}
	defer from.closeFile() // nothing was written
	to, err := bbolt.Open(fresh, 0o600, &bbolt.Options{Timeout: lockWait, FreelistType: bbolt.FreelistMapType, NoSync: true,
		OpenFile: func(name string, flag int, _ os.FileMode) (*os.File, error) { return openPlain(name, flag) }})
	if err != nil {
		return err
	}
	to.AllocSize = growBy
	err = guard(func() error { return bbolt.Compact(to, from.db, compactBatch) })
	return errors.Join(err, to.Sync(), to.Close())
}
