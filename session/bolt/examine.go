package bolt

import (
	"bytes"
	"fmt"
	"io"
	"strconv"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/bolt/page"
)

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
// is in the inventory.
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
	inv := &inventory{tx: p.Head.Tx, damaged: make(map[rowKey]error), whole: deep == walkLogs}
	if inv.store, inv.format, err = readMeta(p, top[string(metaBucket)], taken); err != nil {
		return nil, err
	}
	known := 0 // bbolt's check follows whatever it finds
	for _, name := range allBuckets() {
		_, there := top[string(name)]
		if there {
			known++
		} else if inv.format >= fixedFormat && !bytes.Equal(name, ledgerBucket) { // builds without a ledger wrote the format as well
			return nil, damagedFile(fmt.Errorf("bucket %s is missing", name))
		}
	}
	if _, there := top[string(fixedBucket)]; len(top) != known || there != (inv.format >= fixedFormat) {
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
	if err := readCreations(p, top, taken); err != nil {
		return nil, damagedFile(err)
	}
	if err := checkLedger(p, top, taken); err != nil {
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
		return "", 0, fmt.Errorf("%w: it is %d, this build knows up to %d; use a newer thinkd", session.ErrNewer, format, formatVersion)
	}
	store = words[string(storeKey)]
	if err := session.CheckID(store); err != nil {
		return "", 0, damagedFile(fmt.Errorf("its id %w", err))
	}
	return store, format, nil
}

// readCreations walks what stamped requests made, if the file has a place for it.
func readCreations(p *page.File, top map[string]page.Item, taken page.Use) error {
	bucket, there := top[string(creationBucket)]
	if !there {
		return nil
	}
	err := p.WalkValues(bucket, taken, func(it page.Item) error {
		_, err := unseal(it.Key, it.Value)
		return err
	})
	if err != nil {
		return fmt.Errorf("bucket %s: %w", creationBucket, err)
	}
	return nil
}

// checkLedger walks the bucket, if the file has it.
func checkLedger(p *page.File, top map[string]page.Item, taken page.Use) error {
	bucket, there := top[string(ledgerBucket)]
	if !there {
		return nil
	}
	err := p.WalkValues(bucket, taken, func(it page.Item) error {
		_, err := unseal(it.Key, it.Value)
		return err
	})
	if err != nil {
		return fmt.Errorf("bucket %s: %w", ledgerBucket, err)
	}
	return nil
}
