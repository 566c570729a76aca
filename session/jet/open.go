package jet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/lease"
)

// Options are those of a store.
type Options struct {
	Prefix    string // of all streams and subjects: 1 to 32 letters, digits, - and _; empty: thinkd
	Shards    int    // streams for logs; 0: 4. It counts when the store is made
	Replicas  int    // of each stream that is made; 0: 3
	MaxBytes  int64  // of each stream for logs that is made; 0: no limit, so a full disk stops JetStream
	MaxGrowth int64  // bytes of open blocks that the servers keep in memory; 0: 4 GiB

	Node  lease.Node // 0: a random one
	Peers Peers      // nil: every other node is gone
	Times Times      // zero: DefaultTimes
}

// Store is a [session.Store] on JetStream. Open makes one.
type Store struct {
	driver
	names
	people   *people
	values   *values
	stamps   *stamps
	accounts *accounts
	budgets  *budgets

	ctx     context.Context // of what the store does by itself
	stop    context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	holders  map[session.Ref]*log
	claiming map[session.Ref]int // claims on the way
}

// Open opens a store, and makes it if it is not there. ctx bounds the opening alone.
func Open(ctx context.Context, link Link, opt Options) (*Store, error) {
	if opt.Prefix == "" {
		opt.Prefix = "thinkd"
	}
	if opt.Shards == 0 {
		opt.Shards = 4
	}
	if opt.Replicas == 0 {
		opt.Replicas = 3
	}
	if opt.MaxGrowth == 0 {
		opt.MaxGrowth = 4 << 30
	}
	if opt.MaxBytes == 0 {
		opt.MaxBytes = -1
	}
	if opt.Node == 0 {
		opt.Node = newNode()
	}
	if opt.Times == (Times{}) {
		opt.Times = DefaultTimes
	}
	if !prefixForm().MatchString(opt.Prefix) || opt.Shards < 1 || opt.Shards > maxShards {
		return nil, fmt.Errorf("the prefix %q, or %d shards: a prefix has 1 to 32 letters, digits, - and _, and there are 1 to %d shards", opt.Prefix, opt.Shards, maxShards)
	}
	a := api{link}
	n, err := prepare(ctx, a, opt)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", opt.Prefix, err)
	}
	s := newStore(a, n, opt)
	s.running.Go(s.writeAccounts)
	return s, nil
}

