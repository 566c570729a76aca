package ephemeral

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/mem"
)

// Store is a [session.Local] over two others. New makes one.
type Store struct {
	durable session.Store
	memory  *mem.Store

	// making is held alone while a stamped request makes an ephemeral session, and shared while one makes another session: a stamp
	// has one of the two.
	making sync.RWMutex

	mu    sync.Mutex
	holds map[session.Ref]hold // of the calls of ephemeral sessions
	late  []settling           // what could not be settled
}

// hold is a reservation in the ledger.
type hold struct {
	id   string
	turn session.TurnID
	session.Reserved
}

// settling is what ends a hold.
type settling struct {
	ref    session.Ref
	id     string
	used   provider.Usage
	missed session.Missed
}

// New returns a store. It closes durable at its end. If durable is no [session.Local], OpenTurns and Owners know the ephemeral sessions alone.
func New(durable session.Store) *Store {
	return &Store{durable: durable, memory: mem.New(), holds: make(map[session.Ref]hold)}
}

// sessions are those of one owner. A session is in memory if memory knows its id, else it is in the durable store or nowhere.
type sessions struct {
	store           *Store
	owner           session.Owner
	durable, memory session.Sessions
}

// For returns the sessions of one owner.
func (s *Store) For(owner session.Owner) session.Sessions {
	return sessions{s, owner, s.durable.For(owner), s.memory.For(owner)}
}

// Ledger is that of the durable store.
func (s *Store) Ledger() session.Ledger { return ledger{s.durable.Ledger(), s.memory} }

// OpenTurns lists the sessions with a turn that has started and not ended.
func (s *Store) OpenTurns(ctx context.Context) ([]session.Ref, error) {
	var list []session.Ref
	if local, ok := s.durable.(session.Local); ok {
		var err error
		if list, err = local.OpenTurns(ctx); err != nil {
			return nil, err
		}
	}
	more, err := s.memory.OpenTurns(ctx)
	list = append(list, more...)
	slices.SortFunc(list, session.Ref.Compare)
	return list, err
}

// owners is a store that can list them. That of a cluster is no [session.Local].
type owners interface {
	Owners(ctx context.Context) ([]session.Owner, error)
}

// Owners lists the owners that have sessions.
func (s *Store) Owners(ctx context.Context) ([]session.Owner, error) {
	var list []session.Owner
	if of, ok := s.durable.(owners); ok {
		var err error
		if list, err = of.Owners(ctx); err != nil {
			return nil, err
		}
	}
	more, err := s.memory.Owners(ctx)
	for _, o := range more {
		if !slices.Contains(list, o) {
			list = append(list, o)
		}
	}
	return list, err
}

// Forget removes all data of an owner except sessions.
func (s *Store) Forget(ctx context.Context, owner session.Owner) error {
	if err := s.memory.Forget(ctx, owner); err != nil {
		return err
	}
	s.mu.Lock()
	maps.DeleteFunc(s.holds, func(ref session.Ref, _ hold) bool { return ref.Owner == owner })
	s.late = slices.DeleteFunc(s.late, func(c settling) bool { return c.ref.Owner == owner })
	s.mu.Unlock()
	return s.durable.Forget(ctx, owner)
}

// Close ends both stores.
func (s *Store) Close() error {
	err := s.durable.Close()
	if ended := s.memory.Close(); err == nil || !errors.Is(ended, session.ErrClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

func (s *Store) held(ref session.Ref) hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holds[ref]
}

// settle ends holds. What the ledger does not take now is tried again with the next one. If the process ends before, the next one counts
// it as an estimate.
func (s *Store) settle(ctx context.Context, list ...settling) {
	s.mu.Lock()
	list = append(s.late, list...)
	s.late = nil
	s.mu.Unlock()
	var failed []settling
	for _, c := range list {
		if err := s.durable.Ledger().Settle(context.WithoutCancel(ctx), c.ref, c.id, c.used, c.missed); err != nil {
			failed = append(failed, c)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = append(s.late, failed...)
}
