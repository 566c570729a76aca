package auth

import (
	"context"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/method"
)

// Attempt is a sign-in in a browser that has begun. Whoever has it and the code of the provider can finish the sign-in, so it stays
// with the browser that has begun, encrypted.
type Attempt struct {
	State    string `json:"state"`    // what the provider sends back with the code
	Nonce    string `json:"nonce"`    // what the token must have
	Verifier string `json:"verifier"` // of PKCE
	Redirect string `json:"redirect"` // where the provider sends the browser
	Until    int64  `json:"until"`    // Unix milliseconds
}

// SignedIn is what a provider says about a person who has signed in.
type SignedIn struct {
	Principal method.Principal
	Until     time.Time       // when the sign-in ends if it is not renewed
	Refresh   provider.Secret // renews it; zero: it cannot be renewed
}

// SignInProvider signs people in with the authorization code flow of OpenID Connect and PKCE. Its methods are called by many requests in
// parallel. Errors are *[Refusal], or say that the provider cannot be asked at the moment. None has a part of a token or a code.
type SignInProvider interface {
	// Begin returns the address at the provider where a person signs in, and what the end needs.
	Begin(ctx context.Context, redirect string) (address string, a Attempt, err error)

	// Finish exchanges the code for a token and checks it.
	Finish(ctx context.Context, code string, a Attempt) (SignedIn, error)

	// Refresh gets another token. The caller checks that the owner is the same.
	Refresh(ctx context.Context, refresh provider.Secret) (SignedIn, error)

	// SignOut revokes the token that renews a sign-in, if there is one and the provider has a way. It returns where the person logs out at
	// the provider, which then leads to redirect; empty: the provider has no such address. After an error of the revocation there may be
	// an address as well.
	SignOut(ctx context.Context, refresh provider.Secret, redirect string) (address string, err error)

	// Source is the same as long as the provider and the meaning of its claims are.
	Source() string
}
