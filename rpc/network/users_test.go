package network

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/conntest"
)

// withUsers has the operator's token and API tokens. Clients of /rpc get back what they send.
func withUsers(t *testing.T, kept durable.Value) (h *Handler, f auth.Folder, tokens *auth.Tokens) {
	t.Helper()
	f = auth.Folder{Path: filepath.Join(t.TempDir(), "tokens")}
	log := slog.New(slog.DiscardHandler)
	tokens = auth.NewTokens(f, log)
	token := NewToken(provider.NewSecret(conntest.Token), nil, false, tokens)
	serve := func(ctx context.Context, l *auth.Lease, f conn.Frames) error {
		<-ctx.Done()
		return f.Close(context.Cause(ctx))
	}
	h = New(Config{Log: log, Authenticator: token, Logins: NewLogins(token, kept, nil, log), Port: 7717, TLS: true, Hosts: []string{"box.lan", "thinkd.test:0"},
		Metrics: page("metrics"), Endpoints: []Endpoint{{Path: "/rpc", Limit: 1000, Cookie: true, Serve: serve}}})
	t.Cleanup(h.Close)
	return h, f, tokens
}

func create(t *testing.T, f auth.Folder, r auth.Record) (auth.Record, string) {
	t.Helper()
	r, token, err := f.Create(r)
	if err != nil {
		t.Fatal(err)
	}
	return r, token.Reveal()
}

// A user comes in with a token of theirs, and reads what is for users.
func TestUsersOnRoutes(t *testing.T) {
	h, f, _ := withUsers(t, durable.NewMemory(nil))
	_, user := create(t, f, auth.Record{User: "ann", Rights: []string{"use"}})
	_, admin := create(t, f, auth.Record{User: "eve", Rights: []string{"use", "admin"}})
	gone, revoked := create(t, f, auth.Record{User: "ann", Rights: []string{"use"}})
	if err := f.Revoke(gone.ID); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path, token string
		want        int
	}{
		{"/rpc", user, http.StatusSwitchingProtocols},
		{"/readyz", user, http.StatusOK},
		{"/metrics", user, http.StatusForbidden},
		{"/metrics", admin, http.StatusOK},
		{"/metrics", conntest.Token, http.StatusOK},
		{"/rpc", revoked, http.StatusUnauthorized},
		{"/rpc", user[:len(user)-1], http.StatusUnauthorized},
		{"/rpc", "thd_", http.StatusUnauthorized},
	} {
		if got := ask(h, shake(tt.path, "box.lan:7717", "Authorization: Bearer "+tt.token)); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.path, got, tt.want)
		}
	}
}

// Wrong API tokens are guesses like any others.
func TestGuessedAPITokens(t *testing.T) {
	h, f, _ := withUsers(t, durable.NewMemory(nil))
	_, user := create(t, f, auth.Record{User: "ann", Rights: []string{"use"}})
	for range maxPeerGuesses {
		if got := ask(h, shake("/rpc", "box.lan:7717", "Authorization: Bearer thd_x")); got != http.StatusUnauthorized {
			t.Fatal(got)
		}
	}
	if got := ask(h, shake("/rpc", "box.lan:7717", "Authorization: Bearer thd_x")); got != http.StatusTooManyRequests {
		t.Error(got)
	}
	if got := ask(h, shake("/rpc", "box.lan:7717", "Authorization: Bearer "+user)); got != http.StatusSwitchingProtocols {
		t.Errorf("a right token: %d", got)
	}
}

// A login is its token's: it has the token's principal, and ends with the token.
func TestLoginOfUser(t *testing.T) {
	kept := durable.NewMemory(nil)
	h, f, _ := withUsers(t, kept)
	r, token := create(t, f, auth.Record{User: "ann", Rights: []string{"use"}, Expires: time.Now().Add(time.Hour).UnixMilli()})
	w := post(h, "/login", "Authorization: Bearer "+token)
	if w.Code != http.StatusNoContent {
		t.Fatal(w.Code, w.Body)
	}
	c := w.Result().Cookies()[0]
	request := shake("/rpc", "box.lan:7717", "Cookie: "+c.Name+"="+c.Value, "Origin: "+ownPage)
	g, err := h.logins.admit(request)
	if err != nil || g.Principal.OwnsMachine() || g.Principal.Owner.User != "ann" || g.Expires.UnixMilli() != r.Expires {
		t.Fatalf("%+v, %v", g, err)
	}
	if err := f.Revoke(r.ID); err != nil {
		t.Fatal(err)
	}
	if got := ask(h, request); got != http.StatusUnauthorized {
		t.Errorf("after the token was revoked: %d", got)
	}
	if !errors.Is(context.Cause(g.Valid), conn.ErrRevoked) {
		t.Errorf("its connections: %v", context.Cause(g.Valid))
	}
}

