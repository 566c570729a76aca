package jet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/session"
)

// Tables are the rows that all nodes share, such as API tokens and keys: a stream with one message for each row. A node has all rows in memory.
// It asks the leader five times in a second for the last sequence of the stream, and reads what is new. So there is no consumer that an election could
// end unnoticed, and a node knows at any time how old its knowledge is. Each look takes another connection: a leader that is outdated answers one side
// of a partition only, so the looks of a node that has contact with a majority cannot all come to it.
//
//	Change ── compare and set ──► P_TABLE ◄── look, read ── mirror ──► Rows, of each node
//
// A row that was removed leaves an empty message for TombstoneTime, which tells the other nodes. A node that could not look for half of that time
// reads all rows again.
type Tables struct {
	api
	names
	contact func() bool
	clock   func() time.Duration

	ctx     context.Context // of the looks
	stop    context.CancelFunc
	running sync.WaitGroup
	asked   gate   // its holder may read the stream
	looks   int    // how many there were; of the holder of asked
	made    string // when the stream was made; of the holder of asked
	known   uint64 // rows are those of this sequence; of the holder of asked

	mu      sync.Mutex
	sent    time.Duration  // by clock, of the look that rows are of
	rows    map[string]row // by subject, also those that were removed
	tables  map[string]*Table
	count   int // rows that are there
	changed chan struct{}
}

// row is the last message of a row that this node has seen.
type row struct {
	seq uint64
	rowBody
	gone bool
}

// TableOptions are those of [OpenTables].
type TableOptions struct {
	Prefix   string // of the store
	Replicas int    // of the stream, if it is made

	// Contact reports whether this node is in contact with a majority of the servers; nil: that is not known. While it is, rows count as fresh for
	// an election without answers: nothing can be changed then.
	Contact func() bool

	// Clock only grows, also while the machine sleeps. It says how old rows are. nil: a clock that may stand still while the machine sleeps.
	Clock func() time.Duration
}

const (
	tableLook    = 200 * time.Millisecond
	tableAnswer  = 500 * time.Millisecond
	tableFresh   = 5 * time.Second  // after which rows are not fresh any more, without contact
	tableElected = 30 * time.Second // and with it
	maxRows      = 100_000          // of all tables
	maxRowKey    = 1024
)

// ErrManyRows says that no further row can be made.
var ErrManyRows = fmt.Errorf("the tables of a cluster have at most %d rows", maxRows)

// OpenTables opens the tables of a store, and makes their stream if it is not there. It returns when all rows were read. ctx bounds the opening alone.
func OpenTables(ctx context.Context, link Link, opt TableOptions) (*Tables, error) {
	if !prefixForm().MatchString(opt.Prefix) {
		return nil, fmt.Errorf("the prefix %q: a prefix has 1 to 32 letters, digits, - and _", opt.Prefix)
	}
	t := &Tables{api: api{link}, names: names{prefix: opt.Prefix}, contact: opt.Contact, clock: opt.Clock, asked: newGate(),
		rows: make(map[string]row), tables: make(map[string]*Table), changed: make(chan struct{})}
	if t.clock == nil {
		begun := time.Now()
		t.clock = func() time.Duration { return time.Since(begun) }
	}
	made := tableStream(t.names)
	made.Replicas = opt.Replicas
	err := t.create(ctx, made)
	if err == nil {
		err = t.refresh(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("the tables of store %s: %w", opt.Prefix, err)
	}
	t.ctx, t.stop = context.WithCancel(context.Background())
	t.running.Go(t.watch)
	return t, nil
}

func tableStream(n names) stream {
	return stream{Name: n.tables(), Subjects: []string{n.rows()}, Storage: "file", MaxBytes: -1, PerSubject: 1, Discard: "old", AllowTTL: true, DenyDelete: true}
}

// Close ends the looks.
func (t *Tables) Close() {
	t.stop()
	t.running.Wait()
}

// watch ends with the tables.
func (t *Tables) watch() {
	tick := time.NewTicker(tableLook)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-t.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(t.ctx, tableFresh) // what fails is tried again, and Fresh says so
		t.look(ctx)
		cancel()
	}
}

