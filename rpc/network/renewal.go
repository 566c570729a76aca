package network

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/session"
)

// signIn makes a login of a person whom the provider has signed in.
func (l *Logins) signIn(s auth.SignedIn) (*http.Cookie, error) {
	if s.Principal.OwnsMachine() {
		return nil, errNoLogin // a provider names no operator
	}
	return l.add(func(id string, now time.Time) *login {
		return &login{SignIn: newSignIn(s, l.provider.Source(), id, now)}
	})
}

// renew gets another token for the login of a request from our own page, and returns when it ends then. Before half of its time is over
// nothing changes, so that the tabs of a browser renew once.
func (l *Logins) renew(r *http.Request) (until time.Time, err error) {
	found, err := l.renewable(r)
	if err != nil {
		return until, err
	}
	found.renewing.Lock()
	defer found.renewing.Unlock()
	l.mu.Lock()
	now, young, refresh := time.Now(), found.SignIn.young(time.Now()), found.SignIn.Refresh
	until = time.UnixMilli(found.SignIn.Until)
	l.mu.Unlock()
	if young {
		return until, nil
	}
	id := r.CookiesNamed(cookieName)[0].Value
	text, err := open(refreshKey(id), forRefresh, refresh)
	if err != nil {
		return until, errSignInEnded // the provider gave none
	}
	next, err := l.provider.Refresh(r.Context(), provider.NewSecret(string(text)))
	if refusal, refused := errors.AsType[*auth.Refusal](err); refused {
		l.log.Warn("a sign-in was not renewed", "err", refusal)
		return until, errSignInEnded
	}
	if err != nil {
		return until, err
	}
	err = l.replace(found, next, newSignIn(next, l.provider.Source(), id, now))
	if err != nil { // the person has logged out meanwhile, and nobody has the new token
		if _, failed := l.provider.SignOut(r.Context(), next.Refresh, ""); failed != nil {
			l.log.Warn("a token of a login that has ended was not revoked", "err", failed)
		}
	}
	return next.Until, err
}

// renewable is the login of a request that can be renewed.
func (l *Logins) renewable(r *http.Request) (*login, error) {
	_, key, open := l.token.current()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !open || !fromOwnPage(r) || l.provider == nil {
		return nil, errNoLogin
	}
	found := l.find(r, key)
	if found == nil {
		return nil, errVoidLogin
	}
	if found.SignIn == nil {
		return nil, errNoLogin
	}
	if found.SignIn.Source != l.provider.Source() {
		return nil, errVoidLogin
	}
	return found, nil
}

// replace puts a renewed sign-in in place of a login's. Connections go on, unless the rights have changed: then they begin anew.
func (l *Logins) replace(found *login, next auth.SignedIn, to *signIn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := found.SignIn
	if !slices.Contains(l.list, found) || next.Principal.Owner != before.owner() { // logged out meanwhile, or somebody else
		return errVoidLogin
	}
	found.SignIn = to
	if err := l.store(l.list); err != nil { // the refresh token before may be void: this one counts while the daemon runs
		l.log.Error("a renewed sign-in was not stored", "err", err)
	}
	if !slices.Equal(before.Rights, to.Rights) && found.end != nil {
		found.end(conn.ErrExpired)
	}
	return nil
}

// signInLook is how often Watch compares the clock with the sign-ins. A connection has to end within a second.
const signInLook = 250 * time.Millisecond

// Watch ends the connections of sign-ins that end, by the wall clock, until ctx ends.
func (l *Logins) Watch(ctx context.Context) {
	ticks := time.NewTicker(signInLook)
	defer ticks.Stop()
	for {
		l.endSignIns(time.Now())
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
	}
}

func (l *Logins) endSignIns(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.list {
		if one.SignIn != nil && one.end != nil && now.UnixMilli() >= one.SignIn.Until {
			one.end(conn.ErrExpired)
		}
	}
}

// Forget removes the sign-ins of a user, with their connections.
func (l *Logins) Forget(o session.Owner) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(l.list), func(one *login) bool {
		of := one.SignIn != nil && one.SignIn.owner() == o
		if of {
			one.void()
		}
		return of
	})
	if len(left) == len(l.list) {
		return nil
	}
	return l.store(left)
}
