package bolt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/session"
)

// CheckFile reads all of a store's file: every page, record, entry and checkpoint, and folds every log. It never writes.
// The error is about the file as a whole, and then nothing is known of its sessions: os.ErrNotExist where no store ever
// was, *LockedError while a daemon has the file, and whatever else Open would say.
func CheckFile(ctx context.Context, path string) (session.Report, error) {
	lock, err := lockFile(filepath.Join(filepath.Dir(path), lockName), onlyIfThere)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return session.Report{}, err
	}
	if lock != nil {
		defer unlockFile(lock) // it ends with the process at the latest
	}
	m, err := readMark(filepath.Dir(path))
	if err != nil {
		return session.Report{}, err
	}
	there, err := present(path, m)
	if err != nil {
		return session.Report{}, err
	}
	if !there {
		return session.Report{}, fmt.Errorf("%s: %w", filepath.Base(path), os.ErrNotExist)
	}
	return checkFile(ctx, path, m.store)
}

// checkFile is CheckFile for a file that nobody else writes to. An empty store is any.
func checkFile(ctx context.Context, path, store string) (session.Report, error) {
	b := &Store{path: path, store: store}
	inv, err := b.openFile(walkLogs, readOnly)
	if err != nil {
		return session.Report{}, err
	}
	defer b.closeFile() // nothing was written
	b.damaged = inv.damaged
	if len(inv.damaged) == 0 {
		if err := b.checkPages(); err != nil {
			return session.Report{}, err
		}
	}
	r := session.Report{Store: inv.store, Size: inv.size, Free: inv.free}
	err = b.eachSession(func(id session.ID) error {
		r.Sessions++
		n, err := b.checkSession(ctx, id)
		r.Entries += n
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			r.Damaged = append(r.Damaged, session.Damage{ID: id, Err: err})
		}
		return nil
	})
	for id, err := range inv.damaged {
		if !slices.ContainsFunc(r.Damaged, func(d session.Damage) bool { return d.ID == id }) {
			r.Damaged = append(r.Damaged, session.Damage{ID: id, Err: err})
		}
	}
	slices.SortFunc(r.Damaged, func(a, b session.Damage) int { return cmp.Compare(a.ID, b.ID) })
	return r, err
}

// checkPages is bbolt's own check. It runs on a goroutine of bbolt's where a fault would end the process, so only after
// our walk has found nothing.
func (b *Store) checkPages() error {
	return b.view(func(tx *bbolt.Tx) error {
		var found error
		for err := range tx.Check() { // to the end, or bbolt's goroutine stays
			if found == nil {
				found = damagedFile(err)
			}
		}
		return found
	})
}

// eachSession calls f outside of a transaction.
func (b *Store) eachSession(f func(session.ID) error) error {
	var ids []session.ID
	err := b.view(func(tx *bbolt.Tx) error {
		return tx.Bucket(sessionBucket).ForEach(func(key, _ []byte) error {
			ids = append(ids, session.ID(key))
			return nil
		})
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := f(id); err != nil {
			return err
		}
	}
	return nil
}

// checkSession reads all of a session, and compares its record with what the log amounts to.
func (b *Store) checkSession(ctx context.Context, id session.ID) (entries int, err error) {
	record, err := b.Get(ctx, id)
	if err != nil {
		return 0, err
	}
	view, err := session.Fold(ctx, b, record, func(*session.View, session.Entry) { entries++ })
	if err != nil {
		return entries, err
	}
	if _, err := (journal{b}).Checkpoints(ctx, id); err != nil {
		return entries, err
	}
	if !reflect.DeepEqual(view.Session, record) {
		return entries, fmt.Errorf("%w: its record is not what its log amounts to", session.ErrDamaged)
	}
	return entries, nil
}

// Check reads all of the store while it is in use: it makes a copy in the data directory, checks that, and removes it. It needs the room.
func (b *Store) Check(ctx context.Context) (session.Report, error) {
	path := b.path + ".check"
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // of a check that was killed
		return session.Report{}, err
	}
	report, err := b.Backup(ctx, path)
	if err != nil {
		return report, err
	}
	return report, os.Remove(path)
}

// Backup writes the store as it is now to a new file, while others read and write, and checks that file as CheckFile
// does. On return it is durable, and whole under its name: a copy that is cut short never bears it. A file that is there
// already is never overwritten (os.ErrExist). Damage of single sessions is copied as it is and told in the report; where the
// file as a whole is damaged there is no copy.
//
// While it copies, pages that are given up are not used again, so that the store's file may grow by what is written
// meanwhile; and a file that outgrows its map of 1 GiB makes the writer wait for the end of the copy.
func (b *Store) Backup(ctx context.Context, path string) (session.Report, error) {
	name, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // takes the name, and follows no link
	if err != nil {
		return session.Report{}, err
	}
	if err := name.Close(); err != nil {
		return session.Report{}, err
	}
	report, err := b.copyTo(ctx, path)
	if err != nil {
		return report, errors.Join(err, os.Remove(path))
	}
	return report, nil
}

// copyTo makes a copy next to path, and gives it that name if it is sound.
func (b *Store) copyTo(ctx context.Context, path string) (report session.Report, err error) {
	part := path + ".part" // the name is ours, and with it what is left of a copy that was killed
	f, err := durable.Open(part, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return session.Report{}, err
	}
	named := false
	defer func() {
		if !named {
			err = errors.Join(err, os.Remove(part))
		}
	}()
	to := &copying{ctx: ctx, b: b, to: f}
	err = b.view(func(tx *bbolt.Tx) error {
		_, err := tx.WriteTo(to)
		if to.failed != nil { // bbolt tells it as a text
			return to.failed
		}
		return err
	})
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return session.Report{}, err
	}
	if report, err = checkFile(ctx, part, b.store); err != nil {
		return report, fmt.Errorf("the copy: %w", err)
	}
	if err := durable.Publish(part, path); err != nil {
		return report, err
	}
	named = true
	return report, nil
}

// copying writes a copy as long as nobody is kept waiting for it.
type copying struct {
	ctx    context.Context
	b      *Store
	to     *os.File
	failed error
}

func (c *copying) Write(data []byte) (n int, err error) {
	defer func() { c.failed = err }()
	if err := context.Cause(c.ctx); err != nil {
		return 0, err
	}
	if !c.b.dbMu.TryRLock() { // somebody is to close the file, or to open it again after a failed write
		return 0, errors.New("the store was closed or in trouble during the copy")
	}
	c.b.dbMu.RUnlock()
	return c.to.Write(data)
}
