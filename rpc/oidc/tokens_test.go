package oidc

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/session"
)

// admitting is an admitter of an issuer's tokens, with a clock.
type admitting struct {
	*Tokens
	*testing.T
	clock time.Time
}

func admits(t *testing.T, c Config) *admitting {
	t.Helper()
	a := &admitting{T: t, clock: time.Now()}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	a.Tokens = newTokens(c, transport, slog.New(slog.DiscardHandler), func() time.Time { return a.clock })
	return a
}

// admit fails the test if a token is refused.
func (a *admitting) admit(token string) auth.Grant {
	a.Helper()
	g, ok, err := a.Admit(a.Context(), token)
	if err != nil || !ok {
		a.Fatalf("refused: %v, %v", ok, err)
	}
	return g
}

// refuses fails the test if a token is admitted, or not with the reason.
func (a *admitting) refuses(what, token, why string) {
	a.Helper()
	g, _, err := a.Admit(a.Context(), token)
	refusal, ok := errors.AsType[*auth.Refusal](err)
	if !ok || refusal.Status != http.StatusUnauthorized || !strings.Contains(refusal.Reason, why) || g.Valid != nil {
		a.Errorf("%s: %+v, %v; want a refusal with %q", what, g, err, why)
	}
	if parts := strings.Split(token, "."); err != nil && strings.Contains(err.Error(), parts[1]) {
		a.Errorf("%s: the reason has a part of the token: %v", what, err)
	}
}

// A user logs in at a provider with PKCE, and comes in with the ID token; so do its successors. Opaque access tokens are no JWTs, and a token
// for another client is refused.
func TestLogin(t *testing.T) {
	i := newIssuer(t)
	a := admits(t, Config{Issuer: i.url, Audience: clientID})
	got := i.logIn(clientID, "test-user2")
	g := a.admit(got.ID)
	if g.Principal.Owner != (session.Owner{User: "id2"}) || g.Principal.OwnsMachine() || len(g.Principal.Rights) != 1 || g.Expires.Before(a.clock) || g.ID != "" {
		t.Errorf("%+v", g)
	}
	if _, ok, err := a.Admit(t.Context(), got.Access); ok || err != nil {
		t.Errorf("an opaque access token: %v, %v", ok, err)
	}
	if !strings.Contains(a.Advice(), "opaque access token") {
		t.Error(a.Advice())
	}
	renewed := i.renew(clientID, got.Refresh)
	if h := a.admit(renewed.ID); renewed.ID == got.ID || h.Principal.Owner != g.Principal.Owner {
		t.Errorf("after a renewal: %+v", h)
	}
	a.refuses("a token for another client", i.logIn("other", "test-user2").ID, "its signature, iss or aud is not right")
	other := newIssuer(t)
	a.refuses("a token of another issuer", other.logIn(clientID, "test-user2").ID, "its signature, iss or aud is not right")
}

// Keys are fetched once, and again for a token with a new key, but not for each token with an unknown one. A key that the issuer withdraws
// is void after keysFor.
func TestKeyRotation(t *testing.T) {
	i := newIssuer(t)
	a := admits(t, Config{Issuer: i.url, Audience: clientID})
	before := i.logIn(clientID, "test-user2")
	for range 3 {
		a.admit(before.ID)
	}
	if n := i.requests("/keys"); n != 1 {
		t.Errorf("the keys were fetched %d times", n)
	}
	first, second := i.keys[0], newSigning(t, "second")
	i.rotate(second, first)
	a.clock = a.clock.Add(fetchPause)
	a.admit(i.logIn(clientID, "test-user2").ID)
	a.admit(before.ID) // its key is still there
	if n := i.requests("/keys"); n != 2 {
		t.Errorf("the keys were fetched %d times", n)
	}
	stranger := newSigning(t, "stranger")
	for n := range 20 {
		stranger.id = fmt.Sprint("stranger", n)
		a.refuses("an unknown key", i.sign(stranger, nil, i.right(a.clock)), "its signature")
	}
	if n := i.requests("/keys"); n != 2 {
		t.Errorf("tokens with unknown keys fetched the keys %d times", n-2)
	}
	i.rotate(second)
	a.clock = a.clock.Add(keysFor)
	a.refuses("a key that is gone", before.ID, "its signature")
	a.admit(i.logIn(clientID, "test-user2").ID)
}