// refresh looks until there is an answer.
func (t *Tables) refresh(ctx context.Context) error {
	return retry(ctx, func(int) error { return t.look(ctx) })
}

// look reads what is new, once.
func (t *Tables) look(ctx context.Context) error {
	if err := t.asked.lock(ctx); err != nil {
		return err
	}
	defer t.asked.unlock()
	try := t.looks
	t.looks++
	sent := t.clock()
	var info struct {
		Created string `json:"created"`
		State   struct {
			Last uint64 `json:"last_seq"`
		} `json:"state"`
	}
	short, cancel := context.WithTimeout(ctx, tableAnswer) // the next look takes another connection
	defer cancel()
	if err := t.call(short, try, "STREAM.INFO."+t.names.tables(), struct{}{}, &info); err != nil {
		return err
	}
	last := info.State.Last
	from := t.known + 1
	t.mu.Lock()
	if info.Created != t.made { // it was restored, and begins at 1 again
		for subject, r := range t.rows {
			r.seq = 0
			t.rows[subject] = r
		}
		from = 1
	}
	if sent-t.sent > TombstoneTime/2 { // tombstones may be gone
		from = 1
	}
	t.mu.Unlock()
	if last+1 < from {
		return errOutdated
	}
	var list []message
	if from <= last || from == 1 {
		var err error
		if list, err = t.since(ctx, try, t.names.tables(), t.names.rows(), from, last); err != nil {
			return err
		}
	}
	next, err := t.newest(list)
	if err != nil {
		return err
	}
	t.made, t.known = info.Created, last
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent = sent // under the lock of the rows: otherwise new rows would be old for a moment
	if from == 1 {
		t.removeOthers(next)
	}
	t.apply(next)
	return nil
}

// rowBody is the body of a message.
type rowBody struct {
	Table string `json:"table"`
	Key   string `json:"key"`
	Text  []byte `json:"text"`
}

func (t *Tables) parse(m message) (r row, err error) {
	if r.seq = m.seq; len(m.data) == 0 {
		r.gone = true
		return r, nil
	}
	if err := json.Unmarshal(m.data, &r.rowBody); err != nil || t.row(r.Table, r.Key) != m.subject {
		return r, fmt.Errorf("%w: message %d of %s is no row of its subject", session.ErrDamaged, m.seq, t.names.tables())
	}
	return r, nil
}

// newest is the newest row of each subject among messages.
func (t *Tables) newest(list []message) (map[string]row, error) {
	next := make(map[string]row, len(list))
	for _, m := range list {
		r, err := t.parse(m)
		if err != nil {
			return nil, err
		}
		if r.seq > next[m.subject].seq {
			next[m.subject] = r
		}
	}
	return next, nil
}

// removeOthers marks in next, which has all rows of the stream, that each other row is gone. The caller holds mu.
func (t *Tables) removeOthers(next map[string]row) {
	for subject, old := range t.rows {
		_, there := next[subject]
		switch {
		case there:
		case old.gone: // and its tombstone as well
			delete(t.rows, subject)
		default:
			old.gone = true
			next[subject] = old
		}
	}
}

