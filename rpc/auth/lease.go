package auth

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
)

// Lease is the right of one connection to be there. It ends with its grant, unless another grant has replaced that one before.
type Lease struct {
	first method.Principal
	from  string
	ctx   context.Context
	end   context.CancelCauseFunc
	admit func(token string) (Grant, error)

	mu    sync.Mutex
	grant Grant
	stop  func() bool // stops waiting for the end of grant
	heed  func(Grant) // hears of each replacement; nil: nobody does
}

// NewLease begins with a grant. admit decides on the tokens for [Lease.Renew]; its errors are the client's. nil: the lease cannot be
// renewed. The lease ends with ctx at the latest, and its holder calls Close.
func NewLease(ctx context.Context, g Grant, admit func(token string) (Grant, error)) *Lease {
	l := &Lease{first: g.Principal, from: g.From, admit: admit}
	l.ctx, l.end = context.WithCancelCause(ctx)
	l.use(g)
	return l
}

// use ends the lease with g from now on.
func (l *Lease) use(g Grant) {
	l.grant = g
	l.stop = context.AfterFunc(g.Valid, func() { l.end(context.Cause(g.Valid)) })
}

// Context ends with the lease. The cause is that of the grant.
func (l *Lease) Context() context.Context { return l.ctx }

// Principal is whose requests the connection makes. Its name and owner stay the same; its rights are those of the newest grant.
func (l *Lease) Principal() method.Principal {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grant.Principal
}

// Expires is when the lease ends if it is not renewed; zero: it does not expire.
func (l *Lease) Expires() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grant.Expires
}

// Grant is the newest grant.
func (l *Lease) Grant() Grant {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grant
}

// Origin is where the connection is from, and the id of the API token that let it in first.
func (l *Lease) Origin() (from, token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.from, l.grant.ID
}

// Errors of [Lease.Renew].
var (
	ErrNotRenewable = errors.New("this connection needs no token, so there is nothing to renew")
	ErrOtherOwner   = errors.New("the token is not of this connection's user")
)

// Renew puts the grant of another token in place of the lease's, for the same owner. The rights are those of the new token. Errors:
// ErrNotRenewable, ErrOtherOwner, *[Refusal], and the cause of a lease that has ended.
func (l *Lease) Renew(token string) (Grant, error) {
	if l == nil || l.admit == nil {
		return Grant{}, ErrNotRenewable
	}
	g, err := l.admit(token)
	if err != nil {
		return Grant{}, err
	}
	if err := l.Replace(g); err != nil {
		return Grant{}, err
	}
	return g, nil
}

// Replace puts a grant in place of the lease's, for the same owner. Errors: ErrOtherOwner, and the cause of a lease that has ended.
func (l *Lease) Replace(g Grant) error {
	if g.Principal.Owner != l.first.Owner || g.Principal.Name != l.first.Name {
		return ErrOtherOwner
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stop() || l.ctx.Err() != nil { // the old grant has ended: its connection is ending
		return conn.ErrRevoked
	}
	l.use(g)
	if l.heed != nil {
		l.heed(g)
	}
	return nil
}

// Replaced has f called with each grant that [Lease.Replace] puts in place of another. f must not wait.
func (l *Lease) Replaced(f func(Grant)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heed = f
}

// Close ends the lease.
func (l *Lease) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop()
	l.end(nil)
}
