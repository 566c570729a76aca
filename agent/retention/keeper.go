package retention

import (
	"context"
	"errors"
	"time"

	"github.com/thinkd/thinkd/session"
)

// Every is how often a Keeper looks.
const Every = time.Hour

// Keeper deletes what its rules say. All functions are required.
type Keeper struct {
	Rules  Rules
	Owners func(context.Context) ([]session.Owner, error)
	List   func(context.Context, session.Owner, session.Query) (page []session.Session, next string, err error)

	// Delete deletes a session if expired still says so and nothing of it is in use. It reports whether it did.
	Delete func(ctx context.Context, ref session.Ref, expired func(session.Session) bool) (bool, error)

	// Due reports whether something was deleted since the store's file was last rewritten. Rewrite rewrites it; it is called while Idle.
	Due     func() (bool, error)
	Rewrite func(context.Context) error
	Idle    func() bool // no turn runs

	Told func(Round) // after each round in which something happened
}

// Round is what a look has done.
type Round struct {
	Deleted   int
	Rewritten bool
	Err       error
}

// Run looks until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		r := k.Look(ctx)
		if ctx.Err() != nil {
			return
		}
		if r != (Round{}) {
			k.Told(r)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Look deletes what is expired now, and rewrites the file if that is due.
func (k *Keeper) Look(ctx context.Context) (r Round) {
	owners, err := k.Owners(ctx)
	for _, owner := range owners {
		if err == nil {
			r.Deleted, err = k.sweep(ctx, owner, r.Deleted)
		}
	}
	if err == nil {
		r.Rewritten, err = k.rewrite(ctx)
	}
	r.Err = err
	return r
}

// sweep deletes the expired sessions of an owner, and returns how many there were with those before.
func (k *Keeper) sweep(ctx context.Context, owner session.Owner, before int) (deleted int, err error) {
	deleted = before
	expired := func(s session.Session) bool { return k.Rules.Expired(s, time.Now()) }
	var old []session.ID
	for q := (session.Query{Limit: 1000}); ; {
		page, next, err := k.List(ctx, owner, q)
		if err != nil {
			return deleted, err
		}
		for _, s := range page {
			if expired(s) {
				old = append(old, s.ID)
			}
		}
		if q.Cursor = next; next == "" {
			break
		}
	}
	for _, id := range old {
		gone, failed := k.Delete(ctx, session.Ref{Owner: owner, ID: id}, expired)
		if failed != nil && !errors.Is(failed, session.ErrNotFound) && !errors.Is(failed, session.ErrDamaged) {
			return deleted, failed
		}
		if gone {
			deleted++
		}
	}
	return deleted, nil
}

func (k *Keeper) rewrite(ctx context.Context) (bool, error) {
	if due, err := k.Due(); !due || err != nil || !k.Idle() {
		return false, err
	}
	err := k.Rewrite(ctx)
	return err == nil, err
}
