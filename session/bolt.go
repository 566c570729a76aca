package session

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/thinkd/thinkd/session/tool"
)

// Bolt is a Store in one file, thinkd.db in the data directory. One process has it at a time.
//
// One goroutine writes. It commits at once when it is idle; what comes meanwhile shares the next commit. A commit that
// fails leaves open whether it is on disk, so nothing is acknowledged until the file has been closed, opened and read
// again. A full disk makes the store read-only until there is room; a disk that fails twice, for good.
//
// The file: bucket meta has the format and the store's id. sessions has a record per id, except
// what never changes of it, which is in fixed; index has the number of its last change and its id for each; open has the running turn of each session that has one; made has what stamped requests made; forks has who shares whose log, and the records of sessions that are there for that alone.
// log has a bucket per session with an entry per position. growth has a bucket per session with what was checkpointed,
// a piece per key of message, block and offset. Each value begins with a checksum of itself and its key, so that no changed bit is taken for what was said.
type Bolt struct {
	path  string
	store string // its id; empty: any
	opt   BoltOptions
	lock  *os.File

	dbMu sync.RWMutex // held for each read transaction, and by the writer while it changes what follows
	db   *bbolt.DB    // nil: it could not be opened again
	file *os.File     // the one that db has
	info os.FileInfo  // of file when it was opened

	mu      sync.Mutex
	queue   []*request
	refusal error                        // why writes are refused, nil if they are not
	ended   error                        // why reads are refused too
	damaged map[ID]error                 // sessions that cannot be read
	vetted  map[ID]bool                  // sessions whose log has been walked; nil: all have been
	growth  map[ID]map[blockKey]*growing // open blocks
	armed   bool                         // due runs, or has run and not been heeded
	due     *time.Timer

	work chan struct{} // buffer 1: there is something in queue, or growth is due
	stop chan struct{} // closed by Close
	done chan struct{} // closed by the writer

	writer writer // of the writer's goroutine alone
	broken bool   // of the writer's goroutine: bbolt panicked and may hold its locks
}

// BoltOptions is what OpenBolt can be told. The zero value is fine.
type BoltOptions struct {
	// OnState hears when the store becomes read-only, why (ErrReplaced: for good, the process should end), and when it
	// takes writes again. The writer calls it and waits: it must be quick and must not call the store.
	OnState func(readOnly bool, why error)

	// Upgraded hears that the file had an older format, and under which name it is kept. OpenBolt calls it before it returns.
	Upgraded func(format int, kept string)

	testSmall  int64         // instead of small, if not 0
	testLooked chan struct{} // gets a value after each look of the writer, if it takes one
}

var (
	metaBucket    = []byte("meta")
	sessionBucket = []byte("sessions")
	fixedBucket   = []byte("fixed")
	indexBucket   = []byte("index")
	openBucket    = []byte("open")
	madeBucket    = []byte("made")
	forkBucket    = []byte("forks")
	logBucket     = []byte("log")
	growthBucket  = []byte("growth")

	formatKey = []byte("format")
	storeKey  = []byte("store")
	roomKey   = []byte("room")
)

