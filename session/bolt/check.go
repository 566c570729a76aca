package bolt

import (
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
	"github.com/thinkd/thinkd/session/bolt/page"
)

// CheckFile reads all of a store's file: every page, record, entry and checkpoint, and folds every log. It never writes.
// The error is about the file as a whole, and then nothing is known of its sessions: os.ErrNotExist where no store ever
// was, *LockedError while a daemon has the file, and whatever else Open would say.
func CheckFile(ctx context.Context, path string) (report session.Report, err error) {
	err = whileFree(path, func(store string) error {
		report, err = checkFile(ctx, path, store)
		return err
	})
	return report, err
}

// ListDir lists sessions of the operator in the store of a data directory that no process has open. It never writes. The errors about the
// file are those of CheckFile. A file of an older format is an error as well: only Open upgrades it.
func ListDir(ctx context.Context, dir string, q session.Query) (list []session.Session, err error) {
	path := filepath.Join(dir, fileName)
	err = whileFree(path, func(store string) error {
		b := &Store{path: path, store: store}
		inv, err := b.openFile(walkRecords, readOnly)
		if err != nil {
			return err
		}
		defer b.closeFile() // nothing was written
		if inv.format < formatVersion {
			return fmt.Errorf("%s has the older format %d", fileName, inv.format)
		}
		b.damaged = inv.damaged
		list, _, err = b.For(session.Operator).List(ctx, q)
		return err
	})
	return list, err
}

