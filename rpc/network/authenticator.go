package network

import (
	"net/http"

	"github.com/thinkd/thinkd/rpc/auth"
)

// Authenticator decides who sends a request. Its methods are called by many requests in parallel.
type Authenticator interface {
	// Authenticate returns what the token of a request grants. An error is an *[auth.Refusal], or says that nobody can decide at the
	// moment.
	Authenticate(r *http.Request) (auth.Grant, error)

	// Renew is Authenticate for a token that a client sends over the connection that r began.
	Renew(r *http.Request, token string) (auth.Grant, error)
}