// None of these is admitted: other algorithms, changed tokens, keys of the token's choice, claims that are missing or wrong.
func TestRefusedTokens(t *testing.T) {
	i := newIssuer(t)
	a := admits(t, Config{Issuer: i.url, Audience: clientID})
	key, now := i.keys[0], a.clock
	whole := i.sign(key, nil, i.right(now))
	a.admit(whole)
	encode := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	// HS256 with the public key as the secret, in the forms that libraries have taken.
	secret, err := json.Marshal(jose.JSONWebKey{Key: key.key.Public(), KeyID: key.id})
	if err != nil {
		t.Fatal(err)
	}
	hs := encode(map[string]any{"alg": "HS256", "kid": key.id, "typ": "JWT"}) + "." + encode(i.right(now))
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(hs))
	hs += "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	for _, alg := range []any{"none", "None", "NONE", "nOnE", "", nil, "HS384", "RS1", "dir", "ES256K"} {
		for _, signature := range []string{"", strings.Split(whole, ".")[2]} {
			token := encode(map[string]any{"alg": alg, "kid": key.id}) + "." + encode(i.right(now)) + "." + signature
			a.refuses(fmt.Sprintf("alg %v", alg), token, "its algorithm is not one of")
		}
	}
	a.refuses("HS256 with the public key", hs, "its algorithm is not one of")
	a.refuses("RS256 with an ES256 signature", encode(map[string]any{"alg": "RS256", "kid": key.id})+whole[strings.Index(whole, "."):], "its signature")

	parts := strings.Split(whole, ".")
	a.refuses("other claims", parts[0]+"."+encode(i.right(now, "sub", "eve"))+"."+parts[2], "its signature")
	a.refuses("no signature", parts[0]+"."+parts[1]+".", "its signature")
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		t.Fatal(err)
	}
	for at := range signature {
		signature[at] ^= 1
		a.refuses(fmt.Sprintf("byte %d of the signature", at), parts[0]+"."+parts[1]+"."+base64.RawURLEncoding.EncodeToString(signature), "its signature")
		signature[at] ^= 1
	}
	stranger := newSigning(t, key.id)
	a.refuses("another key under the same id", i.sign(stranger, nil, i.right(now)), "its signature")
	a.refuses("a key in the header", i.sign(stranger, map[jose.HeaderKey]any{"jwk": jose.JSONWebKey{Key: stranger.key.Public()}}, i.right(now)), "its signature")
	a.refuses("an address of keys in the header", i.sign(stranger, map[jose.HeaderKey]any{"jku": "http://127.0.0.1:1/keys"}, i.right(now)), "its signature")
	a.refuses("an unknown crit", i.sign(key, map[jose.HeaderKey]any{"crit": []string{"x"}, "x": 1}, i.right(now)), "its signature")
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	a.refuses("a key of another kind", i.sign(signing{key.id, jose.RS256, rsaKey}, nil, i.right(now)), "its signature")

	at := func(d time.Duration) int64 { return now.Add(d).Unix() }
	for _, tt := range []struct {
		name    string
		changes []any
		why     string
	}{
		{"another issuer", []any{"iss", i.url + "/"}, "its signature, iss or aud"},
		{"no issuer", []any{"iss", nil}, "its signature, iss or aud"},
		{"another audience", []any{"aud", "other"}, "its signature, iss or aud"},
		{"a part of the audience", []any{"aud", []string{"think", "thinkd2"}}, "its signature, iss or aud"},
		{"no audience", []any{"aud", nil}, "its signature, iss or aud"},
		{"expired", []any{"exp", at(-2 * time.Minute)}, "it has expired"},
		{"never expires", []any{"exp", nil}, "it has no claim exp"},
		{"exp null", []any{"exp", json.RawMessage("null")}, ""},
		{"exp a word", []any{"exp", "tomorrow"}, ""},
		{"exp negative", []any{"exp", -1}, ""},
		{"not yet", []any{"nbf", at(2 * time.Minute)}, "its nbf is in the future"},
		{"made in the future", []any{"iat", at(2 * time.Minute)}, "its iat is in the future"},
		{"no user", []any{"sub", nil}, "it has no claim sub"},
		{"an empty user", []any{"sub", ""}, "it has no claim sub"},
		{"a user that is a number", []any{"sub", 7}, ""},
		{"a user with a line break", []any{"sub", "ann\n"}, "printable"},
		{"a long user", []any{"sub", strings.Repeat("a", 256)}, "255"},
	} {
		a.refuses(tt.name, i.sign(key, nil, i.right(now, tt.changes...)), tt.why)
	}
}

