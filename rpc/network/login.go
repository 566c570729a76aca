package network

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
)

const (
	cookieName = "__Host-thinkd" // browsers take it only over TLS, for this host and all paths
	loginTime  = 30 * 24 * time.Hour
	maxLogins  = 100 // of a token; the oldest gives way to a new one
)

// Logins are the browsers that have shown the token over TLS. Each one has a cookie with 256 random bits in exchange, so that no
// script can read what lets it in, and the token need not stay in the browser.
//
//	POST /login, with the token ──► a cookie
//	WebSocket from our own page, with the cookie ──► the principal of the token
//	POST /logout from our own page, with the cookie ──► the cookie is void, and its connections end
//
// A person who signs in at an OpenID provider gets such a cookie as well; [Logins.renew] says how long it counts.
//
// A cookie is also void after 30 days, and when the token is revoked that it was made with, or the operator's token is replaced. Only
// digests of cookies are stored. They are made with the operator's token, so those of an earlier token fit no cookie.
//
// Its methods are called by many requests in parallel.
type Logins struct {
	token    *Token
	provider auth.SignInProvider // nil: nobody signs in
	log      *slog.Logger

	mu   sync.Mutex // guards what follows, also while it is stored
	kept durable.Value
	list []*login // the oldest first
}

// login is one browser.
type login struct {
	Digest string `json:"digest"`
	Until  int64  `json:"until"`           // Unix milliseconds
	Token  string `json:"token,omitempty"` // the id of the API token that it was made with; empty: the operator's token, or there is SignIn

	SignIn *signIn `json:"sign_in,omitempty"` // at an OpenID provider; nil: it was made with a token

	valid    context.Context         // of its connections, until it expires; nil: it has had none yet
	end      context.CancelCauseFunc // ends valid
	renewing sync.Mutex              // held while the provider is asked to renew SignIn
}

// with names what a login was made with. A bound on logins counts those of one.
func (l *login) with() string {
	if l.SignIn != nil {
		return "user " + l.SignIn.owner().String()
	}
	return "token " + l.Token
}

// NewLogins reads the logins that an earlier process has stored. If they cannot be read, there are none, and the log says why. With a
// provider, people can sign in there, and [Logins.Watch] must run; nil: there is none.
func NewLogins(token *Token, kept durable.Value, p auth.SignInProvider, log *slog.Logger) *Logins {
	l := &Logins{token: token, provider: p, kept: kept, log: log}
	text, err := kept.Get()
	if err == nil && text != nil {
		err = json.Unmarshal(text, &l.list)
	}
	if err != nil {
		log.Error("logins of browsers cannot be read: they have to log in again", "file", kept.Name(), "err", err)
		l.list = nil
	}
	return l
}

// grant makes a login. Its caller has checked the token.
func (l *Logins) grant(g auth.Grant) (*http.Cookie, error) {
	valid, _, open := l.token.current()
	if !open || g.ID == "" && g.Valid != valid { // a login without an id is the operator's
		return nil, errNoLogin
	}
	return l.add(func(string, time.Time) *login { return &login{Token: g.ID} })
}

// add stores a new login, and returns its cookie.
func (l *Logins) add(of func(id string, now time.Time) *login) (*http.Cookie, error) {
	_, key, open := l.token.current()
	if !open {
		return nil, errNoLogin
	}
	id, now := rand.Text()+rand.Text(), time.Now()
	made := of(id, now)
	made.Digest, made.Until = digest(key, id), now.Add(loginTime).UnixMilli()
	l.mu.Lock()
	defer l.mu.Unlock()
	list := append(l.fresh(now), made)
	same := func(one *login) bool { return one.with() == made.with() }
	for len(list)-len(slices.DeleteFunc(slices.Clone(list), same)) > maxLogins {
		oldest := slices.IndexFunc(list, same)
		list[oldest].void()
		list = slices.Delete(list, oldest, oldest+1)
	}
	if err := l.store(list); err != nil {
		return nil, err
	}
	return cookie(id, loginTime), nil
}