// apply makes rows the newest, and tells their tables. A row that is older than what is known has come from a replica that is behind. The caller
// holds mu.
func (t *Tables) apply(next map[string]row) {
	touched := make(map[string]map[string][]byte)
	for subject, r := range next {
		old, seen := t.rows[subject]
		was := seen && !old.gone
		if r.seq < old.seq || r.seq == old.seq && was != r.gone {
			continue
		}
		if r.gone { // the message has no names
			r.Table, r.Key, r.Text = old.Table, old.Key, nil
		}
		t.rows[subject] = r
		if !was && r.gone {
			continue
		}
		rows := touched[r.Table]
		if rows == nil {
			rows = maps.Clone(t.table(r.Table).rows)
			touched[r.Table] = rows
		}
		if r.gone {
			t.count--
			delete(rows, r.Key)
			t.rows[subject] = row{seq: r.seq, gone: true}
			continue
		}
		if !was {
			t.count++
		}
		rows[r.Key] = r.Text
	}
	for name, rows := range touched {
		one := t.table(name)
		one.rows = rows
		one.version.Add(1)
	}
	if len(touched) > 0 {
		close(t.changed)
		t.changed = make(chan struct{})
	}
}

// table is one that was asked for, or that has rows. The caller holds mu.
func (t *Tables) table(name string) *Table {
	one := t.tables[name]
	if one == nil {
		one = &Table{all: t, name: name, rows: make(map[string][]byte)}
		t.tables[name] = one
	}
	return one
}

// Table returns a table by its name, of 1 to 32 letters, digits, - and _. It need not be there before.
func (t *Tables) Table(name string) *Table {
	if !prefixForm().MatchString(name) {
		panic("jet: a table has the name " + strconv.Quote(name))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.table(name)
}

// Fresh reports whether the rows are those of the last seconds.
func (t *Tables) Fresh() bool {
	t.mu.Lock()
	age := t.clock() - t.sent
	t.mu.Unlock()
	return age < tableFresh || age < tableElected && t.contact != nil && t.contact()
}

// Table is rows with one purpose: a [durable.Table].
type Table struct {
	all     *Tables
	name    string
	version atomic.Uint64
	rows    map[string][]byte // replaced as a whole; of the holder of all.mu
}

var _ durable.Table = (*Table)(nil)

// Name implements [durable.Table].
func (t *Table) Name() string { return t.name + " of the cluster" }

// Rows implements [durable.Table].
func (t *Table) Rows() (map[string][]byte, uint64) {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	return t.rows, t.version.Load()
}

// Version implements [durable.Table].
func (t *Table) Version() uint64 { return t.version.Load() }

// Changed implements [durable.Table].
func (t *Table) Changed() <-chan struct{} {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	return t.all.changed
}

// Fresh implements [durable.Table].
func (t *Table) Fresh() bool { return t.all.Fresh() }

// Refresh implements [durable.Table].
func (t *Table) Refresh(ctx context.Context) error { return t.all.refresh(ctx) }

// Change implements [durable.Table]. A text has at most about 380 KiB. If the servers do not answer, the error is session.ErrReadOnly.
func (t *Table) Change(ctx context.Context, key string, change func(old []byte) ([]byte, error)) error {
	if key == "" || len(key) > maxRowKey {
		return fmt.Errorf("a row of %s has a key of %d bytes: it must have 1 to %d", t.Name(), len(key), maxRowKey)
	}
	subject := t.all.row(t.name, key)
	stored, err := t.all.casFor(ctx, t.all.names.tables(), subject, TombstoneTime, func(m message, _ bool) ([]byte, error) {
		old, err := t.all.parse(m)
		if m.seq > 0 && err != nil {
			return nil, err
		}
		text, err := change(old.Text)
		switch {
		case err != nil, bytes.Equal(text, old.Text) && (text == nil) == (old.Text == nil):
			return nil, err
		case text == nil:
			return []byte{}, nil
		case old.Text == nil && t.all.full():
			return nil, ErrManyRows
		}
		return json.Marshal(rowBody{t.name, key, text})
	})
	if err != nil {
		return fmt.Errorf("%s: %w", t.Name(), err)
	}
	if stored.seq == 0 { // there was no such row, and is none
		return nil
	}
	next, err := t.all.newest([]message{stored})
	if err != nil {
		return err
	}
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	t.all.apply(next)
	return nil
}

func (t *Tables) full() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count >= maxRows
}
