package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/conntest"
	"github.com/thinkd/thinkd/session"
)

// signsIn is a provider. Package cmd/thinkd/proof/serve has the tests with a real one.
type signsIn struct {
	t        *testing.T
	lasts    time.Duration
	user     string
	rights   []string
	source   string
	err      error
	refreshs []string // that were used
	revoked  []string // refresh tokens of logins that have ended
	out      string   // where people log out
	during   func()   // runs during a renewal
}

func (s *signsIn) SignOut(_ context.Context, refresh provider.Secret, redirect string) (string, error) {
	if redirect != ownPage+"/signin/callback" && redirect != "" {
		s.t.Error(redirect)
	}
	s.revoked = append(s.revoked, refresh.Reveal())
	return s.out, s.err
}

func (s *signsIn) Source() string { return s.source }

func (s *signsIn) Begin(_ context.Context, redirect string) (string, auth.Attempt, error) {
	return "https://login.example/auth?state=st4te", auth.Attempt{State: "st4te", Nonce: "n", Verifier: "v", Redirect: redirect, Until: time.Now().Add(time.Minute).UnixMilli()}, s.err
}

func (s *signsIn) in() (auth.SignedIn, error) {
	p, err := auth.NewPrincipal(session.Owner{User: s.user}, s.rights)
	if err != nil {
		s.t.Error(err)
	}
	return auth.SignedIn{Principal: p, Until: time.Now().Add(s.lasts), Refresh: provider.NewSecret(fmt.Sprint("refresh", len(s.refreshs)))}, s.err
}

func (s *signsIn) Finish(_ context.Context, code string, a auth.Attempt) (auth.SignedIn, error) {
	if code != "c0de" || a.Verifier != "v" || a.Nonce != "n" || a.Redirect != ownPage+"/signin/callback" {
		s.t.Errorf("%q, %+v", code, a)
	}
	return s.in()
}

func (s *signsIn) Refresh(_ context.Context, refresh provider.Secret) (auth.SignedIn, error) {
	s.refreshs = append(s.refreshs, refresh.Reveal())
	if s.during != nil {
		s.during()
	}
	return s.in()
}

// withSignIn is a handler at whose provider ann signs in for an hour.
func withSignIn(t *testing.T, kept durable.Value) (*Handler, *signsIn, *Token) {
	t.Helper()
	p := &signsIn{t: t, lasts: time.Hour, user: "ann", rights: []string{"use"}, source: "one"}
	token := NewToken(provider.NewSecret(conntest.Token), nil, false)
	log := slog.New(slog.DiscardHandler)
	serve := func(ctx context.Context, l *auth.Lease, f conn.Frames) error {
		<-ctx.Done()
		return f.Close(context.Cause(ctx))
	}
	h := New(Config{Log: log, Authenticator: token, Logins: NewLogins(token, kept, p, log), Port: 7717, TLS: true, Hosts: []string{"box.lan", "thinkd.test:0"},
		Origins: []string{"https://app.example.com"}, Endpoints: []Endpoint{{Path: "/rpc", Limit: 1000, Cookie: true, Serve: serve}}})
	t.Cleanup(h.Close)
	return h, p, token
}

// callback is the answer to a browser that comes from the provider.
func callback(h *Handler, query string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", ownPage+"/signin/callback"+query, nil)
	r.RemoteAddr = "127.0.0.1:50000"
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// cookieOf is the header with a cookie that an answer sets; empty: it sets none of the name.
func cookieOf(w *httptest.ResponseRecorder, name string) string {
	for _, c := range w.Result().Cookies() {
		if c.Name == name && c.Value != "" {
			return "Cookie: " + c.Name + "=" + c.Value
		}
	}
	return ""
}

func begin(t *testing.T, h *Handler) (attempt string) {
	t.Helper()
	w := post(h, "/signin")
	if attempt = cookieOf(w, attemptCookie); w.Code != http.StatusOK || attempt == "" || w.Body.String() != `{"url":"https://login.example/auth?state=st4te"}` {
		t.Fatal(w.Code, w.Body, w.Header())
	}
	return attempt
}

func signInAs(t *testing.T, h *Handler) (cookie string) {
	t.Helper()
	w := callback(h, "?state=st4te&code=c0de", begin(t, h))
	if cookie = cookieOf(w, cookieName); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/#signed-in" || cookie == "" {
		t.Fatal(w.Code, w.Header())
	}
	return cookie
}

