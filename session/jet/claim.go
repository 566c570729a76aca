package jet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/session"
)

// Claim makes the caller the holder of a log. The error is an *ElsewhereError if another node is present that has the log open, or if it took the
// session from this node and Times.Fought has not passed.
func (s sessions) Claim(ctx context.Context, id session.ID) (session.Log, error) {
	p, place, err := s.place(ctx, id)
	if err != nil {
		return nil, err
	}
	l, err := s.take(ctx, p, place)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// take claims a log. The holder before in this process ends.
func (s *Store) take(ctx context.Context, p person, place place) (*log, error) {
	s.onTheWay(place.ref, 1)
	defer s.onTheWay(place.ref, -1)
	made, err := s.claim(ctx, place)
	if err != nil {
		return nil, err
	}
	l := &log{d: s.driver, accounts: s.accounts, ready: s.ready, released: s.released, taken: s.taken, since: s.fights.now(), place: place, epoch: made.log.Epoch, held: made.hold, turn: session.TurnID(made.own.Turn), gate: newGate(), own: made.log, last: made.own, base: made.own}
	l.grown = &growths{api: s.driver.api, stream: s.ckpt(), prefix: fmt.Sprintf("%s.%d", s.growth(p, place.ref.ID), l.epoch), ctx: s.ctx, running: &s.running}
	s.mu.Lock()
	before := s.holders[place.ref]
	newest := before == nil || before.epoch < l.epoch
	if newest {
		s.holders[place.ref] = l
	}
	s.mu.Unlock()
	fenced := fmt.Errorf("session %s: %w", place.ref, session.ErrFenced)
	if !newest {
		return nil, fenced
	}
	if before != nil {
		before.fence(fenced)
	}
	if err := errors.Join(s.settle(ctx, p, l, made.body), s.inherit(ctx, p, l)); err != nil {
		l.fence(fenced)
		s.released(l)
		return nil, err
	}
	return l, nil
}

func (s *Store) onTheWay(ref session.Ref, by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claiming[ref] += by; s.claiming[ref] == 0 {
		delete(s.claiming, ref)
	}
}

// settle brings the account up to date with the log: its writer may have ended before.
func (s *Store) settle(ctx context.Context, p person, l *log, b body) error {
	ref := l.place.ref
	if err := s.accounts.flush(ctx, p); err != nil {
		return err
	}
	a, ok, err := s.accounts.load(ctx, p, ref)
	if err != nil {
		return err
	}
	l.acct = a
	var kept session.Session
	if err := json.Unmarshal(b.record, &kept); err != nil {
		return damaged(l.place, "the record: %v", err)
	}
	if behind := l.base.Pos - min(a.now.Pos, l.base.Pos); behind > 0 || !ok {
		if err := s.catchUp(ctx, l, a, ok); err != nil {
			return err
		}
		s.accounts.changed(a)
	}
	a.now.Epoch, a.now.Pos, a.now.Turn, a.now.Session = l.epoch, l.base.Pos, session.TurnID(l.base.Turn), kept
	return nil
}

// catchUp takes in what an account lacks.
func (s *Store) catchUp(ctx context.Context, l *log, a *account, ok bool) error {
	ref := l.place.ref
	if !ok {
		first, err := s.first(ctx, l.place, l.base)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(first.record, &a.now.Session); err != nil {
			return damaged(l.place, "the record: %v", err)
		}
		a.now.Session = a.now.Session.Changing()
		for _, sh := range first.shared {
			a.now.Shared = append(a.now.Shared, sh.id)
		}
	}
	for a.now.Pos < l.base.Pos {
		values, err := s.driver.values(ctx, l.place, l.last, a.now.Pos, 1000)
		if err == nil && len(values) == 0 {
			err = damaged(l.place, "the log ends at %d of %d", a.now.Pos, l.base.Pos)
		}
		if err != nil {
			return err
		}
		entries, err := session.DecodeEntries(values)
		if err != nil {
			return damaged(l.place, "an entry behind %d: %v", a.now.Pos, err)
		}
		for _, e := range entries { // each with its own position: budgets count by it
			if charges := a.now.apply(ref.Owner, a.now.Pos+1, []session.Entry{e}); len(charges) > 0 {
				a.charges = append(a.charges, charged{a.now.Pos, charges})
			}
		}
	}
	return nil
}

// inherit takes over the growth of earlier holders, except of blocks that have ended.
func (s *Store) inherit(ctx context.Context, p person, l *log) error {
	blocks, err := s.driver.readGrowth(ctx, s.ckpt(), s.growth(p, l.place.ref.ID))
	if err != nil || len(blocks) == 0 {
		return err
	}
	at := slices.MinFunc(blocks, func(a, b *block) int { return int(int64(a.pos) - int64(b.pos)) }).pos
	for at < l.base.Pos {
		values, err := s.driver.values(ctx, l.place, l.last, at, 1000)
		if err != nil {
			return err
		}
		entries, err := session.DecodeEntries(values)
		if err != nil || len(entries) == 0 {
			return damaged(l.place, "%d entries behind %d: %v", len(entries), at, err)
		}
		for _, e := range entries {
			at++
			blocks = slices.DeleteFunc(blocks, func(b *block) bool { return b.pos < at && e.Ends(b.BlockRef) })
		}
	}
	l.grown.blocks = blocks
	return nil
}
