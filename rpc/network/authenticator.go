package network

import (
	"context"
	"net/http"
	"time"

	"github.com/thinkd/thinkd/rpc/method"
)

// Authenticator decides who sends a request. Its methods are called by many requests in parallel.
type Authenticator interface {
	// Authenticate returns the principal of a request, and a context that ends when its right to be here does: at its
	// expiry, or when it is revoked. The cause is [conn.ErrRevoked] then. An error is a *[Refusal].
	Authenticate(r *http.Request) (p method.Principal, valid context.Context, err error)
}

// Refusal is the answer to a request without a principal.
type Refusal struct {
	Status     int           // of HTTP
	Reason     string        // for the client
	RetryAfter time.Duration // when to try again; 0: not said
}

// Error is the reason.
func (r *Refusal) Error() string { return r.Reason }