// OpenBolt opens the store of a data directory, or makes one where there never was one. It answers *LockedError when
// another process has the directory, ErrDamaged with what to do when the file is damaged, lost or another one than the
// mark says, ErrNewer when a newer build wrote it. In all these cases the file has not been touched.
func OpenBolt(dir string, opt BoltOptions) (*Bolt, error) {
	if err := MakeDir(dir); err != nil {
		return nil, err
	}
	lock, err := lockFile(filepath.Join(dir, lockName), makeIfMissing)
	if err != nil {
		return nil, err
	}
	b := &Bolt{
		path: filepath.Join(dir, fileName), opt: opt, lock: lock,
		growth: make(map[ID]map[blockKey]*growing),
		due:    time.NewTimer(checkpointDelay),
		work:   make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	b.due.Stop()
	if err := b.start(dir); err != nil {
		return nil, errors.Join(err, unlockFile(lock))
	}
	go b.write() // Close stops it and waits
	return b, nil
}

func (b *Bolt) start(dir string) error {
	m, err := readMark(dir)
	if err != nil {
		return err
	}
	if err := prepare(dir, m); err != nil {
		return err
	}
	b.store = m.store
	inv, err := b.openFile(walkRecords, readWrite)
	if err == nil && inv.format < formatVersion {
		inv, err = b.upgrade(inv.format)
	}
	if err != nil {
		return err
	}
	b.store, b.damaged, b.writer.tx = inv.store, inv.damaged, inv.tx
	if !inv.whole {
		b.vetted = make(map[ID]bool)
	}
	if m.store != inv.store {
		if err := writeMark(dir, inv.store); err != nil {
			return errors.Join(err, b.closeFile())
		}
	}
	return nil
}

// Close writes what waits and closes the store; every later call is ErrClosed.
func (b *Bolt) Close() error {
	b.mu.Lock()
	if errors.Is(b.ended, ErrClosed) {
		b.mu.Unlock()
		return ErrClosed
	}
	b.refusal, b.ended = ErrClosed, ErrClosed
	b.mu.Unlock()
	close(b.stop)
	<-b.done
	return errors.Join(b.closeFile(), unlockFile(b.lock))
}

// record is the changing part of a session's record as it is stored, with the position of its last entry (a log that lost
// its end shows) and the number of its last change, which is its key in the index.
type record struct {
	Session
	last, change uint64
}

// fixed is the part of a record that never changes. It may have megabytes, and a record is written with each commit.
type fixed struct {
	System string      `json:"system_prompt,omitempty"`
	Tools  []tool.Tool `json:"tools,omitempty"`
	Rules  tool.Policy `json:"tool_policy,omitzero"`
	Shared []Span      `json:"shared,omitempty"`
}

func fixedOf(s Session) fixed { return fixed{s.System, s.Tools, s.Rules, s.Shared} }

func (f fixed) join(s Session) Session {
	s.System, s.Tools, s.Rules, s.Shared = f.System, f.Tools, f.Rules, f.Shared
	return s
}

func (f fixed) encode(id ID) ([]byte, error) {
	data, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	return seal([]byte(id), data), nil
}

// readRecord reads a record; numbered: it has the number of its last change, as from format 4 on.
func readRecord(id ID, value []byte, numbered bool) (record, error) {
	last, data, err := openRecord([]byte(id), value)
	if err != nil {
		return record{}, err
	}
	r := record{last: last}
	if numbered {
		if len(data) < 8 {
			return record{}, fmt.Errorf("%w: record is cut off", ErrDamaged)
		}
		r.change, data = binary.BigEndian.Uint64(data), data[8:]
	}
	if err := json.Unmarshal(data, &r.Session); err != nil {
		return record{}, fmt.Errorf("%w: record: %w", ErrDamaged, err)
	}
	return r, nil
}

// openRecord checks a record and is what follows the position of its last entry, part of value.
func openRecord(key, value []byte) (last uint64, data []byte, err error) {
	data, err = unseal(key, value)
	if err != nil {
		return 0, nil, fmt.Errorf("%w: record: %w", ErrDamaged, err)
	}
	if len(data) < 8 {
		return 0, nil, fmt.Errorf("%w: record is cut off", ErrDamaged)
	}
	return binary.BigEndian.Uint64(data), data[8:], nil
}

func (r record) encode() ([]byte, error) {
	data, err := json.Marshal(r.Changing())
	if err != nil {
		return nil, err
	}
	head := binary.BigEndian.AppendUint64(position(r.last), r.change)
	return seal([]byte(r.ID), append(head, data...)), nil
}

// indexKey sorts by the number of a change.
func indexKey(change uint64, id ID) []byte { return append(position(change), id...) }

func readIndexKey(key []byte) (change uint64, id ID) {
	return binary.BigEndian.Uint64(key), ID(key[8:])
}

func position(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// entryKey names an entry in all the store: its position alone would fit an entry of another session.
func entryKey(id ID, at uint64) []byte { return append([]byte(id), position(at)...) }

// checksum is made with a table that comes with its first use.
func checksum(key, value []byte) uint32 {
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
}

// seal puts a checksum of key and value before the value.
func seal(key, value []byte) []byte {
	sum := checksum(key, value)
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(value)), sum), value...)
}

// unseal is the value, part of what was given.
func unseal(key, sealed []byte) ([]byte, error) {
	if len(sealed) < 4 {
		return nil, fmt.Errorf("checksum is missing")
	}
	value := sealed[4:]
	if binary.BigEndian.Uint32(sealed) != checksum(key, value) {
		return nil, fmt.Errorf("checksum is wrong")
	}
	return value, nil
}

// panicked is a panic of bbolt's as an error: it meets damage with one, and a page that cannot be read is a fault.
type panicked struct{ reason any }

func (p *panicked) Error() string { return fmt.Sprintf("%v: %v", ErrDamaged, p.reason) }
func (p *panicked) Unwrap() error { return ErrDamaged }

// guard calls f, which reads mapped pages, and makes an error of a panic or a fault.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if reason := recover(); reason != nil {
			err = &panicked{reason}
		}
	}()
	return f()
}
