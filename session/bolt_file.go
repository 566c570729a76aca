package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.etcd.io/bbolt"
)

// The files of a store, beside each other in the data directory.
const (
	fileName = "thinkd.db"
	lockName = "thinkd.lock"
	markName = "thinkd.mark" // holds the store's id: a store existed here, so an empty or missing file is a loss
)

// formatVersion counts the layouts of the file. An older build refuses a newer one, and OpenBolt upgrades an older one. 1 had no
// bucket made, 2 no bucket forks. 3 had no bucket fixed: records were whole, and the index had the times of changes in
// place of their numbers.
const formatVersion = 4

// openPlain opens a regular file of the data directory, readable by its owner only, whatever the umask and whoever made
// it. A symbolic link is not followed.
func openPlain(path string, flag int) (*os.File, error) {
	info, err := os.Lstat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file (%s); links are not followed", filepath.Base(path), info.Mode().Type())
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	f, err := os.OpenFile(path, flag|noFollow, 0o600)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err != nil {
		f.Close()
		return nil, err
	}
	if info.Mode().Perm() != 0o600 && flag&os.O_RDWR != 0 {
		if err := f.Chmod(0o600); err != nil {
			f.Close()
			return nil, err
		}
	}
	return f, nil
}

// MakeDir makes the data directory, or closes an open one to others. A directory of another user is refused: root could use
// it, and its owner could put what they like in the place of each file.
func MakeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if owner, known := ownerOf(info); known && owner != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d, and this is user %d: start thinkd as its owner, or change the owner with chown", dir, owner, os.Geteuid())
	}
	if info.Mode().Perm() != 0o700 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}

func allBuckets() [][]byte {
	return [][]byte{metaBucket, sessionBucket, fixedBucket, indexBucket, openBucket, madeBucket, forkBucket, logBucket, growthBucket}
}

// makeStore makes an empty store under another name and renames it, so that a crash on the way leaves no half one.
func makeStore(path string) error {
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	db, err := bbolt.Open(fresh, 0o600, &bbolt.Options{Timeout: lockWait, OpenFile: func(name string, flag int, _ os.FileMode) (*os.File, error) {
		return openPlain(name, flag)
	}})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range allBuckets() {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		meta := tx.Bucket(metaBucket)
		return errors.Join(
			meta.Put(formatKey, []byte(strconv.Itoa(formatVersion))),
			meta.Put(storeKey, []byte(NewStoreID())))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	return publish(fresh, path)
}

// publish gives a synced file its name, durably.
func publish(fresh, path string) error {
	if err := os.Rename(fresh, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// mark is what the mark says: that a store existed, and which. The id is empty if that cannot be read.
type mark struct {
	there bool
	store string
}

func readMark(dir string) (mark, error) {
	f, err := openPlain(filepath.Join(dir, markName), os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return mark{}, nil
	}
	if err != nil {
		return mark{}, err
	}
	defer f.Close()
	text := make([]byte, 64)
	n, _ := f.Read(text) // what cannot be read names no store; the mark is there all the same
	id, _, _ := strings.Cut(string(text[:n]), "\n")
	if CheckID(id) != nil {
		id = ""
	}
	return mark{true, id}, nil
}

func writeMark(dir, store string) error {
	path := filepath.Join(dir, markName)
	fresh := path + ".new"
	f, err := openPlain(fresh, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s\nWhile this file is here, thinkd does not begin anew when %s is missing or empty.\n", store, fileName)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return publish(fresh, path)
}

// Kept reports whether there is a store in a data directory, or was one: OpenBolt makes none there.
func Kept(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, markName))
	return err == nil
}

// prepare makes the store where none ever was, and refuses to where one is lost.
func prepare(dir string, m mark) error {
	path := filepath.Join(dir, fileName)
	there, err := present(path, m)
	if err != nil || there {
		return err
	}
	if err := makeStore(path); err != nil {
		return fmt.Errorf("making %s: %w", fileName, err)
	}
	return nil
}

// present reports whether there is a store to open. One that the mark tells of and that is not there is ErrDamaged.
func present(path string, m mark) (bool, error) {
	info, err := os.Lstat(path)
	var lost string
	switch {
	case errors.Is(err, os.ErrNotExist):
		lost = "is missing"
	case err != nil:
		return false, err
	case info.Mode().IsRegular() && info.Size() == 0:
		lost = "is empty"
	default:
		return true, nil
	}
	if m.there {
		return false, fmt.Errorf("%w: %s %s, but a store was here: put back a copy of it, or remove %s to begin anew",
			ErrDamaged, filepath.Base(path), lost, markName)
	}
	return false, nil
}

// openMode says what a file is opened for.
type openMode int

const (
	readWrite openMode = iota
	readOnly
)

// openFile is openFileLocked for a first open.
func (b *Bolt) openFile(deep depth, mode openMode) (*inventory, error) {
	b.dbMu.Lock()
	defer b.dbMu.Unlock()
	return b.openFileLocked(deep, mode)
}

// openFileLocked looks at the store's file and lets bbolt open that very file, found sound.
//
// The list of free pages is stored with each commit (bbolt's NoFreelistSync is off): to rebuild it bbolt would read all
// pages at each start, and panic on a goroutine of its own at the first damaged one.
func (b *Bolt) openFileLocked(deep depth, mode openMode) (*inventory, error) {
	flag := os.O_RDWR
	if mode == readOnly {
		flag = os.O_RDONLY
	}
	f, err := openPlain(b.path, flag)
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
			ErrDamaged, fileName, markName)
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
func (b *Bolt) closeFile() error {
	b.dbMu.Lock()
	defer b.dbMu.Unlock()
	return b.closeFileLocked()
}

// closeFileLocked closes the database. After a panic inside of bbolt its locks may be held for ever, so that only the file can
// be closed, which gives back its lock; the map stays, for readers that are still in it.
func (b *Bolt) closeFileLocked() error {
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
