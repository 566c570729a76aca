package login

import (
	"context"
	"errors"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// Credential is what a call needs.
type Credential struct {
	Key     provider.Secret   // zero: there is none, and the adapter reports what is missing
	Bearer  bool              // Key is a token, and never in a header for keys
	Account string            // the account, if the vendor names it
	BaseURL string            // where it is valid; empty: at the address of the provider
	Headers map[string]string // that calls need in addition

	renew   time.Time // when to get a new one; zero: never
	expires time.Time // when it stops being valid; zero: never
}

// Prompt is what a person needs to log in.
type Prompt struct {
	URL     string        // to be opened in a browser
	Code    string        // to enter there; empty: there is none
	Expires time.Duration // how long the code is valid
}

// Flow is the login of a vendor, and the exchange of a grant for credentials.
type Flow interface {
	// Login leads a person through the login; show is called once. It ends with ctx. An error is a *provider.Error, or
	// ctx's cause.
	Login(ctx context.Context, show func(Prompt)) (Grant, error)

	// Direct returns the credential of a grant that needs no exchange; false: it needs one.
	Direct(Grant) (Credential, bool)

	// Exchange gets a credential for a grant. The returned grant replaces the given one, because some vendors replace it at
	// each use. The error of a refusal has the kind auth.
	Exchange(ctx context.Context, g Grant) (Credential, Grant, error)
}

// ErrNoLogin means that a provider has only keys.
var ErrNoLogin = errors.New("there is no login for this provider; it takes a key")

// lifetime sets when a credential is to be renewed and when it ends, as seconds from now; what the vendor says of it may
// be missing or absurd.
func (c *Credential) lifetime(renew, expires time.Duration) {
	const least, most = 30 * time.Second, 24 * time.Hour
	expires = min(max(expires, least), most)
	renew = min(max(renew, least/2), expires-least/2)
	now := time.Now()
	c.renew, c.expires = now.Add(renew), now.Add(expires)
}
