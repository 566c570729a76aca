package users

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/blob"
	"github.com/thinkd/thinkd/session/bolt"
)

// Admin administers the users of a daemon, or of a cluster. All members are required, except where nil is said to be possible. Its methods are safe for concurrent use.
type Admin struct {
	Dir    string // the data directory
	Auth   config.Auth
	Tokens auth.Records
	Store  session.Local
	File   *bolt.Store // that Store has all but ephemeral sessions in; nil: the store is that of a cluster
	Blobs  *blob.Dir   // nil: as File
	Agents *agent.Group
	Forget func(session.Owner) (keys int, err error) // removes the keys of providers and the shares of a user

	// Elsewhere has other nodes delete a session that they have loaded, or without an ID, end all that is the owner's there and keep the owner out for some
	// time. It returns how many sessions they have deleted. nil: there are no other nodes.
	Elsewhere func(ctx context.Context, ref session.Ref) (sessions int, err error)

	// Expel ends the connections of an owner and waits until nothing of them runs. The owner is not let in until readmit.
	Expel func(ctx context.Context, o session.Owner) (readmit func(), err error)
}

// List returns all users, by name.
func (a *Admin) List(ctx context.Context) (door.Users, error) {
	today := a.Agents.Today()
	month := string(today)[:len("2026-11")]
	all := make(map[session.Owner]*door.User)
	of := func(o session.Owner) *door.User {
		if all[o] == nil {
			all[o] = &door.User{UserName: door.UserName{Tenant: o.Tenant, User: o.User}, Quota: quotaOf(a.Auth.QuotaOf(o))}
		}
		return all[o]
	}
	owners, err := a.Store.Owners(ctx)
	if err != nil {
		return door.Users{}, err
	}
	for _, o := range owners {
		if err := a.count(ctx, o, of(o)); err != nil {
			return door.Users{}, err
		}
	}
	lines, err := a.Store.Ledger().Lines(ctx, nil, session.Day(month+"-01"), today)
	if err != nil {
		return door.Users{}, err
	}
	for _, l := range lines {
		u := of(l.Ref.Owner)
		add(&u.UsedMonth, l)
		if l.Day == today {
			add(&u.UsedDay, l)
		}
	}
	tokens, err := a.Tokens.List() // those that can be read count, whatever is wrong with others
	for _, r := range tokens {
		of(r.Owner()).Tokens++
	}
	for uid, o := range a.Auth.SocketUsers {
		of(o).Accounts = append(of(o).Accounts, uid)
	}
	for o := range a.Auth.Quotas {
		of(o)
	}
	delete(all, session.Operator)
	for o, u := range all {
		n, counted, failed := a.Agents.Stored(ctx, o)
		if counted {
			u.Stored = &n
		}
		err = errors.Join(err, failed)
	}
	r := door.Users{Day: string(today), Month: month, Users: []door.User{}}
	for _, u := range all {
		slices.Sort(u.Accounts)
		r.Users = append(r.Users, *u)
	}
	slices.SortFunc(r.Users, func(u, v door.User) int {
		return cmp.Or(strings.Compare(u.Tenant, v.Tenant), strings.Compare(u.User, v.User))
	})
	return r, err
}

// count counts the sessions of an owner.
func (a *Admin) count(ctx context.Context, o session.Owner, u *door.User) error {
	return a.each(ctx, o, func(s session.Session) {
		u.Updated = max(u.Updated, s.Updated)
		u.Sessions++
	})
}

func (a *Admin) each(ctx context.Context, o session.Owner, f func(session.Session)) error {
	for q := (session.Query{Limit: 1000}); ; {
		page, next, err := a.Store.For(o).List(ctx, q)
		if err != nil {
			return err
		}
		for _, s := range page {
			f(s)
		}
		if q.Cursor = next; next == "" {
			return nil
		}
	}
}

func add(u *door.UserUse, l session.Line) {
	u.Tokens += l.Usage.Input + l.Usage.Output
	if l.Usage.Cost != nil {
		u.Cost += l.Usage.Cost.Amount.Units()
	}
}

func quotaOf(q config.Quota) door.UserQuota {
	return door.UserQuota{DayTokens: q.DayTokens, MonthTokens: q.MonthTokens, DayCost: q.DayCost.Units(), MonthCost: q.MonthCost.Units(),
		Calls: q.Calls, Requests: q.Requests, Stored: q.Stored}
}

// owner is the owner that a name stands for. The operator is not one of these.
func owner(u door.UserName) (session.Owner, error) {
	o := session.Owner{Tenant: u.Tenant, User: u.User}
	return o, auth.CheckOwner(o)
}