// renewed is how long a login lasts after a renewal.
func renewed(t *testing.T, h *Handler, headers ...string) (code int, lasts time.Duration) {
	t.Helper()
	w := post(h, "/signin/renew", headers...)
	var answer struct {
		In int64 `json:"expires_in_ms"`
	}
	if w.Code == http.StatusOK {
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Error(err)
		}
	}
	return w.Code, time.Duration(answer.In) * time.Millisecond
}

// A person who has signed in has a cookie as of other logins, and nothing of the attempt or of the provider's tokens is left where somebody
// could read it.
func TestSignIn(t *testing.T) {
	kept := durable.NewMemory(nil)
	h, _, _ := withSignIn(t, kept)
	for _, c := range post(h, "/signin").Result().Cookies() {
		if c.Name != "__Host-thinkd-signin" || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.MaxAge > 60 || strings.Contains(c.Value, "st4te") {
			t.Errorf("%+v", c)
		}
	}
	w := callback(h, "?state=st4te&code=c0de", begin(t, h))
	for _, c := range w.Result().Cookies() {
		if c.Name == cookieName && (!c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode) || c.Name == attemptCookie && c.MaxAge >= 0 {
			t.Errorf("%+v", c)
		}
	}
	cookie := cookieOf(w, cookieName)
	r := shake("/rpc", "box.lan:7717", cookie, "Origin: "+ownPage)
	g, err := h.logins.admit(r)
	if err != nil || g.Principal.Owner.User != "ann" || g.Principal.OwnsMachine() || len(g.Principal.Rights) != 1 || time.Until(g.Expires) > time.Hour {
		t.Errorf("%+v, %v", g, err)
	}
	text, err := kept.Get()
	if _, id, _ := strings.Cut(cookie, "="); err != nil || strings.Contains(string(text), "refresh0") || strings.Contains(string(text), id) {
		t.Errorf("%s, %v", text, err)
	}
	if got := ask(h, shake("/rpc", "box.lan:7717", cookie)); got != http.StatusUnauthorized {
		t.Errorf("from no page: %d", got)
	}
	if w := post(h, "/logout", cookie); w.Code != http.StatusNoContent || !errors.Is(context.Cause(g.Valid), conn.ErrRevoked) {
		t.Errorf("a logout: %d, %v", w.Code, context.Cause(g.Valid))
	}
	if got := handshake(h, cookie, "Origin: "+ownPage); got != http.StatusUnauthorized {
		t.Errorf("after the logout: %d", got)
	}
}

