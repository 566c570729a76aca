package jet

import (
	"context"
	"errors"
	"fmt"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/lease"
)

// Delete removes a session and its log. It claims the session first: who deletes has seen all of it, and nothing follows.
func (s sessions) Delete(ctx context.Context, id session.ID) error {
	p, at, err := s.place(ctx, id)
	if errors.Is(err, session.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	l, err := s.take(ctx, p, at)
	if errors.Is(err, session.ErrNotFound) {
		return s.purgeLog(ctx, p, at) // what a deletion before may have left
	}
	if err == nil {
		err = s.end(ctx, p, l)
	}
	if errors.Is(err, errFull) || errors.Is(err, session.ErrDamaged) {
		return s.bury(ctx, p, at, errors.Is(err, errFull))
	}
	return err
}

// end appends the tombstone of a log that this process holds.
func (s *Store) end(ctx context.Context, p person, l *log) error {
	if err := l.lock(ctx); err != nil {
		return err
	}
	defer l.unlock()
	defer s.released(l)
	h := next(l.base, l.last)
	h.Deleted, h.Turn = true, ""
	if _, err := s.store(ctx, &l.own, l.place, h, nil); err != nil {
		return err
	}
	l.fence(notFound(l.place.ref))
	return s.buried(ctx, p, l.place, l.acct)
}

// buried does what follows a tombstone.
func (s *Store) buried(ctx context.Context, p person, at place, a *account) error {
	s.forget(at.ref)
	gone := a.copy()
	gone.Deleted, gone.Session, gone.Shared = true, session.Session{ID: at.ref.ID}, nil
	a.set(gone, nil)
	s.accounts.changed(a)
	return errors.Join(s.accounts.flush(ctx, p), s.purgeLog(ctx, p, at))
}

// bury deletes a session whose log cannot be claimed: it is damaged, or the stream has no space for a claim. One message is the claim and the tombstone. It
// expects the last message that was read, so nobody can have appended anything in between. To make space for it, everything before the last
// message is removed first. If that is not enough, or the process ends in between, the session is damaged and can be deleted again.
func (s *Store) bury(ctx context.Context, p person, at place, full bool) error {
	s.onTheWay(at.ref, 1)
	defer s.onTheWay(at.ref, -1)
	last, _, err := s.lastOf(ctx, at)
	if err != nil || last.seq == 0 {
		return err
	}
	if last.Deleted {
		return s.purgeLog(ctx, p, at)
	}
	if s.present(last.Node) && !s.peers.NotMine(ctx, last.Node, at.ref, last.Epoch) {
		return &ElsewhereError{last.Node}
	}
	if full {
		if err := s.purge(ctx, at.stream, at.subject, last.seq); err != nil {
			return err
		}
	}
	h := next(last, last)
	h.Deleted, h.Turn = true, ""
	own := lease.Log{Epoch: last.Epoch + 1, Tail: last.seq, Node: s.node}
	if _, err := s.store(ctx, &own, at, h, nil); err != nil {
		return err
	}
	a, _, err := s.accounts.load(ctx, p, at.ref)
	if err != nil {
		return err
	}
	a.now.Epoch, a.now.Pos = own.Epoch, last.Pos
	s.mu.Lock()
	holder := s.holders[at.ref]
	delete(s.holders, at.ref)
	s.mu.Unlock()
	if holder != nil {
		holder.fence(notFound(at.ref))
	}
	return s.buried(ctx, p, at, a)
}

// purgeLog removes everything before the tombstone of a session.
func (s *Store) purgeLog(ctx context.Context, p person, at place) error {
	last, _, err := s.lastOf(ctx, at)
	if err != nil || !last.Deleted {
		return err
	}
	return errors.Join(s.purge(ctx, at.stream, at.subject, last.seq), s.purge(ctx, s.ckpt(), s.growth(p, at.ref.ID)+".>", 0))
}

// Forget removes what is kept of an owner besides sessions. What the owner spent stays in the budgets of the days.
func (s *Store) Forget(ctx context.Context, owner session.Owner) error {
	p, ok, err := s.find(ctx, owner)
	if err == nil && owner == session.Operator {
		err = session.ErrOwner
	}
	if err != nil || !ok {
		return err
	}
	page, _, err := s.For(owner).List(ctx, session.Query{Limit: 1})
	if err != nil {
		return err
	}
	if len(page) > 0 {
		return fmt.Errorf("%s: %w", owner, session.ErrOwner)
	}
	// The caches of other nodes learn it from the value, and from what is missing.
	marker, err := s.cas(ctx, s.state(), s.value(p, kindForgotten, "all"), func(message, bool) ([]byte, error) {
		return []byte("{}"), nil
	})
	if err != nil {
		return err
	}
	return errors.Join(s.purge(ctx, s.state(), s.names.owners(p), marker.seq), s.purge(ctx, s.made(), s.names.stamps(p), 0))
}