// Clocks may be a minute apart.
func TestSkew(t *testing.T) {
	i := newIssuer(t)
	a := admits(t, Config{Issuer: i.url, Audience: clientID})
	now := a.clock.Truncate(time.Second)
	a.clock = now
	key := i.keys[0]
	for _, changes := range [][]any{{"exp", now.Add(-59 * time.Second).Unix()}, {"nbf", now.Add(time.Minute).Unix()}, {"iat", now.Add(time.Minute).Unix()}} {
		a.admit(i.sign(key, nil, i.right(now, changes...)))
	}
	a.refuses("exp", i.sign(key, nil, i.right(now, "exp", now.Add(-time.Minute).Unix())), "expired")
	a.refuses("nbf", i.sign(key, nil, i.right(now, "nbf", now.Add(61*time.Second).Unix())), "future")
}

// The config names the claims of the tenant, the user and the rights. What other programs need there is nothing to us.
func TestClaims(t *testing.T) {
	i := newIssuer(t)
	key := i.keys[0]
	a := admits(t, Config{Issuer: i.url, Audience: clientID, UserClaim: "email", TenantClaim: "org", RightsClaim: "roles"})
	sign := func(changes ...any) string {
		return i.sign(key, nil, i.right(a.clock, append([]any{"email", "ann@example.com", "email_verified", true, "org", "acme", "roles", []string{"use", "audit", "billing"}}, changes...)...))
	}
	g := a.admit(sign())
	if g.Principal.Owner != (session.Owner{Tenant: "acme", User: "ann@example.com"}) || len(g.Principal.Rights) != 2 {
		t.Errorf("%+v", g.Principal)
	}
	if g := a.admit(sign("roles", "billing use")); len(g.Principal.Rights) != 1 {
		t.Errorf("%+v", g.Principal)
	}
	a.refuses("an email that is not verified", sign("email_verified", false), "not verified")
	a.refuses("an email of which nobody says", sign("email_verified", nil), "not verified")
	a.refuses("a word for true", sign("email_verified", "true"), "not verified")
	a.refuses("no tenant", sign("org", nil), "it has no claim org")
	a.refuses("a list of tenants", sign("org", []string{"acme"}), "it has no claim org")
	a.refuses("no rights", sign("roles", []string{"billing"}), "none of the rights")
	a.refuses("no roles", sign("roles", nil), "none of the rights")
}

// The config can allow fewer algorithms.
func TestAlgorithms(t *testing.T) {
	i := newIssuer(t)
	a := admits(t, Config{Issuer: i.url, Audience: clientID, Algorithms: []string{"RS256"}})
	a.refuses("ES256", i.logIn(clientID, "test-user2").ID, "its algorithm is not one of RS256")
	for _, alg := range Algorithms() {
		if strings.HasPrefix(alg, "HS") || alg == "none" {
			t.Errorf("%s can be allowed", alg)
		}
	}
}

// The last keys count while the issuer cannot be reached.
func TestUnreachableLater(t *testing.T) {
	i := newIssuer(t)
	a := admits(t, Config{Issuer: i.url, Audience: clientID})
	a.admit(i.sign(i.keys[0], nil, i.right(a.clock)))
	a.clock = a.clock.Add(keysFor)
	a.Tokens.config.Issuer = i.url + "/nowhere"
	a.admit(i.sign(i.keys[0], nil, i.right(a.clock)))
}

// An issuer that cannot be reached admits nobody, and is asked again later.
func TestUnreachable(t *testing.T) {
	i := newIssuer(t)
	a := admits(t, Config{Issuer: i.url + "/nowhere", Audience: clientID})
	token := i.sign(i.keys[0], nil, i.right(a.clock))
	for range 2 {
		if g, _, err := a.Admit(t.Context(), token); err == nil || g.Valid != nil {
			t.Fatal("admitted")
		}
	}
	a.Tokens.config.Issuer = i.url
	a.admit(token)
}

// Connections end with their token, a minute after its exp, and a renewal keeps them.
func TestGrantEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTokens(Config{}, nil, slog.New(slog.DiscardHandler), time.Now)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		testgo.Go(t, func() { // stop ends it; awaited below
			defer close(done)
			a.Watch(ctx)
		})
		first := a.grant("a", time.Now().Add(time.Minute))
		if a.grant("a", time.Now().Add(time.Minute)) != first || a.grant("b", time.Now().Add(time.Hour)) == first {
			t.Error("grants are not those of their tokens")
		}
		time.Sleep(time.Minute - time.Second)
		synctest.Wait()
		if first.Err() != nil {
			t.Error("it ends early")
		}
		<-first.Done()
		if cause := context.Cause(first); !errors.Is(cause, conn.ErrExpired) {
			t.Error(cause)
		}
		a.mu.Lock()
		left := len(a.grants)
		a.mu.Unlock()
		if left != 1 {
			t.Errorf("%d tokens are remembered", left)
		}
		stop()
		<-done
	})
}

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // where the provider logs requests
	os.Exit(m.Run())
}