// Whoever logs out is led to the provider if it has a place for that. The login here ends in any case, first, and once.
func TestSignOut(t *testing.T) {
	const out = "https://login.example/out?client_id=thinkd"
	h, p, _ := withSignIn(t, durable.NewMemory(nil))
	for _, tt := range []struct {
		what, out string
		err       error
		code      int
		body      string
	}{
		{"a provider without a place", "", nil, http.StatusNoContent, ""},
		{"a provider with one", out, nil, http.StatusOK, `{"url":"` + out + `"}`},
		{"a revocation that fails", out, errors.New("connection refused"), http.StatusOK, `{"url":"` + out + `"}`},
		{"a provider that is away", "", errors.New("connection refused"), http.StatusNoContent, ""},
	} {
		p.out, p.err = tt.out, nil
		cookie := signInAs(t, h)
		p.err, p.revoked = tt.err, nil
		w := post(h, "/logout", cookie)
		if w.Code != tt.code || strings.ReplaceAll(w.Body.String(), `\u0026`, "&") != tt.body || len(w.Result().Cookies()) != 1 || w.Result().Cookies()[0].MaxAge >= 0 || fmt.Sprint(p.revoked) != "[refresh0]" {
			t.Errorf("%s: %d %s %v, revoked %v", tt.what, w.Code, w.Body, w.Header(), p.revoked)
		}
		if got := handshake(h, cookie, "Origin: "+ownPage); got != http.StatusUnauthorized {
			t.Errorf("%s: after the logout: %d", tt.what, got)
		}
		if w := post(h, "/logout", cookie); w.Code != http.StatusUnauthorized || len(p.revoked) != 1 {
			t.Errorf("%s: again: %d, revoked %v", tt.what, w.Code, p.revoked)
		}
	}
	p.err, p.revoked, p.out = nil, nil, out
	if w := post(h, "/logout", signInAs(t, h), "Origin: https://app.example.com"); w.Code != http.StatusUnauthorized || p.revoked != nil {
		t.Errorf("another page: %d, revoked %v", w.Code, p.revoked)
	}
	if w := post(h, "/logout", logIn(t, h)); w.Code != http.StatusNoContent || p.revoked != nil {
		t.Errorf("a login with a token: %d, revoked %v", w.Code, p.revoked)
	}
	cookie := signInAs(t, h)
	p.source = "two"
	if w := post(h, "/logout", cookie); w.Code != http.StatusNoContent || p.revoked != nil {
		t.Errorf("a login at another provider: %d, revoked %v", w.Code, p.revoked)
	}
	if got := callback(h, "").Header().Get("Location"); got != "/" {
		t.Errorf("back from the provider: %s", got)
	}
}

// A renewal that ends after the logout leaves no token at the provider.
func TestRenewalAfterLogout(t *testing.T) {
	h, p, _ := withSignIn(t, durable.NewMemory(nil))
	cookie := signInAs(t, h)
	h.logins.list[0].SignIn.At -= 2 * time.Hour.Milliseconds()
	p.during = func() {
		p.during = nil
		if w := post(h, "/logout", cookie); w.Code != http.StatusNoContent {
			t.Error(w.Code)
		}
	}
	if code, _ := renewed(t, h, cookie); code != http.StatusUnauthorized || fmt.Sprint(p.revoked) != "[refresh0 refresh1]" {
		t.Errorf("%d, revoked %v", code, p.revoked)
	}
}