func newStore(a api, n names, opt Options) *Store {
	b := &budgets{api: a, names: n, done: make(map[string]uint64)}
	v := &values{api: a, names: n, owners: make(map[person]*family)}
	s := &Store{
		driver:   driver{reader{a, newCache(), nearSpan}, opt.Node, opt.Peers, opt.Times, newFights(opt.Times.Fought), newLosses(), n},
		names:    n,
		people:   &people{api: a, names: n, known: make(map[session.Owner]person)},
		values:   v,
		stamps:   &stamps{api: a, names: n, owners: make(map[person]*stamped)},
		budgets:  b,
		accounts: &accounts{api: a, names: n, budgets: b, values: v, waiting: make(map[person]*queue), wake: make(chan struct{}, 1), soon: make(chan struct{}, 1)},
		holders:  make(map[session.Ref]*log), claiming: make(map[session.Ref]int),
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// prepare makes what is not there.
func prepare(ctx context.Context, a api, opt Options) (names, error) {
	n := names{opt.Prefix, opt.Shards}
	state := stream{Name: n.state(), Subjects: []string{n.prefix + ".state.>", n.prefix + ".people.>", n.prefix + ".all.>"},
		Storage: "file", Replicas: opt.Replicas, MaxBytes: -1, PerSubject: 1, Discard: "old", DenyDelete: true}
	if err := a.create(ctx, state); err != nil {
		return n, err
	}
	minted := newPerson()
	_, err := a.cas(ctx, n.state(), n.all("format"), func(old message, ok bool) ([]byte, error) {
		f := format{Version: version, Shards: opt.Shards}
		if ok {
			var err error
			if f, err = formatOf(old.data); err != nil {
				return nil, err
			}
		}
		if n.shards = f.Shards; f.ID != "" {
			return nil, nil
		}
		f.ID = minted // also if an older build made the store
		return json.Marshal(f)
	})
	if err != nil {
		return n, err
	}
	streams := []stream{
		{Name: n.made(), Subjects: []string{n.prefix + ".made.>"}, Storage: "file", MaxBytes: -1, PerSubject: session.MaxStamps, Discard: "old",
			MaxAge: stampTime, DenyDelete: true},
		{Name: n.open(), Subjects: []string{n.prefix + ".open.>"}, Storage: "file", MaxBytes: -1, PerSubject: 1, Discard: "old"},
		tableStream(n),
		{Name: n.ckpt(), Subjects: []string{n.prefix + ".ckpt.>"}, Storage: "memory", MaxBytes: opt.MaxGrowth, PerSubject: -1, Discard: "old",
			MaxAge: growthAge, AllowRollup: true},
	}
	for k := range n.shards {
		streams = append(streams, stream{Name: n.logStream(k), Subjects: []string{fmt.Sprintf("%s.log.%d.>", n.prefix, k)}, Storage: "file",
			MaxBytes: opt.MaxBytes, PerSubject: -1, Discard: "new", AllowTTL: true, DenyDelete: true})
	}
	for _, s := range streams {
		s.Replicas = opt.Replicas
		if err := a.create(ctx, s); err != nil {
			return n, fmt.Errorf("stream %s: %w", s.Name, err)
		}
	}
	return n, nil
}

// accountTime is how long an account may wait that is not that of an ended turn.
const accountTime = 30 * time.Second

// writeAccounts ends with the store.
func (s *Store) writeAccounts() {
	timer := time.NewTimer(accountTime)
	defer timer.Stop()
	for {
		select {
		case <-s.accounts.wake:
		case <-s.ctx.Done():
			return
		}
		timer.Reset(accountTime)
		select {
		case <-timer.C:
		case <-s.accounts.soon:
		case <-s.ctx.Done():
			return
		}
		if s.accounts.flushAll(s.ctx) != nil {
			s.accounts.again() // they wait for the next time
		}
	}
}

// ready returns why nothing can be done.
func (s *Store) ready(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return session.ErrClosed
	}
	return nil
}

// closeTime is how long Close tries to write what waits. The logs have it all.
const closeTime = 10 * time.Second

// Close writes what waits.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return session.ErrClosed
	}
	s.closed = true
	for _, l := range s.holders {
		l.grown.close()
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(context.Background(), closeTime, errors.New("the store is closed"))
	defer cancel()
	err := s.accounts.flushAll(ctx)
	s.stop()
	s.running.Wait()
	return err
}

// Node is this run of the node.
func (s *Store) Node() lease.Node { return s.node }

// Mine reports whether this process has the log of a session open with an epoch, as messages have it, or a claim of it on the way.
func (s *Store) Mine(ref session.Ref, epoch uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.holders[ref]
	return s.claiming[ref] > 0 || l != nil && l.epoch == epoch
}

// Claimed reports whether the store has a later claim of a session than the one with an epoch, as messages have it, or its end. No is no proof: an
// outdated leader may have answered.
func (s *Store) Claimed(ctx context.Context, ref session.Ref, epoch uint64) (bool, error) {
	p, ok, err := s.find(ctx, ref.Owner)
	if err != nil || !ok {
		return false, err
	}
	last, _, err := s.lastOf(ctx, s.names.place(p, ref))
	return last.Deleted || last.Epoch > epoch, err
}

// owner is the id of an owner, for writing.
func (s *Store) owner(ctx context.Context, owner session.Owner) (person, error) {
	if err := s.ready(ctx); err != nil {
		return person{}, err
	}
	return s.people.make(ctx, owner)
}

// find is the id of an owner, for reading; ok is false if it has nothing.
func (s *Store) find(ctx context.Context, owner session.Owner) (person, bool, error) {
	if err := s.ready(ctx); err != nil {
		return person{}, false, err
	}
	return s.people.find(ctx, owner)
}

// taken records that another node has claimed the session of a log. It does nothing if this node has a newer log of the session.
func (s *Store) taken(l *log) {
	s.mu.Lock()
	newest := s.holders[l.place.ref] == l
	s.mu.Unlock()
	if newest {
		s.fights.lost(l.place.ref, l.since)
	}
}

// released takes note that a log is not open any more.
func (s *Store) released(l *log) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holders[l.place.ref] == l {
		delete(s.holders, l.place.ref)
	}
}
