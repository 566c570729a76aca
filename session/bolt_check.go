package session

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/thinkd/thinkd/session/bolt/page"
	"go.etcd.io/bbolt"
)

// inventory is what a look at the file found without bbolt.
type inventory struct {
	store   string // the store's id
	format  int
	tx      uint64       // the number of the last commit
	size    int64        // in bytes, of all pages
	free    int64        // and of those that nothing uses
	damaged map[ID]error // sessions that cannot be read; the others can
	whole   bool         // the logs have been walked too
}

// small is up to what length a file is walked whole at start: 4 MiB take some 3 ms. In a larger one each log is walked
// when it is first used, and CheckFile walks all.
const small = 4 << 20

// depth is how much of a file is walked.
type depth int

const (
	// walkHeads is for a file that was sound and has been ours since: its heads, whose store it is, and which pages are free.
	walkHeads   depth = iota
	walkRecords       // what all sessions share as well, and each record
	walkLogs          // and each log
)

// examine looks at a file before bbolt may open it. Damage in what all sessions share is an error; damage of one session
// is told in the inventory.
func examine(file io.ReaderAt, length int64, deep depth) (*inventory, error) {
	p, err := page.Open(file, length)
	if err != nil {
		return nil, damagedFile(err)
	}
	taken := p.NewUse()
	top := make(map[string]page.Item)
	err = p.Walk(p.Head.Root, taken, func(it page.Item) error {
		if !it.Bucket {
			return fmt.Errorf("%q is no bucket", it.Key)
		}
		top[string(it.Key)] = it.Clone()
		return nil
	})
	if err != nil {
		return nil, damagedFile(err)
	}
	inv := &inventory{tx: p.Head.Tx, damaged: make(map[ID]error), whole: deep == walkLogs}
	if inv.store, inv.format, err = readMeta(p, top[string(metaBucket)], taken); err != nil {
		return nil, err
	}
	known := 0 // bbolt's check follows whatever it finds
	for _, name := range allBuckets() {
		_, there := top[string(name)]
		if there {
			known++
		} else if inv.format == formatVersion {
			return nil, damagedFile(fmt.Errorf("bucket %s is missing", name))
		}
	}
	if _, there := top[string(fixedBucket)]; len(top) != known || there != (inv.format >= formatVersion) {
		return nil, damagedFile(fmt.Errorf("it has %d buckets, which do not fit its format %d", len(top), inv.format))
	}
	free, err := p.Free(taken)
	if err != nil {
		return nil, damagedFile(err)
	}
	inv.size, inv.free = int64(p.Head.Count)*int64(p.PageSize()), int64(len(free))*int64(p.PageSize())
	if deep == walkHeads {
		return inv, nil
	}
	if err := readMade(p, top, taken); err != nil {
		return nil, damagedFile(err)
	}
	if err := readSessions(p, top, taken, inv); err != nil {
		return nil, damagedFile(err)
	}
	inUse := taken.Count()
	for _, id := range free {
		if taken.Has(id) {
			return nil, damagedFile(fmt.Errorf("page %d is free and in use", id))
		}
	}
	if inv.whole && len(inv.damaged) == 0 && uint64(inUse+len(free))+2 != p.Head.Count {
		return nil, damagedFile(fmt.Errorf("%d pages in use and %d free do not make %d", inUse, len(free), p.Head.Count-2))
	}
	return inv, nil
}

// readMeta reads format and id. The format is judged before the rest, which may look different in another one.
func readMeta(p *page.File, bucket page.Item, taken page.Use) (store string, format int, err error) {
	words := make(map[string]string)
	err = p.WalkValues(bucket, taken, func(it page.Item) error {
		words[string(it.Key)] = string(it.Value)
		return nil
	})
	if err != nil {
		return "", 0, damagedFile(fmt.Errorf("bucket %s: %w", metaBucket, err))
	}
	format, err = strconv.Atoi(words[string(formatKey)])
	if err != nil || format < 1 {
		return "", 0, damagedFile(fmt.Errorf("its format is %q", words[string(formatKey)]))
	}
	if format > formatVersion {
		return "", 0, fmt.Errorf("%w: it is %d, this build knows up to %d; use a newer thinkd", ErrNewer, format, formatVersion)
	}
	store = words[string(storeKey)]
	if err := CheckID(store); err != nil {
		return "", 0, damagedFile(fmt.Errorf("its id %w", err))
	}
	return store, format, nil
}

// readMade walks what stamped requests made, if the file has a place for it.
func readMade(p *page.File, top map[string]page.Item, taken page.Use) error {
	bucket, there := top[string(madeBucket)]
	if !there {
		return nil
	}
	err := p.WalkValues(bucket, taken, func(it page.Item) error {
		_, err := unseal(it.Key, it.Value)
		return err
	})
	if err != nil {
		return fmt.Errorf("bucket %s: %w", madeBucket, err)
	}
	return nil
}

// ownTree is a bucket of one session: its log, or what was checkpointed.
type ownTree struct {
	id    ID
	root  page.Item
	count uint64                                    // of items, or anyCount
	check func(id ID, n uint64, it page.Item) error // of each; n counts from 1
}

