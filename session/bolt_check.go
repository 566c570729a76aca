package session

import (
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

	bolt "go.etcd.io/bbolt"
)

// inventory is what a look at the file found without bbolt.
type inventory struct {
	store   string       // the store's id
	tx      uint64       // the number of the last commit
	damaged map[ID]error // sessions that cannot be read; the others can
	whole   bool         // the logs have been walked too
}

// small is up to what length a file is walked whole at start: 64 MiB take some 50 ms. In a larger one each log is walked
// when it is first used, and CheckFile walks all.
const small = 64 << 20

// examine looks at a file before bbolt may open it. Damage in what all sessions share is an error; damage of one session
// is told in the inventory.
func examine(file io.ReaderAt, length int64, whole bool) (*inventory, error) {
	p, err := readPages(file, length)
	if err != nil {
		return nil, damagedFile(err)
	}
	taken := make(use)
	top := make(map[string]item)
	err = p.walk(p.head.Root, taken, func(it item) error {
		if !it.bucket {
			return fmt.Errorf("%q is no bucket", it.key)
		}
		top[string(it.key)] = it
		return nil
	})
	if err != nil {
		return nil, damagedFile(err)
	}
	inv := &inventory{tx: p.head.Tx, damaged: make(map[ID]error), whole: whole}
	if inv.store, err = p.readMeta(top[string(metaBucket)], taken); err != nil {
		return nil, err
	}
	if len(top) != 6 { // those of readMeta and readSessions: bbolt's check follows whatever it finds
		return nil, damagedFile(fmt.Errorf("it has %d buckets", len(top)))
	}
	free, err := p.free(taken)
	if err != nil {
		return nil, damagedFile(err)
	}
	if err := p.readSessions(top, taken, inv); err != nil {
		return nil, damagedFile(err)
	}
	for _, id := range free {
		if taken[id] {
			return nil, damagedFile(fmt.Errorf("page %d is free and in use", id))
		}
	}
	if whole && len(inv.damaged) == 0 && uint64(len(taken)+len(free))+2 != p.head.Count {
		return nil, damagedFile(fmt.Errorf("%d pages in use and %d free do not make %d", len(taken), len(free), p.head.Count-2))
	}
	return inv, nil
}

// readMeta reads format and id. The format is judged before the rest, which may look different in another one.
func (p *pages) readMeta(bucket item, taken use) (store string, err error) {
	words := make(map[string]string)
	err = p.walkValues(bucket, taken, func(it item) error {
		words[string(it.key)] = string(it.value)
		return nil
	})
	if err != nil {
		return "", damagedFile(fmt.Errorf("bucket %s: %w", metaBucket, err))
	}
	format, err := strconv.Atoi(words[string(formatKey)])
	if err != nil || format < 1 {
		return "", damagedFile(fmt.Errorf("its format is %q", words[string(formatKey)]))
	}
	if format > formatVersion {
		return "", fmt.Errorf("%w: it is %d, this build knows up to %d; use a newer thinkd", ErrNewer, format, formatVersion)
	}
	store = words[string(storeKey)]
	if err := CheckID(store); err != nil {
		return "", damagedFile(fmt.Errorf("its id %w", err))
	}
	return store, nil
}

// readSessions walks the other buckets.
func (p *pages) readSessions(top map[string]item, taken use, inv *inventory) error {
	logs := make(map[ID]bool)
	sessions, listed := 0, 0
	for _, part := range []struct {
		name []byte
		walk func(item, use, func(item) error) error
		look func(ID, item) error
	}{
		{logBucket, p.walkBucket, func(id ID, it item) error {
			logs[id] = true
			if inv.whole || isInline(it) {
				if err := p.walkValues(it, taken, ignore); err != nil {
					inv.damaged[id] = err
				}
			}
			return nil
		}},
		{growthBucket, p.walkBucket, func(id ID, it item) error {
			if err := p.walkValues(it, taken, ignore); err != nil {
				inv.damaged[id] = err
			}
			return nil
		}},
		{sessionBucket, p.walkValues, func(id ID, it item) error {
			sessions++
			if !logs[id] {
				inv.damaged[id] = fmt.Errorf("its log is missing")
			}
			delete(logs, id)
			if _, err := readRecord(id, it.value); err != nil {
				inv.damaged[id] = err
			}
			return nil
		}},
		{indexBucket, p.walkValues, func(_ ID, it item) error {
			listed++
			if _, err := unseal(it.key, it.value); err != nil || len(it.key) <= 8 {
				return fmt.Errorf("a key is damaged")
			}
			return nil
		}},
		{openBucket, p.walkValues, func(id ID, it item) error {
			if _, err := unseal(it.key, it.value); err != nil {
				return fmt.Errorf("session %s: %w", id, err)
			}
			return nil
		}},
	} {
		err := part.walk(top[string(part.name)], taken, func(it item) error { return part.look(ID(it.key), it) })
		if err != nil {
			return fmt.Errorf("bucket %s: %w", part.name, err)
		}
	}
	for id := range logs {
		inv.damaged[id] = fmt.Errorf("its record is missing")
	}
	if listed != sessions {
		return fmt.Errorf("bucket %s: it lists %d sessions of %d", indexBucket, listed, sessions)
	}
	return nil
}

func ignore(item) error { return nil }

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
	Damaged  []Damage // in order of ID
}

// Damage is what is wrong with a session.
type Damage struct {
	ID  ID
	Err error
}

// CheckFile reads all of a store's file: every page, record, entry and checkpoint, and folds every log. It never writes.
// The error is about the file as a whole, and then nothing is known of its sessions. While a daemon has the file it
// answers *LockedError.
func CheckFile(ctx context.Context, path string) (Report, error) {
	lock, err := lockFile(filepath.Join(filepath.Dir(path), lockName), onlyIfThere)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return Report{}, err
	}
	if lock != nil {
		defer unlockFile(lock) // it ends with the process at the latest
	}
	b := &Bolt{path: path}
	inv, err := b.openFile(true, readOnly)
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
	r := Report{Store: inv.store}
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
	return b.view(func(tx *bolt.Tx) error {
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
	err := b.view(func(tx *bolt.Tx) error {
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
	view := NewView(record)
	err = replay(ctx, b, id, func(e Entry) error {
		entries++
		return view.Apply(e)
	})
	if err != nil {
		return entries, err
	}
	if _, damage, err := b.checkpoints(ctx, id); err != nil || damage != nil {
		return entries, errors.Join(err, damage)
	}
	if !reflect.DeepEqual(view.Session, record) {
		return entries, fmt.Errorf("%w: its record is not what its log amounts to", ErrDamaged)
	}
	return entries, nil
}

// lockWait bounds how long bbolt waits for its own lock, which nobody should hold who does not hold ours.
const lockWait = 500 * time.Millisecond
