package session

import (
	"os"
	"sync"
	"time"

	"go.etcd.io/bbolt"
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

// writer is the state of the writer's goroutine.
type writer struct {
	tx       uint64 // the number of the last commit that is known to be on disk
	failures int    // writes or syncs that failed, but for want of room
	trouble  error  // why the store is read-only, nil if it is not
	lasting  bool   // trouble is for good
	room     int    // bytes of all pages of the last commit that failed
}

// change is something to be written.
type change interface {
	// apply makes the change in tx. It may be called again in another transaction, after that one was given up.
	apply(tx *bbolt.Tx) error

	// landed reports whether the change is in the store.
	landed(tx *bbolt.Tx) (bool, error)

	// session is whose change it is; ends reports whether an open block is over with it.
	session() ID
	ends(id ID, ref BlockRef) bool
}

// request is a change that somebody waits for.
type request struct {
	change
	err  error         // final when done is closed
	done chan struct{} // closed by the writer
}

// blockKey names an open block of a session.
type blockKey struct {
	message MessageID
	number  int
}

// growing is an open block: how much of it is stored, and the text that waits behind that.
type growing struct {
	ref    BlockRef
	stored int
	text   []byte
}
