package jet

import (
	"context"
	"errors"
	"fmt"

	"github.com/thinkd/thinkd/session"
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
	if err != nil {
		return err
	}
	if err := l.lock(ctx); err != nil {
		return err
	}
	defer l.unlock()
	defer s.released(l)
	h := next(l.base, l.last)
	h.Deleted, h.Turn = true, ""
	if _, err := s.store(ctx, &l.own, at, h, nil); err != nil {
		return err
	}
	l.fence(notFound(at.ref))
	s.forget(at.ref)
	gone := l.acct.copy()
	gone.Deleted, gone.Session, gone.Shared = true, session.Session{ID: id}, nil
	l.acct.set(gone, nil)
	s.accounts.changed(l.acct)
	return errors.Join(s.accounts.flush(ctx, p), s.purgeLog(ctx, p, at))
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
