package bolt

import (
	"bytes"
	"cmp"
	"fmt"
	"sync"

	"github.com/thinkd/thinkd/session/bolt/page"
)

// readSessions walks the other buckets: first those that all sessions share, then those of single sessions. So if a session uses pages
// of others, that session is found damaged, and the others are not.
//
// A client that starts a daemon waits for this, and four of the buckets have an item for each session. So they are walked in parallel, and
// the records, which are most of the pages, in three parts:
//
//	records, part 1 --relay--.
//	records, part 2 --relay--+--> logs: does each record have a log, and each log a record?
//	records, part 3 --relay--'
//	index   (counts)
//	fixed   (counts)
//
// Records and logs are in the order of their ids. So the walk of the logs compares them as two sorted lists are merged: it needs the
// next record only, however many there are. A relay has a bounded number of ids on the way, in buffers that are used again. Each walk
// takes pages in a Use of its own; these are merged at the end, and a page that two walks have taken is damage.
func readSessions(p *page.File, top map[string]page.Item, taken page.Use, inv *inventory) error {
	gone, err := readForks(p, top[string(forkBucket)], taken)
	if err != nil {
		return fmt.Errorf("bucket %s: %w", forkBucket, err)
	}
	err = p.WalkValues(top[string(openBucket)], taken, func(it page.Item) error {
		if _, err := unseal(it.Key, it.Value); err != nil {
			return fmt.Errorf("session %s: %w", rowKey(it.Key), err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("bucket %s: %w", openBucket, err)
	}

	parts, err := p.Parts(top[string(sessionBucket)], recordWalks, taken)
	if err != nil {
		return fmt.Errorf("bucket %s: %w", sessionBucket, err)
	}
	var walking sync.WaitGroup // each ends with its part, or at damage
	var records []*recordWalk
	for _, part := range parts {
		w := &recordWalk{walk: newWalk(p), ends: newRelay(), damaged: make(map[rowKey]error)}
		records = append(records, w)
		walking.Go(func() { w.run(part) })
	}
	index := indexWalk{walk: newWalk(p)}
	walking.Go(func() { index.run(top[string(indexBucket)]) })
	fixed := fixedWalk{walk: newWalk(p), damaged: make(map[rowKey]error)}
	walking.Go(func() { fixed.run(top[string(fixedBucket)]) })
	logs := logWalk{whole: inv.whole, gone: gone, records: records, damaged: inv.damaged}
	logsErr := logs.run(p, top[string(logBucket)], taken)
	walking.Wait()

	count := 0
	for _, w := range records {
		count += w.count
		if err := w.end(taken); err != nil {
			return fmt.Errorf("bucket %s: %w", sessionBucket, err)
		}
		for id, err := range w.damaged {
			inv.damaged[id] = cmp.Or(inv.damaged[id], err)
		}
	}
	if err := index.end(taken); err != nil {
		return fmt.Errorf("bucket %s: %w", indexBucket, err)
	}
	if index.listed != count {
		return fmt.Errorf("bucket %s: it lists %d sessions of %d", indexBucket, index.listed, count)
	}
	if err := fixed.end(taken); err != nil {
		return fmt.Errorf("bucket %s: %w", fixedBucket, err)
	}
	if inv.format >= fixedFormat && fixed.count != count {
		return fmt.Errorf("bucket %s: it has %d sessions of %d", fixedBucket, fixed.count, count)
	}
	for id, err := range fixed.damaged {
		inv.damaged[id] = cmp.Or(inv.damaged[id], err)
	}
	if logsErr != nil {
		return fmt.Errorf("bucket %s: %w", logBucket, logsErr)
	}
	own := logs.own
	err = p.WalkBucket(top[string(growthBucket)], taken, func(it page.Item) error {
		own = append(own, ownTree{rowKey(it.Key), it.Clone(), anyCount, checkPiece})
		return nil
	})
	if err != nil {
		return fmt.Errorf("bucket %s: %w", growthBucket, err)
	}
	for _, tree := range own {
		if err := tree.walk(p, taken); err != nil {
			inv.damaged[tree.id] = err
		}
	}
	return nil
}

// recordWalks is in how many parts the records are walked.
const recordWalks = 3

// readForks is where the logs of deleted sessions end, which forks share.
func readForks(p *page.File, bucket page.Item, taken page.Use) (gone map[rowKey]uint64, err error) {
	gone = make(map[rowKey]uint64)
	if bucket.Key == nil { // a file of an older format has none
		return gone, nil
	}
	return gone, p.WalkValues(bucket, taken, func(it page.Item) error {
		if id, n, ok := readGone(it); ok {
			gone[id] = n
		}
		_, err := unseal(it.Key, it.Value)
		return err
	})
}

// walk is a walk in parallel with others: it has its own buffer and its own Use.
type walk struct {
	pages *page.File
	taken page.Use
	err   error // where it ended before the end
}

// end takes the pages of the walk in the Use of all.
func (w *walk) end(taken page.Use) error {
	if w.err != nil {
		return w.err
	}
	return taken.Merge(w.taken)
}

func newWalk(p *page.File) walk { return walk{pages: p.Clone(), taken: p.NewUse()} }

// indexWalk counts the sessions that the index lists.
type indexWalk struct {
	walk
	listed int
}

func (w *indexWalk) run(bucket page.Item) {
	w.err = w.pages.WalkValues(bucket, w.taken, func(it page.Item) error {
		w.listed++
		if _, err := unseal(it.Key, it.Value); err != nil || len(it.Key) <= 8 {
			return fmt.Errorf("a key is damaged")
		}
		return nil
	})
}

// fixedWalk reads the fixed parts of the records, if the file has them.
type fixedWalk struct {
	walk
	count   int
	damaged map[rowKey]error
}

func (w *fixedWalk) run(bucket page.Item) {
	if bucket.Key == nil {
		return
	}
	w.err = w.pages.WalkValues(bucket, w.taken, func(it page.Item) error {
		w.count++
		if _, err := unseal(it.Key, it.Value); err != nil {
			w.damaged[rowKey(it.Key)] = fmt.Errorf("fixed part of the record: %w", err)
		}
		return nil
	})
}

// recordWalk sends where the logs of some sessions end, in the order of their ids.
type recordWalk struct {
	walk
	ends    relay
	count   int
	damaged map[rowKey]error
}

// run closes the relay at its end.
func (w *recordWalk) run(records page.Part) {
	defer close(w.ends.full)
	ends := w.ends.fresh()
	w.err = w.pages.WalkPart(records, w.taken, page.Values(func(it page.Item) error {
		w.count++
		last, _, err := openRecord(it.Key, it.Value)
		if err != nil {
			w.damaged[rowKey(it.Key)] = err
		}
		if ends.add(it.Key, last) {
			w.ends.full <- ends
			ends = w.ends.fresh()
		}
		return nil
	}))
	w.ends.full <- ends
}

// logEnds is a buffer of a relay: some sessions, and where their logs end.
type logEnds struct {
	ids  []byte // all ids, without anything between them
	ends []logEnd
	next int // the first that was not read yet
}

type logEnd struct {
	id   int // the length of ids with this one
	last uint64
}

const logEndsRoom = 256

// add reports whether there is no more room.
func (e *logEnds) add(id []byte, last uint64) bool {
	e.ids = append(e.ids, id...)
	e.ends = append(e.ends, logEnd{len(e.ids), last})
	return len(e.ends) == logEndsRoom
}

// id is that of the next session, nil at the end.
func (e *logEnds) id() []byte {
	if e.next == len(e.ends) {
		return nil
	}
	begin := 0
	if e.next > 0 {
		begin = e.ends[e.next-1].id
	}
	return e.ids[begin:e.ends[e.next].id]
}

// relay carries full buffers from a recordWalk to the logWalk, and empty ones back. The recordWalk closes full at its end; the logWalk
// reads until then, even after damage, so that no recordWalk waits forever.
type relay struct {
	full, used chan *logEnds
}

// relayRoom is how many buffers a recordWalk may be ahead: its part is read after those before it, and it should not wait for them.
const relayRoom = 64

func newRelay() relay {
	return relay{make(chan *logEnds, relayRoom), make(chan *logEnds, relayRoom)}
}

func (r relay) fresh() *logEnds {
	select {
	case e := <-r.used:
		return e
	default:
		return &logEnds{ids: make([]byte, 0, 32*logEndsRoom), ends: make([]logEnd, 0, logEndsRoom)}
	}
}

// reuse returns a buffer that has been read.
func (r relay) reuse(e *logEnds) {
	*e = logEnds{ids: e.ids[:0], ends: e.ends[:0]}
	select {
	case r.used <- e:
	default:
	}
}

// logWalk finds the log of each session.
type logWalk struct {
	whole   bool
	gone    map[rowKey]uint64 // and those that have no session
	records []*recordWalk     // those that have not ended, in order
	damaged map[rowKey]error
	own     []ownTree // to be walked next

	ends *logEnds // of the first of records; nil: nothing has come yet
}

// run reads all relays to their ends, whatever it finds.
func (w *logWalk) run(p *page.File, bucket page.Item, taken page.Use) error {
	err := p.WalkBucket(bucket, taken, func(it page.Item) error {
		n, ok := w.end(it.Key)
		if !ok {
			w.damaged[rowKey(it.Key)] = fmt.Errorf("its record is missing")
		}
		if w.whole || it.Inline() {
			w.own = append(w.own, ownTree{rowKey(it.Key), it.Clone(), n, checkEntry})
		}
		return nil
	})
	for id := w.next(); id != nil; id = w.next() {
		w.missing(rowKey(id))
		w.ends.next++
	}
	for id := range w.gone {
		w.missing(id)
	}
	return err
}

// end is where the log of a session must end. Sessions with smaller ids that were not asked for have no log.
func (w *logWalk) end(key []byte) (last uint64, ok bool) {
	id := w.next()
	for id != nil && bytes.Compare(id, key) < 0 {
		w.missing(rowKey(id))
		w.ends.next++
		id = w.next()
	}
	if id != nil && bytes.Equal(id, key) {
		last, ok = w.ends.ends[w.ends.next].last, true
		w.ends.next++
	}
	if n, there := w.gone[rowKey(key)]; there {
		delete(w.gone, rowKey(key))
		return n, true
	}
	return last, ok
}

// next is the id of the next session that has a record, nil after the last.
func (w *logWalk) next() []byte {
	for len(w.records) > 0 {
		from := w.records[0].ends
		if w.ends != nil {
			if id := w.ends.id(); id != nil {
				return id
			}
			from.reuse(w.ends)
		}
		if w.ends = <-from.full; w.ends == nil {
			w.records = w.records[1:]
		}
	}
	return nil
}

func (w *logWalk) missing(id rowKey) { w.damaged[id] = fmt.Errorf("its log is missing") }

// inventory is what a look at the file found without bbolt.
type inventory struct {
	store   string // the store's id
	format  int
	tx      uint64           // the number of the last commit
	size    int64            // in bytes, of all pages
	free    int64            // and of those that nothing uses
	damaged map[rowKey]error // sessions that cannot be read; the others can
	whole   bool             // the logs have been walked too
}

// ownTree is a bucket of one session: its log, or what was checkpointed.
type ownTree struct {
	id    rowKey
	root  page.Item
	count uint64                                        // of items, or anyCount
	check func(id rowKey, n uint64, it page.Item) error // of each; n counts from 1
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

func checkEntry(id rowKey, n uint64, it page.Item) error {
	if !bytes.Equal(it.Key, position(n)) {
		return fmt.Errorf("entry %d is missing", n)
	}
	if _, err := unseal(entryKey(id, n), it.Value); err != nil {
		return fmt.Errorf("entry %d: %w", n, err)
	}
	return nil
}

func checkPiece(id rowKey, _ uint64, it page.Item) error {
	_, _, _, err := readPiece(id, it.Key, it.Value)
	return err
}
