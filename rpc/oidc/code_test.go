package oidc

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/auth"
)

// begun is a sign-in of the provider's test user up to the code.
func (a *admitting) begun(i *issuer) (code string, at auth.Attempt) {
	a.Helper()
	return a.begunAs(i, clientID)
}

func (a *admitting) begunAs(i *issuer, client string) (code string, at auth.Attempt) {
	a.Helper()
	address, at, err := a.Begin(a.Context(), redirect)
	if err != nil {
		a.Fatal(err)
	}
	asked, err := url.Parse(address)
	if err != nil {
		a.Fatal(err)
	}
	for name, want := range map[string]string{"code_challenge_method": "S256", "response_type": "code", "client_id": client, "redirect_uri": redirect, "state": at.State, "nonce": at.Nonce} {
		if got := asked.Query().Get(name); got != want || got == "" {
			a.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if strings.Contains(address, at.Verifier) || at.State == at.Nonce || len(at.State) < 26 || len(at.Verifier) < 43 {
		a.Errorf("%s, %+v", address, at)
	}
	back := i.authorize(address, "test-user2")
	if back.Get("state") != at.State {
		a.Errorf("%v", back)
	}
	return back.Get("code"), at
}

// notSigned fails the test if a sign-in goes well, or if its error has one of the secrets.
func (a *admitting) notSigned(what string, err error, want string, secrets ...string) {
	a.Helper()
	refusal, ok := errors.AsType[*auth.Refusal](err)
	if !ok || refusal.Status != http.StatusUnauthorized || !strings.Contains(refusal.Reason, want) {
		a.Errorf("%s: %v, want a refusal with %q", what, err, want)
	}
	for _, secret := range secrets {
		if err != nil && strings.Contains(err.Error(), secret) {
			a.Errorf("%s: the error has a secret: %v", what, err)
		}
	}
}

// A person signs in with the code flow and PKCE. The sign-in is renewed. A code counts once, and only with its verifier, nonce and redirect.
func TestSignIn(t *testing.T) {
	i := newIssuer(t)
	a := admits(t, Config{Issuer: i.url, Audience: clientID})
	code, at := a.begun(i)
	in, err := a.Finish(t.Context(), code, at)
	if err != nil || in.Principal.Owner.User != "id2" || in.Principal.OwnsMachine() || !in.Until.After(a.clock) || in.Refresh.IsZero() {
		t.Fatalf("%+v, %v", in, err)
	}
	_, err = a.Finish(t.Context(), code, at)
	a.notSigned("a code that was used", err, "the OpenID provider refuses", code)
	next, err := a.Refresh(t.Context(), in.Refresh)
	if err != nil || next.Principal.Owner != in.Principal.Owner || next.Refresh.IsZero() {
		t.Errorf("%+v, %v", next, err)
	}
	if _, err = a.Refresh(t.Context(), in.Refresh); err == nil && next.Refresh != in.Refresh {
		t.Error("a refresh token that was replaced counts")
	}
	_, err = a.Refresh(t.Context(), provider.NewSecret("none"))
	a.notSigned("a void refresh token", err, "the OpenID provider refuses")

	code, at = a.begun(i)
	other := at
	other.Verifier = strings.Repeat("x", 43)
	_, err = a.Finish(t.Context(), code, other)
	a.notSigned("another verifier", err, "the OpenID provider refuses", code)
	code, at = a.begun(i)
	other = at
	other.Redirect = "http://localhost/other"
	_, err = a.Finish(t.Context(), code, other)
	a.notSigned("another redirect", err, "the OpenID provider refuses", code)
	code, at = a.begun(i)
	other = at
	other.Nonce = "another"
	_, err = a.Finish(t.Context(), code, other)
	a.notSigned("another nonce", err, "its nonce is not that of this sign-in", code)
	if one, err := New(Config{Issuer: i.url, Audience: clientID}, a.log), error(nil); err != nil || one.Source() == New(Config{Issuer: i.url, Audience: "other"}, a.log).Source() {
		t.Error("two configs have one source")
	}
}

// What the token endpoint sends is checked as a token from anywhere.
func TestSignInTokens(t *testing.T) {
	i := newIssuer(t)
	a := admits(t, Config{Issuer: i.url, Audience: clientID})
	stranger := newSigning(t, "stranger")
	right := func(changes ...any) map[string]any {
		return i.right(a.clock, append([]any{"nonce", "n"}, changes...)...)
	}
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(`{}`)) + "."
	for _, tt := range []struct {
		what, token, want string
	}{
		{"wrong issuer", i.sign(i.keys[0], nil, right("iss", "https://evil.example")), "its signature, iss or aud"},
		{"wrong audience", i.sign(i.keys[0], nil, right("aud", "other")), "its signature, iss or aud"},
		{"a stranger's key", i.sign(stranger, nil, right()), "its signature, iss or aud"},
		{"alg none", none, "its signature, iss or aud"},
		{"expired", i.sign(i.keys[0], nil, right("exp", a.clock.Add(-2*skew).Unix())), "it has expired"},
		{"not valid yet", i.sign(i.keys[0], nil, right("nbf", a.clock.Add(2*skew).Unix())), "in the future"},
		{"wrong nonce", i.sign(i.keys[0], nil, right("nonce", "m")), "its nonce"},
		{"no nonce", i.sign(i.keys[0], nil, right("nonce", nil)), "its nonce"},
		{"no user", i.sign(i.keys[0], nil, right("sub", nil)), "no claim sub"},
		{"too long", strings.Repeat("x", maxToken+1), "more than"},
		{"none at all", "", "no ID token"},
	} {
		i.mu.Lock()
		i.answer = func() map[string]any {
			return map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": tt.token}
		}
		i.mu.Unlock()
		_, err := a.Finish(t.Context(), "c", auth.Attempt{Nonce: "n", Verifier: strings.Repeat("v", 43), Redirect: redirect, Until: a.clock.Add(time.Minute).UnixMilli()})
		a.notSigned(tt.what, err, tt.want)
	}
	i.mu.Lock()
	i.answer = func() map[string]any {
		return map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": i.sign(i.keys[0], map[jose.HeaderKey]any{}, right())}
	}
	i.mu.Unlock()
	if _, err := a.Finish(t.Context(), "c", auth.Attempt{Nonce: "n", Redirect: redirect}); err != nil {
		t.Errorf("a right one: %v", err)
	}
}
