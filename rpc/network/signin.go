package network

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/thinkd/thinkd/rpc/auth"
)

// Paths of a sign-in at an OpenID provider. The provider has to know that of callbackPath below each of the daemon's addresses.
const (
	signInPath   = "/signin"
	callbackPath = "/signin/callback"
	renewPath    = "/signin/renew"
)

const (
	attemptCookie = "__Host-thinkd-signin"
	forAttempt    = "thinkd sign-in 1"
	maxSignIns    = 16 // that the provider is asked about in parallel
)

// Where the page is after a sign-in. No part of a request is in these addresses, so that nobody can lead a browser elsewhere with them.
const (
	afterSignIn   = "/#signed-in"
	afterSignOut  = "/"
	signInStale   = "/#sign-in=stale"       // it was not begun in this browser, or long ago
	signInRefused = "/#sign-in=refused"     // by the provider, or by us
	signInFailed  = "/#sign-in=unavailable" // the provider cannot be asked
)

// signIns sign people in at an OpenID provider. The daemon goes through the code flow, so that no script sees a token:
//
//	our page ──POST /signin──► the provider's address; a cookie keeps the attempt, encrypted
//	browser ──► provider ──GET /signin/callback?code&state──► exchange, check ──► a login's cookie ──► our page
//	our page ──POST /signin/renew──► the login lasts longer
//	our page ──POST /logout──► the login ends, its refresh token is revoked; the provider's address to log out there
//	browser ──► provider ──GET /signin/callback──► our page
//
// Only the browser that has begun an attempt can end it: the state of the callback must be that of its cookie. A code counts once, as the
// provider sees to.
type signIns struct {
	logins   *Logins
	provider auth.SignInProvider
	key      [sha256.Size]byte // of attempts; those of an earlier process are void
	asking   chan struct{}     // has a place for each request to the provider
	refused  func(r *http.Request)
	log      *slog.Logger
}

func newSignIns(l *Logins, refused func(*http.Request), log *slog.Logger) *signIns {
	s := &signIns{logins: l, provider: l.provider, asking: make(chan struct{}, maxSignIns), refused: refused, log: log}
	rand.Read(s.key[:]) // never fails
	return s
}

// errManySignIns refuses a request that would wait for others.
var errManySignIns = &auth.Refusal{Status: http.StatusServiceUnavailable, Reason: "many people sign in at the moment: try again", RetryAfter: 2 * time.Second}

// enter takes a place among the requests to the provider.
func (s *signIns) enter() (leave func(), ok bool) {
	select {
	case s.asking <- struct{}{}:
		return func() { <-s.asking }, true
	default:
		return nil, false
	}
}

// begin answers our own page with the address at the provider.
func (s *signIns) begin(w http.ResponseWriter, r *http.Request) error {
	if !fromOwnPage(r) {
		return errNoLogin
	}
	leave, ok := s.enter()
	if !ok {
		return errManySignIns
	}
	defer leave()
	address, a, err := s.provider.Begin(r.Context(), "https://"+strings.ToLower(r.Host)+callbackPath)
	if err != nil {
		return err
	}
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	http.SetCookie(w, attemptOf(base64.RawURLEncoding.EncodeToString(seal(s.key, forAttempt, text)), time.Until(time.UnixMilli(a.Until))))
	return answerAddress(w, address)
}

// attemptOf is the cookie of an attempt. It comes back from the provider's page, so it is lax and not strict.
func attemptOf(value string, lasts time.Duration) *http.Cookie {
	age := int(lasts / time.Second)
	if age <= 0 {
		age = -1
	}
	return &http.Cookie{Name: attemptCookie, Value: value, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: age}
}

// signOut makes the provider forget a sign-in that has ended here. It returns where the person logs out there as well; empty: nowhere.
func (s *signIns) signOut(r *http.Request, ended signedOut) (address string) {
	if ended.source != s.provider.Source() { // a login that was made with a token, or at another provider
		return ""
	}
	leave, ok := s.enter()
	if !ok {
		s.log.Warn("a sign-in was not ended at the OpenID provider: too many requests to it are under way")
		return ""
	}
	defer leave()
	address, err := s.provider.SignOut(r.Context(), ended.refresh, "https://"+strings.ToLower(r.Host)+callbackPath)
	if err != nil {
		s.log.Warn("a sign-in was not ended at the OpenID provider", "err", err)
	}
	return address
}

// end is where the provider sends the browser, after a sign-in and after a person has logged out there. It leads to our page in each case.
func (s *signIns) end(w http.ResponseWriter, r *http.Request) {
	to := signInStale
	if r.URL.RawQuery == "" {
		to = afterSignOut
	} else if a, ok := s.attempt(r); ok {
		http.SetCookie(w, attemptOf("", 0))
		to = s.finish(w, r, a)
	}
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}

// attempt is what the browser of a request has begun, if the request is its end.
func (s *signIns) attempt(r *http.Request) (a auth.Attempt, ok bool) {
	cookies := r.CookiesNamed(attemptCookie)
	query := r.URL.Query()
	if len(cookies) != 1 || len(query["state"]) != 1 {
		return a, false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(cookies[0].Value)
	if err != nil {
		return a, false
	}
	text, err := open(s.key, forAttempt, sealed)
	if err != nil || json.Unmarshal(text, &a) != nil {
		return a, false
	}
	same := subtle.ConstantTimeCompare([]byte(a.State), []byte(query.Get("state"))) == 1
	return a, same && time.Now().UnixMilli() < a.Until && a.Redirect == "https://"+strings.ToLower(r.Host)+callbackPath
}

// finish exchanges the code, and returns where the page goes on.
func (s *signIns) finish(w http.ResponseWriter, r *http.Request, a auth.Attempt) string {
	query := r.URL.Query()
	if word := query.Get("error"); word != "" || len(query["code"]) != 1 {
		s.log.Warn("the OpenID provider did not sign a person in", "error", clip(word))
		return signInRefused
	}
	leave, ok := s.enter()
	if !ok {
		return signInFailed
	}
	defer leave()
	in, err := s.provider.Finish(r.Context(), query.Get("code"), a)
	var c *http.Cookie
	if err == nil {
		c, err = s.logins.signIn(in)
	}
	if refusal, refused := errors.AsType[*auth.Refusal](err); refused {
		s.log.Warn("a sign-in was refused", "err", refusal)
		s.refused(r)
		return signInRefused
	}
	if err != nil {
		s.log.Error("a sign-in failed", "err", err)
		return signInFailed
	}
	http.SetCookie(w, c)
	return afterSignIn
}

// maxWord bounds what of a stranger's request is logged.
const maxWord = 64

func clip(word string) string { return url.QueryEscape(word[:min(len(word), maxWord)]) }

// renew answers our own page with when its login ends.
func (s *signIns) renew(w http.ResponseWriter, r *http.Request) error {
	leave, ok := s.enter()
	if !ok {
		return errManySignIns
	}
	defer leave()
	until, err := s.logins.renew(r)
	if err != nil {
		return err
	}
	return answerJSON(w, struct {
		In int64 `json:"expires_in_ms"` // the browser's clock may be wrong
	}{max(0, time.Until(until).Milliseconds())})
}

// answerAddress answers our own page with where the browser goes.
func answerAddress(w http.ResponseWriter, address string) error {
	return answerJSON(w, struct {
		URL string `json:"url"`
	}{address})
}

func answerJSON(w http.ResponseWriter, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(text) // a client that is gone gets nothing
	return nil
}