const anyCount = ^uint64(0) // no log is that long

// walk walks the tree, and takes its pages if it is sound and they are its own.
func (t ownTree) walk(p *page.File, taken page.Use) error {
	var mine page.Use // nothing, for the many that are inside of another page
	if !t.root.Inline() {
		mine = p.NewUse()
	}
	n := uint64(0)
	err := p.WalkValues(t.root, mine, func(it page.Item) error {
		n++
		return t.check(t.id, n, it)
	})
	switch {
	case err != nil:
		return err
	case t.count != anyCount && n != t.count:
		return fmt.Errorf("its log ends at entry %d of %d", n, t.count)
	}
	return taken.Merge(mine)
}

func checkEntry(id ID, n uint64, it page.Item) error {
	if !bytes.Equal(it.Key, position(n)) {
		return fmt.Errorf("entry %d is missing", n)
	}
	if _, err := unseal(entryKey(id, n), it.Value); err != nil {
		return fmt.Errorf("entry %d: %w", n, err)
	}
	return nil
}

func checkPiece(id ID, _ uint64, it page.Item) error {
	_, _, _, err := readPiece(id, it.Key, it.Value)
	return err
}

// damagedFile says what is wrong and what to do.
func damagedFile(why error) error {
	return fmt.Errorf("%w: %s: %w; it is left as it is: put back a copy of it, or move it and %s away to begin anew",
		ErrDamaged, fileName, why, markName)
}

// Report is what CheckFile found.
type Report struct {
	Store    string // the store's id
	Sessions int
	Entries  int
	Size     int64    // of the file, in bytes
	Free     int64    // of Size: pages without use, which later writes take before the file grows
	Damaged  []Damage // in order of ID
}

// Damage is what is wrong with a session.
type Damage struct {
	ID  ID
	Err error
}

// CheckFile reads all of a store's file: every page, record, entry and checkpoint, and folds every log. It never writes.
// The error is about the file as a whole, and then nothing is known of its sessions: os.ErrNotExist where no store ever
// was, *LockedError while a daemon has the file, and whatever else OpenBolt would say.
func CheckFile(ctx context.Context, path string) (Report, error) {
	lock, err := lockFile(filepath.Join(filepath.Dir(path), lockName), onlyIfThere)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return Report{}, err
	}
	if lock != nil {
		defer unlockFile(lock) // it ends with the process at the latest
	}
	m, err := readMark(filepath.Dir(path))
	if err != nil {
		return Report{}, err
	}
	there, err := present(path, m)
	if err != nil {
		return Report{}, err
	}
	if !there {
		return Report{}, fmt.Errorf("%s: %w", filepath.Base(path), os.ErrNotExist)
	}
	return checkFile(ctx, path, m.store)
}

// checkFile is CheckFile for a file that nobody else writes to. An empty store is any.
func checkFile(ctx context.Context, path, store string) (Report, error) {
	b := &Bolt{path: path, store: store}
	inv, err := b.openFile(walkLogs, readOnly)
	if err != nil {
		return Report{}, err
	}
	defer b.closeFile() // nothing was written
	b.damaged = inv.damaged
	if len(inv.damaged) == 0 {
		if err := b.checkPages(); err != nil {
			return Report{}, err
		}
	}
	r := Report{Store: inv.store, Size: inv.size, Free: inv.free}
	err = b.eachSession(func(id ID) error {
		r.Sessions++
		n, err := b.checkSession(ctx, id)
		r.Entries += n
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			r.Damaged = append(r.Damaged, Damage{id, err})
		}
		return nil
	})
	for id, err := range inv.damaged {
		if !slices.ContainsFunc(r.Damaged, func(d Damage) bool { return d.ID == id }) {
			r.Damaged = append(r.Damaged, Damage{id, err})
		}
	}
	slices.SortFunc(r.Damaged, func(a, b Damage) int { return cmp.Compare(a.ID, b.ID) })
	return r, err
}

// checkPages is bbolt's own check. It runs on a goroutine of bbolt's where a fault would end the process, so only after
// our walk has found nothing.
func (b *Bolt) checkPages() error {
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
func (b *Bolt) eachSession(f func(ID) error) error {
	var ids []ID
	err := b.view(func(tx *bbolt.Tx) error {
		return tx.Bucket(sessionBucket).ForEach(func(key, _ []byte) error {
			ids = append(ids, ID(key))
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
func (b *Bolt) checkSession(ctx context.Context, id ID) (entries int, err error) {
	record, err := b.Get(ctx, id)
	if err != nil {
		return 0, err
	}
	view, err := Fold(ctx, b, record, func(*View, Entry) { entries++ })
	if err != nil {
		return entries, err
	}
	if _, err := b.Checkpoints(ctx, id); err != nil {
		return entries, err
	}
	if !reflect.DeepEqual(view.Session, record) {
		return entries, fmt.Errorf("%w: its record is not what its log amounts to", ErrDamaged)
	}
	return entries, nil
}

// lockWait bounds how long bbolt waits for its own lock, which nobody should hold who does not hold ours.
const lockWait = 500 * time.Millisecond