// whileFree calls f with the name of the store at path, and holds the store's lock meanwhile. A daemon that starts waits for the lock.
func whileFree(path string, f func(store string) error) error {
	lock, err := durable.TakeLock(filepath.Join(filepath.Dir(path), lockName), false)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if lock != nil {
		defer lock.Free() // it ends with the process at the latest
	}
	m, err := readMark(filepath.Dir(path))
	if err != nil {
		return err
	}
	there, err := present(path, m)
	if err != nil {
		return err
	}
	if !there {
		return fmt.Errorf("%s: %w", filepath.Base(path), os.ErrNotExist)
	}
	return f(m.store)
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
	err = b.eachSession(func(key rowKey) error {
		r.Sessions++
		n, err := b.checkSession(ctx, key.ref())
		r.Entries += n
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			r.Damaged = append(r.Damaged, session.Damage{Session: key.ref(), Err: err})
		}
		return nil
	})
	for key, err := range inv.damaged {
		if !slices.ContainsFunc(r.Damaged, func(d session.Damage) bool { return d.Session == key.ref() }) {
			r.Damaged = append(r.Damaged, session.Damage{Session: key.ref(), Err: err})
		}
	}
	slices.SortFunc(r.Damaged, func(a, b session.Damage) int { return a.Session.Compare(b.Session) })
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
func (b *Store) eachSession(f func(rowKey) error) error {
	var ids []rowKey
	err := b.view(func(tx *bbolt.Tx) error {
		return tx.Bucket(sessionBucket).ForEach(func(key, _ []byte) error {
			ids = append(ids, rowKey(key))
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
func (b *Store) checkSession(ctx context.Context, ref session.Ref) (entries int, err error) {
	of := b.For(ref.Owner)
	record, err := of.Get(ctx, ref.ID)
	if err != nil {
		return 0, err
	}
	view, err := session.Fold(ctx, of, record, func(*session.View, session.Entry) { entries++ })
	if err != nil {
		return entries, err
	}
	if _, err := (journal{b}).Checkpoints(ctx, ref); err != nil {
		return entries, err
	}
	if !reflect.DeepEqual(view.Session, record) {
		return entries, fmt.Errorf("%w: its record is not what its log amounts to", session.ErrDamaged)
	}
	return entries, nil
}

// Check reads all of the store while it is in use: it makes a copy in the data directory, checks that, and removes it. It needs the room.
func (b *Store) Check(ctx context.Context) (session.Report, error) {
	done, err := b.takeTurn(ctx) // before the copy of another check is taken for one that was left behind
	if err != nil {
		return session.Report{}, err
	}
	defer done()
	path := checkName(b.path)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // of a check that was killed
		return session.Report{}, err
	}
	report, err := b.backup(ctx, path)
	if err != nil {
		return report, err
	}
	return report, os.Remove(path)
}

// checkName is where Check has its copy, and partName where a copy is made.
func checkName(path string) string { return path + ".check" }
func partName(path string) string  { return path + ".part" }

// Backup writes the store as it is now to a new file, while others read and write, and checks that file as CheckFile
// does. On return it is durable, and whole under its name: a copy that is cut short never bears it. A file that is there
// already is never overwritten (os.ErrExist). Damage of single sessions is copied as it is, and is in the report; where the
// file as a whole is damaged there is no copy.
//
// While it copies, pages that are given up are not used again, so that the store's file may grow by what is written
// meanwhile; and a file that outgrows its map of 1 GiB makes the writer wait for the end of the copy.
func (b *Store) Backup(ctx context.Context, path string) (session.Report, error) {
	done, err := b.takeTurn(ctx)
	if err != nil {
		return session.Report{}, err
	}
	defer done()
	return b.backup(ctx, path)
}

// takeTurn waits until nobody else copies or rewrites the file. The caller calls done at its end.
func (b *Store) takeTurn(ctx context.Context) (done func(), err error) {
	select {
	case b.copies <- struct{}{}:
		return func() { <-b.copies }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// backup is Backup for a caller whose turn it is.
func (b *Store) backup(ctx context.Context, path string) (session.Report, error) {
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
	part := partName(path) // the name is ours, and with it what is left of a copy that was killed
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
		if to.failed != nil { // bbolt returns its text only
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

// Occurring returns the names of blobs that occur in the file's pages that are not free. A damaged log cannot be walked, but a name
// that can still be read is there in plain text, in one piece: bbolt puts a value into pages that follow each other. So this
// finds each reference, and a few names that nothing refers to any more.
//
// The read transaction keeps the pages of the newest commit, and of those that come meanwhile, from being used again.
func (b *Store) Occurring(ctx context.Context, names []string) (map[string]bool, error) {
	wanted, found := make(map[string]bool), make(map[string]bool)
	for _, name := range names {
		wanted[name] = true
	}
	err := b.view(func(*bbolt.Tx) error {
		info, err := b.file.Stat()
		if err != nil {
			return err
		}
		p, err := page.Open(b.file, info.Size())
		if err != nil {
			return damagedFile(err)
		}
		list, err := p.Free(p.NewUse())
		if err != nil {
			return damagedFile(err)
		}
		free := p.NewUse()
		for _, id := range list {
			if err := free.Take(id, 1); err != nil {
				return damagedFile(err)
			}
		}
		scan := hexScan{wanted: wanted, found: found}
		page := make([]byte, p.PageSize())
		for id := uint64(2); id < p.Head.Count; id++ {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if free.Has(id) {
				scan.run = scan.run[:0]
				continue
			}
			if err := p.Raw(id, page); err != nil {
				return err
			}
			scan.read(page)
		}
		return nil
	})
	return found, err
}

// hashLength is the length of a blob's name.
const hashLength = 64

// hexScan looks for names in a stream of bytes.
type hexScan struct {
	wanted, found map[string]bool
	run           []byte // the last characters, of those that names have; at most hashLength
}

func (s *hexScan) read(data []byte) {
	for _, c := range data {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			s.run = s.run[:0]
			continue
		}
		if len(s.run) == hashLength {
			s.run = append(s.run[:0], s.run[1:]...)
		}
		if s.run = append(s.run, c); len(s.run) == hashLength && s.wanted[string(s.run)] {
			s.found[string(s.run)] = true
		}
	}
}