// admit returns what the login of a request grants, whose cookie is from our own page.
func (l *Logins) admit(r *http.Request) (auth.Grant, error) {
	valid, key, open := l.token.current()
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.find(r, key)
	if !open || !fromOwnPage(r) {
		return auth.Grant{}, errNoLogin
	}
	if found == nil {
		return auth.Grant{}, errVoidLogin
	}
	if found.SignIn != nil {
		return l.admitSignIn(found, valid)
	}
	g, ok, err := l.token.byID(found.Token)
	if err != nil {
		return auth.Grant{}, err
	}
	if !ok { // the token was revoked, or has expired
		return auth.Grant{}, errVoidLogin
	}
	if found.valid == nil || found.valid.Err() != nil {
		until, end := context.WithCancelCause(g.Valid)
		until, stop := context.WithDeadlineCause(until, time.UnixMilli(found.Until), conn.ErrRevoked)
		found.valid, found.end = until, func(cause error) {
			end(cause)
			stop()
		}
	}
	g.Valid = found.valid
	if until := time.UnixMilli(found.Until); g.Expires.IsZero() || until.Before(g.Expires) {
		g.Expires = until
	}
	return g, nil
}

// admitSignIn is [Logins.admit] for a login that was made at a provider. mu is held.
func (l *Logins) admitSignIn(found *login, open context.Context) (auth.Grant, error) {
	if l.provider == nil || found.SignIn.Source != l.provider.Source() {
		return auth.Grant{}, errVoidLogin
	}
	p, err := found.SignIn.principal()
	if err != nil {
		return auth.Grant{}, fmt.Errorf("a login of a browser: %w", err)
	}
	if time.Now().UnixMilli() >= found.SignIn.Until {
		return auth.Grant{}, errSignInEnded
	}
	if found.valid == nil || found.valid.Err() != nil {
		found.valid, found.end = context.WithCancelCause(open)
	}
	return auth.Grant{Principal: p, Valid: found.valid, Expires: time.UnixMilli(found.SignIn.Until)}, nil
}

// revoke ends the login of a request from our own page, with its connections. It returns what the provider knows of it.
func (l *Logins) revoke(r *http.Request) (ended signedOut, err error) {
	_, key, _ := l.token.current()
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.find(r, key)
	if !fromOwnPage(r) || len(r.CookiesNamed(cookieName)) == 0 {
		return ended, errNoLogin
	}
	if found == nil {
		return ended, errVoidLogin
	}
	if found.SignIn != nil {
		ended = found.SignIn.out(r.CookiesNamed(cookieName)[0].Value)
	}
	found.void()
	return ended, l.store(slices.DeleteFunc(slices.Clone(l.list), func(other *login) bool { return other == found }))
}

// find is the login of a request, nil if it has none. Two cookies of the name are none: one of them may be planted.
func (l *Logins) find(r *http.Request, key [sha256.Size]byte) *login {
	cookies := r.CookiesNamed(cookieName)
	if len(cookies) != 1 {
		return nil
	}
	want := digest(key, cookies[0].Value)
	for _, one := range l.fresh(time.Now()) {
		if hmac.Equal([]byte(one.Digest), []byte(want)) {
			return one
		}
	}
	return nil
}

// fresh is the logins that have not expired.
func (l *Logins) fresh(now time.Time) []*login {
	return slices.DeleteFunc(slices.Clone(l.list), func(one *login) bool { return one.Until <= now.UnixMilli() })
}

// store replaces the list. After an error the old one stays.
func (l *Logins) store(list []*login) error {
	text, err := json.Marshal(list)
	if err == nil {
		err = l.kept.Put(text)
	}
	if err != nil {
		return fmt.Errorf("logins cannot be stored: %w", err)
	}
	l.list = list
	return nil
}

// void ends the connections of a login.
func (l *login) void() {
	if l.end != nil {
		l.end(conn.ErrRevoked)
	}
}

func digest(key [sha256.Size]byte, id string) string {
	mac := hmac.New(sha256.New, key[:])
	mac.Write([]byte(id))
	return hex.EncodeToString(mac.Sum(nil))
}

var errNoLogin = &auth.Refusal{Status: http.StatusUnauthorized, Reason: "the page has no login: open the address with the token"}

// errVoidLogin refuses a cookie that lets in no more. The answer takes it back: a tab that logs out may go before it has the answer to that,
// since the connections of all tabs end first.
var errVoidLogin = &auth.Refusal{Status: errNoLogin.Status, Reason: errNoLogin.Reason}

// fromOwnPage reports whether a page of the daemon sends a request: its origin is the host that it asks. The gate also admits pages that
// the operator allows; these have a token. A request without an origin is from no page.
func fromOwnPage(r *http.Request) bool {
	origins := r.Header["Origin"]
	return len(origins) == 1 && strings.EqualFold(origins[0], "https://"+r.Host)
}

// cookie is what a browser gets; no time removes it.
func cookie(id string, lasts time.Duration) *http.Cookie {
	return &http.Cookie{Name: cookieName, Value: id, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		MaxAge: cmp.Or(int(lasts/time.Second), -1)}
}
