package network

import (
	"crypto/hmac"
	"crypto/sha256"
	"net/http"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

// signIn is what a login has that was made at an OpenID provider.
type signIn struct {
	Tenant string   `json:"tenant,omitempty"`
	User   string   `json:"user"`
	Rights []string `json:"rights"`
	Source string   `json:"source"` // of the provider; see [auth.SignInProvider]
	At     int64    `json:"at"`     // Unix milliseconds: when it was made, or renewed last
	Until  int64    `json:"until"`  // Unix milliseconds: when it ends unless it is renewed

	// Refresh is the token for the renewal, encrypted with the id in the browser's cookie. So the file is of no use without the browser.
	Refresh []byte `json:"refresh,omitempty"`
}

// forRefresh is the purpose of the encryption.
const forRefresh = "thinkd refresh token 1"

func newSignIn(s auth.SignedIn, source, id string, now time.Time) *signIn {
	r := &signIn{Tenant: s.Principal.Owner.Tenant, User: s.Principal.Owner.User, Source: source, At: now.UnixMilli(), Until: s.Until.UnixMilli()}
	for _, right := range s.Principal.Rights {
		r.Rights = append(r.Rights, right.String())
	}
	if !s.Refresh.IsZero() {
		r.Refresh = seal(refreshKey(id), forRefresh, []byte(s.Refresh.Reveal()))
	}
	return r
}

// signedOut is a sign-in that has ended here, and that the provider may still know of.
type signedOut struct {
	source  string          // of the provider; empty: the login was made with a token
	refresh provider.Secret // zero: there is none
}

// out is what is left of a sign-in. id is that in the browser's cookie.
func (s *signIn) out(id string) signedOut {
	text, err := open(refreshKey(id), forRefresh, s.Refresh)
	if err != nil {
		return signedOut{source: s.Source} // the provider gave none
	}
	return signedOut{s.Source, provider.NewSecret(string(text))}
}

func refreshKey(id string) [sha256.Size]byte {
	mac := hmac.New(sha256.New, []byte(id))
	mac.Write([]byte(forRefresh))
	return [sha256.Size]byte(mac.Sum(nil))
}

func (s *signIn) owner() session.Owner { return session.Owner{Tenant: s.Tenant, User: s.User} }

func (s *signIn) principal() (method.Principal, error) { return auth.NewPrincipal(s.owner(), s.Rights) }

// young reports whether less than half of the time is over: it is too early for a renewal.
func (s *signIn) young(now time.Time) bool { return now.UnixMilli() < s.At+(s.Until-s.At)/2 }

// errSignInEnded refuses the cookie of a sign-in that has ended. The browser keeps the cookie, because the sign-in can be renewed.
var errSignInEnded = &auth.Refusal{Status: http.StatusUnauthorized, Reason: "the sign-in has ended: sign in again"}
