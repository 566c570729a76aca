package bolt

import (
	"fmt"
	"os"

	"go.etcd.io/bbolt"

	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/bolt/page"
)

// openMode says what a file is opened for.
type openMode int

const (
	readWrite openMode = iota
	readOnly
)

// openFile is openFileLocked for a first open.
func (b *Store) openFile(deep depth, mode openMode) (*inventory, error) {
	b.dbMu.Lock()
	defer b.dbMu.Unlock()
	return b.openFileLocked(deep, mode)
}

// openFileLocked looks at the store's file and lets bbolt open that very file, found sound.
//
// The list of free pages is stored with each commit (bbolt's NoFreelistSync is off): to rebuild it bbolt would read all
// pages at each start, and panic on a goroutine of its own at the first damaged one.
func (b *Store) openFileLocked(deep depth, mode openMode) (*inventory, error) {
	flag := os.O_RDWR
	if mode == readOnly {
		flag = os.O_RDONLY
	}
	f, err := durable.Open(b.path, flag)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	limit := int64(small)
	if b.opt.testSmall != 0 {
		limit = b.opt.testSmall
	}
	if info.Size() <= limit {
		deep = walkLogs
	}
	inv, err := examine(f, info.Size(), deep)
	if err == nil && b.store != "" && b.store != inv.store {
		err = fmt.Errorf("%w: %s is not the store that was here: put back a copy of that one, or remove %s to use this",
			session.ErrDamaged, fileName, markName)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	var db *bbolt.DB
	err = guard(func() error {
		db, err = bbolt.Open(b.path, 0o600, &bbolt.Options{
			Timeout:         lockWait,
			FreelistType:    bbolt.FreelistMapType,
			InitialMmapSize: initialMap,
			NoStatistics:    true,
			ReadOnly:        mode == readOnly,
			OpenFile:        func(string, int, os.FileMode) (*os.File, error) { return f, nil },
		})
		return err
	})
	if err != nil {
		f.Close()
		return nil, err
	}
	db.AllocSize = growBy
	b.db, b.file, b.info = db, f, info
	return inv, nil
}

// growBy is how much longer the file gets when it must; each time costs a sync.
const growBy = 1 << 20

// closeFile is closeFileLocked for good.
func (b *Store) closeFile() error {
	b.dbMu.Lock()
	defer b.dbMu.Unlock()
	return b.closeFileLocked()
}

// closeFileLocked closes the database. After a panic inside of bbolt its locks may be held for ever, so that only the file can
// be closed, which gives back its lock; the map stays, for readers that are still in it.
func (b *Store) closeFileLocked() error {
	if b.db == nil {
		return nil
	}
	db, f := b.db, b.file
	b.db, b.file = nil, nil
	if b.broken {
		b.broken = false
		return f.Close()
	}
	return guard(db.Close)
}

// view runs f in a read transaction.
func (b *Store) view(f func(tx *bbolt.Tx) error) error {
	b.mu.Lock()
	ended := b.ended
	b.mu.Unlock()
	if ended != nil {
		return ended
	}
	b.dbMu.RLock()
	defer b.dbMu.RUnlock()
	if b.db == nil {
		return fmt.Errorf("%w: it could not be opened again after a failed write", session.ErrDamaged)
	}
	// A file that was cut off would fault in bbolt while it holds its locks, which then nobody can take again.
	if info, err := b.file.Stat(); err != nil || info.Size() < b.info.Size() {
		return fmt.Errorf("%w: it is shorter than it was", session.ErrReplaced)
	}
	return guard(func() error { return b.db.View(f) })
}

// ours checks that the file at the path is the one we have, as long as it was, and so that nobody else writes to it.
func (b *Store) ours() error {
	info, err := os.Lstat(b.path)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", session.ErrReplaced, err)
	case !os.SameFile(info, b.info) || info.Size() < b.info.Size():
		return session.ErrReplaced
	}
	return nil
}

// rewriteHeads writes both head pages as they are, and syncs them.
func rewriteHeads(path string) error {
	f, err := durable.Open(path, os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	p, err := page.Open(f, info.Size())
	if err != nil {
		return damagedFile(err)
	}
	heads := make([]byte, 2*p.PageSize())
	if _, err := f.ReadAt(heads, 0); err != nil {
		return err
	}
	if _, err := f.WriteAt(heads, 0); err != nil {
		return err
	}
	return f.Sync()
}