// Whatever a request has, it leads to our own page, and only the end of an attempt of the same browser gives a login.
func TestSignInRefusals(t *testing.T) {
	h, p, _ := withSignIn(t, durable.NewMemory(nil))
	other, _, _ := withSignIn(t, durable.NewMemory(nil))
	attempt := begin(t, h)
	for _, tt := range []struct{ what, query, cookie, want string }{
		{"without the attempt", "?state=st4te&code=c0de", "Cookie: a=b", "stale"},
		{"an attempt at another daemon", "?state=st4te&code=c0de", begin(t, other), "stale"},
		{"two attempts", "?state=st4te&code=c0de", attempt + "; " + strings.TrimPrefix(attempt, "Cookie: "), "stale"},
		{"a changed attempt", "?state=st4te&code=c0de", attempt + "A", "stale"},
		{"another state", "?state=st4t&code=c0de", attempt, "stale"},
		{"two states", "?state=st4te&state=st4te&code=c0de", attempt, "stale"},
		{"no state", "?code=c0de", attempt, "stale"},
		{"no code", "?state=st4te", attempt, "refused"},
		{"two codes", "?state=st4te&code=c0de&code=c0de", attempt, "refused"},
		{"refused by the provider", "?state=st4te&error=access_denied&error_description=%3Cscript%3E", attempt, "refused"},
		{"an address to go to", "?state=x&code=c0de&redirect_uri=https://evil.example&next=//evil.example&return=/%5Cevil.example", attempt, "stale"},
	} {
		w := callback(h, tt.query, tt.cookie)
		if got := w.Header().Get("Location"); w.Code != http.StatusSeeOther || got != "/#sign-in="+tt.want || cookieOf(w, cookieName) != "" || w.Body.Len() > 0 {
			t.Errorf("%s: %d %s %v", tt.what, w.Code, got, w.Header())
		}
	}
	for _, host := range []string{"evil.example", "localhost:7717"} { // a name that is none of ours, and another one of ours
		r := httptest.NewRequest("GET", "https://"+host+"/signin/callback?state=st4te&code=c0de", nil)
		r.Header.Set("Cookie", strings.TrimPrefix(attempt, "Cookie: "))
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); cookieOf(w, cookieName) != "" {
			t.Errorf("%s: %v", host, w.Header())
		}
	}
	for what, w := range map[string]*httptest.ResponseRecorder{
		"a page that the operator allows": post(h, "/signin", "Origin: https://app.example.com"),
		"a renewal without a login":       post(h, "/signin/renew"),
		"a renewal of a foreign login":    post(h, "/signin/renew", "Cookie: "+cookieName+"=x"),
		"a renewal of another page":       post(h, "/signin/renew", signInAs(t, h), "Origin: https://app.example.com"),
		"a renewal of a token's login":    post(h, "/signin/renew", logIn(t, h)),
	} {
		if w.Code != http.StatusUnauthorized || cookieOf(w, attemptCookie) != "" {
			t.Errorf("%s: %d, %v", what, w.Code, w.Header())
		}
	}
	p.err = &auth.Refusal{Status: http.StatusUnauthorized, Reason: "its nonce is not that of this sign-in"}
	if got := callback(h, "?state=st4te&code=c0de", attempt).Header().Get("Location"); got != "/#sign-in=refused" {
		t.Errorf("a refused token: %s", got)
	}
	p.err = errors.New("connection refused")
	if got := callback(h, "?state=st4te&code=c0de", attempt).Header().Get("Location"); got != "/#sign-in=unavailable" {
		t.Errorf("a provider that is away: %s", got)
	}
	if w := post(h, "/signin"); w.Code != http.StatusServiceUnavailable || strings.Contains(w.Body.String(), "connection refused") {
		t.Errorf("the begin at a provider that is away: %d %s", w.Code, w.Body)
	}
	p.err, p.user, p.rights = nil, "", []string{"use"}
	if got := callback(h, "?state=st4te&code=c0de", attempt).Header().Get("Location"); got != "/#sign-in=refused" {
		t.Errorf("a sign-in as the operator: %s", got)
	}
}