// Sessions lists a page of a user's sessions, without what was said in them.
func (a *Admin) Sessions(ctx context.Context, p door.UserSessionsParams) (door.UserSessions, error) {
	o, err := owner(p.UserName)
	if err != nil {
		return door.UserSessions{}, err
	}
	page, next, err := a.Store.For(o).List(ctx, session.Query{Cursor: p.Cursor, Limit: 1000})
	r := door.UserSessions{Sessions: []door.UserSession{}, Next: next}
	for _, s := range page {
		one := door.UserSession{ID: string(s.ID), Status: string(s.Status), Created: s.Created, Updated: s.Updated, Model: s.Model.Provider + "/" + s.Model.ID}
		add(&one.UserUse, session.Line{Usage: s.Usage})
		r.Sessions = append(r.Sessions, one)
	}
	return r, err
}

// DeleteSession deletes a session of a user. The error is session.ErrNotFound if the user has none with the id.
func (a *Admin) DeleteSession(ctx context.Context, p door.UserSessionParams) error {
	o, err := owner(p.UserName)
	if err != nil {
		return err
	}
	id := session.ID(p.Session)
	if _, err := a.Store.For(o).Get(ctx, id); errors.Is(err, session.ErrNotFound) {
		return fmt.Errorf("session %s: %w", id, session.ErrNotFound)
	}
	err = a.Agents.For(o).Delete(ctx, id)
	if _, elsewhere := errors.AsType[*session.ElsewhereError](err); !elsewhere || a.Elsewhere == nil {
		return err
	}
	if _, err := a.Elsewhere(ctx, session.Ref{Owner: o, ID: id}); err != nil {
		return err
	}
	return a.Agents.For(o).Delete(ctx, id) // no error if another node has deleted it
}

// Delete ends a user's connections, and removes their tokens, their keys of providers, their sessions with all that is kept for them, and their part of the ledger.
// Then it rewrites the store's file, because the file still has the bytes of what was deleted. Images and documents that were sent in the
// last minute make it wait for up to a minute. The user is not let in meanwhile. In a cluster, there is no such file, and the other nodes do the same first.
func (a *Admin) Delete(ctx context.Context, u door.UserName) (r door.UserDeletion, err error) {
	o, err := owner(u)
	if err != nil {
		return r, err
	}
	if r.Tokens, err = a.revoke(o); err != nil {
		return r, fmt.Errorf("the user's tokens: %w; nothing else was deleted", err)
	}
	readmit, err := a.Expel(ctx, o)
	defer readmit()
	if err != nil {
		return r, fmt.Errorf("the user's connections: %w; of the user, only tokens were deleted", err)
	}
	ids := make(map[session.ID]bool)
	if a.Elsewhere != nil {
		if err := a.sessions(ctx, o, ids); err != nil {
			return r, fmt.Errorf("the user's sessions: %w; of the user, only tokens were deleted", err)
		}
		if r.Sessions, err = a.Elsewhere(ctx, session.Ref{Owner: o}); err != nil {
			return r, fmt.Errorf("at other nodes, %d sessions were deleted, and then: %w; repeat the command", r.Sessions, err)
		}
	}
	gone, err := a.Agents.For(o).Forget(ctx)
	for _, id := range gone {
		ids[id] = true
	}
	if r.Sessions += len(gone); err != nil {
		return r, fmt.Errorf("%d sessions were deleted, and then: %w; repeat the command", r.Sessions, err)
	}
	if r.Keys, err = a.Forget(o); err != nil {
		return r, fmt.Errorf("the sessions were deleted, but not the user's keys of providers and shares: %w; repeat the command", err)
	}
	if a.File != nil {
		if err := a.clear(ctx, &r); err != nil {
			return r, err
		}
	}
	if r.NamedIn, err = occurrences(ctx, a.Dir, ids); err != nil {
		return r, fmt.Errorf("the user was deleted, but the files could not be searched: %w", err)
	}
	r.NamedIn = append([]string{}, r.NamedIn...)
	return r, nil
}

// clear removes what the files of one machine still have of deleted sessions.
func (a *Admin) clear(ctx context.Context, r *door.UserDeletion) (err error) {
	if r.Media, err = a.Blobs.Clear(ctx, a.Store); err != nil {
		return fmt.Errorf("the sessions were deleted, but not their images and documents: %w; repeat the command", err)
	}
	before, after, err := a.File.Compact(ctx)
	if r.Size, r.Left = before.Size, after.Size; err != nil {
		return fmt.Errorf("the user was deleted, but the store's file still has their bytes: %w; repeat the command", err)
	}
	return nil
}

// sessions adds the ids of an owner's sessions.
func (a *Admin) sessions(ctx context.Context, o session.Owner, ids map[session.ID]bool) error {
	return a.each(ctx, o, func(s session.Session) { ids[s.ID] = true })
}

// revoke removes the API tokens of an owner. A record that cannot be read stops it: it may be the owner's.
func (a *Admin) revoke(o session.Owner) (n int, err error) {
	list, err := a.Tokens.List()
	if err != nil {
		return 0, err
	}
	mine := make(map[string]bool)
	for _, r := range list {
		if r.Owner() == o {
			mine[r.ID] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(mine)) {
		if err := a.Tokens.Revoke(id); err != nil && !errors.Is(err, auth.ErrNoToken) {
			return n, err
		}
		n++
	}
	return n, nil
}
