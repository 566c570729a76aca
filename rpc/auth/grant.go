package auth

import (
	"context"
	"time"

	"github.com/thinkd/thinkd/rpc/method"
)

// Grant is the right of a principal to be connected.
type Grant struct {
	Principal method.Principal

	// Valid ends with the grant: when it is revoked or expires. Its cause is [conn.ErrRevoked], [conn.ErrExpired] or [conn.ErrUnconfirmed] then.
	Valid context.Context

	Expires time.Time // zero: it does not expire
	ID      string    // of an API token; empty: the grant is from something else
	From    string    // where its bearer connects from, for the audit; empty: not known
}

// Admitter decides whether a token grants anything. Its methods are called by many connections in parallel.
type Admitter interface {
	// Admit returns the grant of a token. ok is false if the token is none of this admitter's. Errors are *[Refusal], or say that
	// the admitter cannot decide at the moment.
	Admit(ctx context.Context, token string) (g Grant, ok bool, err error)
}

// Refusal is the answer to a client without a grant.
type Refusal struct {
	Status     int           // of HTTP
	Reason     string        // for the client
	RetryAfter time.Duration // when to try again; 0: not said
}

// Error is the reason.
func (r *Refusal) Error() string { return r.Reason }