// A login is renewed once half of its time is over, also after it has ended, and also by another process.
func TestSignInRenewal(t *testing.T) {
	kept := durable.NewMemory(nil)
	h, p, _ := withSignIn(t, kept)
	cookie := signInAs(t, h)
	if code, lasts := renewed(t, h, cookie); code != http.StatusOK || lasts > time.Hour || lasts < 50*time.Minute || len(p.refreshs) != 0 {
		t.Errorf("too early: %d, %v, %v", code, lasts, p.refreshs)
	}
	request := shake("/rpc", "box.lan:7717", cookie, "Origin: "+ownPage)
	g, err := h.logins.admit(request)
	if err != nil {
		t.Fatal(err)
	}
	in := h.logins.list[0].SignIn
	in.At, in.Until = in.At-2*time.Hour.Milliseconds(), time.Now().UnixMilli()
	h.logins.endSignIns(time.Now())
	if _, err := h.logins.admit(request); err != errSignInEnded || !errors.Is(context.Cause(g.Valid), conn.ErrExpired) {
		t.Fatalf("%v, %v", err, context.Cause(g.Valid))
	}
	if w := post(h, "/rpc", cookie); w.Code != http.StatusUnauthorized || len(w.Result().Cookies()) > 0 {
		t.Errorf("the cookie is taken back: %d, %v", w.Code, w.Header())
	}
	if code, lasts := renewed(t, h, cookie); code != http.StatusOK || lasts < 50*time.Minute || fmt.Sprint(p.refreshs) != "[refresh0]" {
		t.Errorf("%d, %v, %v", code, lasts, p.refreshs)
	}
	g, err = h.logins.admit(request)
	if err != nil {
		t.Fatal(err)
	}

	// Another process has the newest refresh token.
	h2, p2, _ := withSignIn(t, kept)
	h2.logins.list[0].SignIn.At -= 2 * time.Hour.Milliseconds()
	if code, _ := renewed(t, h2, cookie); code != http.StatusOK || fmt.Sprint(p2.refreshs) != "[refresh1]" {
		t.Errorf("%d, %v", code, p2.refreshs)
	}

	// A connection goes on, unless the rights change.
	h.logins.list[0].SignIn.At -= 2 * time.Hour.Milliseconds()
	if code, _ := renewed(t, h, cookie); code != http.StatusOK || g.Valid.Err() != nil {
		t.Errorf("%d, %v", code, g.Valid.Err())
	}
	h.logins.list[0].SignIn.At -= 2 * time.Hour.Milliseconds()
	p.rights = []string{"use", "audit"}
	if code, _ := renewed(t, h, cookie); code != http.StatusOK || !errors.Is(context.Cause(g.Valid), conn.ErrExpired) {
		t.Errorf("%d, %v", code, context.Cause(g.Valid))
	}
	if g, err = h.logins.admit(request); err != nil || len(g.Principal.Rights) != 2 {
		t.Errorf("%+v, %v", g, err)
	}

	// Somebody else's token renews nothing, nor does a provider that refuses.
	h.logins.list[0].SignIn.At -= 2 * time.Hour.Milliseconds()
	p.user = "bob"
	if code, _ := renewed(t, h, cookie); code != http.StatusUnauthorized || h.logins.list[0].SignIn.User != "ann" {
		t.Errorf("%d, %+v", code, h.logins.list[0].SignIn)
	}
	p.user, p.err = "ann", &auth.Refusal{Status: http.StatusUnauthorized, Reason: "invalid_grant"}
	if code, _ := renewed(t, h, cookie); code != http.StatusUnauthorized {
		t.Error(code)
	}
	p.err, p.source = nil, "two"
	if _, err := h.logins.admit(request); err != errVoidLogin {
		t.Errorf("after a change of the config: %v", err)
	}
}

// The sign-ins of a user can be removed, as when the user is deleted.
func TestForgetSignIns(t *testing.T) {
	kept := durable.NewMemory(nil)
	h, p, _ := withSignIn(t, kept)
	ann := signInAs(t, h)
	p.user = "bob"
	bob := signInAs(t, h)
	if err := h.logins.Forget(session.Owner{User: "ann"}); err != nil {
		t.Fatal(err)
	}
	if got := handshake(h, ann, "Origin: "+ownPage); got != http.StatusUnauthorized {
		t.Errorf("ann: %d", got)
	}
	if got := handshake(h, bob, "Origin: "+ownPage); got != http.StatusSwitchingProtocols {
		t.Errorf("bob: %d", got)
	}
	if text, err := kept.Get(); err != nil || strings.Contains(string(text), "ann") {
		t.Errorf("%s, %v", text, err)
	}
}

// A connection of a sign-in is closed with 4001 when that ends.
func TestConnectionOfEndedSignIn(t *testing.T) {
	h, p, _ := withSignIn(t, durable.NewMemory(nil))
	p.lasts = time.Second
	cookie := signInAs(t, h)
	ctx, stop := context.WithCancel(t.Context())
	watched := make(chan struct{})
	testgo.Go(t, func() { // stop ends it; awaited below
		defer close(watched)
		h.logins.Watch(ctx)
	})
	socket, err := net.Dial("tcp", listenOn(t, h).String())
	if err != nil {
		t.Fatal(err)
	}
	c := conntest.Upgrade(t, socket, func(w io.Writer, request string) error {
		return conntest.AtOnce(w, strings.Replace(request, ", thinkd.token."+conntest.Token, "\r\n"+cookie+"\r\nOrigin: https://thinkd.test:0", 1))
	})
	if _, got := c.ClosedAfter(true); got != "close 4001 the token has expired" {
		t.Error(got)
	}
	stop()
	<-watched
}
