package bolt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/session"
)

// mark is what the mark says: that a store existed, and which. The id is empty if that cannot be read.
type mark struct {
	there bool
	store string
}

func readMark(dir string) (mark, error) {
	f, err := durable.Open(filepath.Join(dir, markName), os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return mark{}, nil
	}
	if err != nil {
		return mark{}, err
	}
	defer f.Close()
	text := make([]byte, 64)
	n, _ := f.Read(text) // what cannot be read names no store; the mark is still there
	id, _, _ := strings.Cut(string(text[:n]), "\n")
	if session.CheckID(id) != nil {
		id = ""
	}
	return mark{true, id}, nil
}

func writeMark(dir, store string) error {
	path := filepath.Join(dir, markName)
	fresh := path + ".new"
	f, err := durable.Open(fresh, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s\nWhile this file is here, thinkd does not create a new store when %s is missing or empty.\n", store, fileName)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return durable.Publish(fresh, path)
}

// Kept reports whether there is a store in a data directory, or was one: Open makes none there.
func Kept(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, markName))
	return err == nil
}

// present reports whether there is a store to open. If the mark is there and the store is not, the error is ErrDamaged.
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
		return false, fmt.Errorf("%w: %s %s, but a store was here: restore a copy of it, or remove %s to start without sessions",
			session.ErrDamaged, filepath.Base(path), lost, markName)
	}
	return false, nil
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

// makeStore makes an empty store under another name and renames it, so that a crash on the way leaves no half one.
func makeStore(path string) error {
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	db, err := bbolt.Open(fresh, 0o600, &bbolt.Options{Timeout: lockWait, OpenFile: func(name string, flag int, _ os.FileMode) (*os.File, error) {
		return durable.Open(name, flag)
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
			meta.Put(storeKey, []byte(session.NewStoreID())))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	return durable.Publish(fresh, path)
}

// lockWait bounds how long bbolt waits for its own lock, which nobody should hold who does not hold ours.
const lockWait = 500 * time.Millisecond
