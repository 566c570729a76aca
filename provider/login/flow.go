package login

import (
	"context"
	"encoding/json"
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

// keepsGrant is a [Flow] whose exchanges do not replace the grant, so that several nodes of a cluster may exchange it at once.
type keepsGrant interface{ keepsGrant() }

// passing is a credential as other nodes of a cluster read it.
type passing struct {
	Key     string            `json:"key"`
	Bearer  bool              `json:"bearer,omitempty"`
	Account string            `json:"account,omitempty"`
	BaseURL string            `json:"base_url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Renew   int64             `json:"renew"` // Unix milliseconds
	Expires int64             `json:"expires"`
}

// text is the credential for [Grant].
func (c Credential) text() string {
	text, _ := json.Marshal(passing{c.Key.Reveal(), c.Bearer, c.Account, c.BaseURL, c.Headers, c.renew.UnixMilli(), c.expires.UnixMilli()}) // which never fails
	return string(text)
}

// credential is what the last exchange got, if it has been kept and is still valid; otherwise zero.
func (g Grant) credential(now time.Time) Credential {
	var p passing
	if g.access == "" || json.Unmarshal([]byte(g.access), &p) != nil || now.UnixMilli() >= p.Expires {
		return Credential{}
	}
	return Credential{Key: g.Token.Passing(p.Key), Bearer: p.Bearer, Account: p.Account, BaseURL: p.BaseURL, Headers: p.Headers,
		renew: time.UnixMilli(p.Renew), expires: time.UnixMilli(p.Expires)}
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