// A grant without an id that is not the operator's, such as one of another admitter, gets no cookie: that would be the operator's.
func TestLoginWithoutID(t *testing.T) {
	h, _, _ := withUsers(t, durable.NewMemory(nil))
	p, err := auth.NewPrincipal(auth.Record{User: "ann"}.Owner(), []string{"use"})
	if err != nil {
		t.Fatal(err)
	}
	if c, err := h.logins.grant(auth.Grant{Principal: p, Valid: t.Context()}); err == nil {
		t.Errorf("%v", c)
	}
}

// The logins of one token do not push out those of another.
func TestLoginsOfTokens(t *testing.T) {
	h, f, _ := withUsers(t, durable.NewMemory(nil))
	operator := logIn(t, h)
	_, token := create(t, f, auth.Record{User: "ann", Rights: []string{"use"}})
	for range maxLogins + 5 {
		if w := post(h, "/login", "Authorization: Bearer "+token); w.Code != http.StatusNoContent {
			t.Fatal(w.Code, w.Body)
		}
	}
	if n := len(h.logins.list); n != maxLogins+1 {
		t.Errorf("%d logins", n)
	}
	if got := handshake(h, operator, "Origin: "+ownPage); got != http.StatusSwitchingProtocols {
		t.Errorf("the operator's: %d", got)
	}
}

// An open connection is closed with 4001 and the reason.
func TestConnectionOfRevokedToken(t *testing.T) {
	for _, why := range []string{"close 4001 the token was replaced", "close 4001 the token has expired"} {
		h, f, tokens := withUsers(t, durable.NewMemory(nil))
		r := auth.Record{User: "ann", Rights: []string{"use"}}
		expires := why != "close 4001 the token was replaced"
		if expires {
			r.Expires = time.Now().Add(time.Second).UnixMilli()
		}
		r, token := create(t, f, r)
		ctx, stop := context.WithCancel(t.Context())
		watched := make(chan struct{})
		testgo.Go(t, func() { // stop ends it; awaited below
			defer close(watched)
			tokens.Watch(ctx)
		})
		c := conntest.DialAs(t, listenOn(t, h), token)
		if !expires {
			if err := f.Revoke(r.ID); err != nil {
				t.Fatal(err)
			}
		}
		if _, got := c.ClosedAfter(true); got != why {
			t.Errorf("%s, want %s", got, why)
		}
		stop()
		<-watched
	}
}

// jwts admits the token "right", is not sure about "later", and refuses all others with a dot.
type jwts struct{ grant auth.Grant }

func (j jwts) Advice() string { return "send a JWT" }

func (j jwts) Admit(_ context.Context, token string) (auth.Grant, bool, error) {
	switch {
	case token == "right.":
		return j.grant, true, nil
	case token == "later.":
		return auth.Grant{}, true, errors.New("nobody can decide at the moment")
	case strings.Contains(token, "."):
		return auth.Grant{}, true, &auth.Refusal{Status: http.StatusUnauthorized, Reason: "the JWT is refused: it has expired"}
	}
	return auth.Grant{}, false, nil
}

// A refused JWT is a guess, with a reason of its own. A right one passes all the same, and an issuer that cannot be reached is nobody's guess.
func TestRefusedJWTs(t *testing.T) {
	p, err := auth.NewPrincipal(auth.Record{User: "ann"}.Owner(), []string{"use"})
	if err != nil {
		t.Fatal(err)
	}
	token := NewToken(provider.NewSecret(conntest.Token), nil, false, jwts{auth.Grant{Principal: p, Valid: t.Context()}})
	said := func(word string) string {
		_, err := token.Renew(shake("/rpc", "box.lan:7717"), word)
		if err == nil {
			return ""
		}
		return err.Error()
	}
	for range 2 * maxPeerGuesses {
		if got := said("later."); got != "nobody can decide at the moment" {
			t.Fatal(got)
		}
	}
	if got := said("opaque"); !strings.HasSuffix(got, "; send a JWT") {
		t.Error(got)
	}
	for range maxPeerGuesses - 1 {
		if got := said("old."); got != "the JWT is refused: it has expired" {
			t.Fatal(got)
		}
	}
	if got := said("old."); got != "too many wrong tokens" {
		t.Error(got)
	}
	if got := said("right."); got != "" {
		t.Error(got)
	}
}
