package bolt

import (
	"os"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/session"
)

// Store is a [session.Store] in one file. Open makes one, and Close ends it.
type Store struct {
	path  string
	store string // its id; empty: any
	opt   Options
	lock  *durable.Lock

	dbMu sync.RWMutex // held for each read transaction, and by the writer while it changes what follows
	db   *bbolt.DB    // nil: it could not be opened again
	file *os.File     // the one that db has
	info os.FileInfo  // of file when it was opened

	mu      sync.Mutex
	queue   []*request
	refusal error                            // why writes are refused, nil if they are not
	ended   error                            // why reads are refused too
	damaged map[rowKey]error                 // sessions that cannot be read
	vetted  map[rowKey]bool                  // sessions whose log has been walked; nil: all have been
	growth  map[rowKey]map[blockKey]*growing // open blocks
	armed   bool                             // due runs, or has run and not been heeded
	due     *time.Timer

	work  chan struct{} // buffer 1: there is something in queue, or growth is due
	alone chan func()   // what the writer runs while nothing is written

	copies chan struct{} // buffer 1: has a token while the file is copied or rewritten

	stop chan struct{} // closed by Close
	done chan struct{} // closed by the writer

	claims   session.Claims
	epochsMu sync.Mutex
	epochs   epochs

	writer writer // of the writer's goroutine alone
	broken bool   // of the writer's goroutine: bbolt panicked and may hold its locks
}

// sessions are those of one owner. Its methods make the keys; all else takes keys.
type sessions struct {
	*Store
	owner session.Owner
}

// For returns the sessions of one owner.
func (b *Store) For(owner session.Owner) session.Sessions { return sessions{b, owner} }

func (b sessions) ref(id session.ID) session.Ref { return session.Ref{Owner: b.owner, ID: id} }

func (b sessions) key(id session.ID) rowKey { return keyOf(b.ref(id)) }

// journal has the methods of a log's holder: those of [session.Log], for any session and without a check of who holds its log.
type journal struct{ *Store }

// Options are for Open. The zero value is fine.
type Options struct {
	// OnState is called when the store becomes read-only, with the reason, and when it takes writes again. ErrReplaced is for
	// good: the process should end. The writer calls it and waits: it must be quick and must not call the store.
	OnState func(readOnly bool, why error)

	// Upgraded is called when the file had an older format, with the path under which the old file is kept. Open calls it before it returns.
	Upgraded func(format int, kept string)

	testSmall  int64         // instead of small, if not 0
	testLooked chan struct{} // gets a value after each look of the writer, if it takes one
}

// writer is the state of the writer's goroutine.
type writer struct {
	tx       uint64 // the number of the last commit that is known to be on disk
	failures int    // writes or syncs that failed for another reason than a full disk
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
	session() rowKey
	ends(key rowKey, ref session.BlockRef) bool
}

// request is a change that somebody waits for.
type request struct {
	change
	err  error         // final when done is closed
	done chan struct{} // closed by the writer
}

// blockKey names an open block of a session.
type blockKey struct {
	message session.MessageID
	number  int
}

// growing is an open block: how much of it is stored, and the text that waits behind that.
type growing struct {
	ref    session.BlockRef
	stored int
	text   []byte
}

// epochs are the epochs of claims. The file has the first one that no process has used. A process begins there, so its epochs are
// higher than those of every process that stored anything. Its first append reserves a block of them, in the same commit; later
// ones do so when the block is used up. Sessions count on their own: a block is enough for 64 claims of each. A session that this
// process has made begins at 0.
type epochs struct {
	known    bool   // the file was read
	least    uint64 // of sessions that this process has not made
	next     uint64 // above all that were used
	reserved uint64 // the first one that another process could use
}
