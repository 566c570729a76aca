package oidc

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
	"golang.org/x/oauth2"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/auth"
)

const webClient, webSecret = "web", "c1ient secret/with:signs%"

// confidential is the client of a web site, which authenticates in one way.
type confidential struct {
	op.Client
	method oidc.AuthMethod
}

func (c confidential) AuthMethod() oidc.AuthMethod { return c.method }

// RedirectURIs has that of the tests, and PostLogoutRedirectURIs that of our page.
func (confidential) PostLogoutRedirectURIs() []string { return []string{afterLogout} }

const afterLogout = "https://box.lan/signin/callback"

// withWebClient is a provider that knows a confidential client, in one way only.
func withWebClient(t *testing.T, method oidc.AuthMethod) *issuer {
	t.Helper()
	i := newIssuer(t)
	i.keyed.web = func(c op.Client) op.Client { return confidential{c, method} }
	i.takes = map[oidc.AuthMethod]string{oidc.AuthMethodBasic: "Authorization", oidc.AuthMethodPost: "client_secret"}[method]
	return i
}

// A client with a secret signs people in, whether the provider takes the secret in the header or in the body. The secret is in no error and in no log.
func TestClientSecret(t *testing.T) {
	for _, method := range []oidc.AuthMethod{oidc.AuthMethodBasic, oidc.AuthMethodPost} {
		t.Run(string(method), func(t *testing.T) {
			i := withWebClient(t, method)
			var said bytes.Buffer
			with := func(secret string) *admitting {
				a := admits(t, Config{Issuer: i.url, Audience: webClient, Secret: provider.NewSecret(secret)})
				a.log = slog.New(slog.NewJSONHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug}))
				return a
			}
			right := with(webSecret)
			code, at := right.begunAs(i, webClient)
			for secret, want := range map[string]string{"wrong": "refuses the client web: the client secret under [auth.oidc] is wrong, or has expired",
				"": "refuses the client web without a secret: set client_secret_file under [auth.oidc]"} {
				_, err := with(secret).Finish(t.Context(), code, at)
				if _, refused := errors.AsType[*auth.Refusal](err); err == nil || refused || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), code) {
					t.Errorf("with the secret %q: %v", secret, err)
				}
			}
			in, err := right.Finish(t.Context(), code, at) // the code is not used up by requests that the provider refuses
			if err != nil || in.Principal.Owner.User != "id2" || in.Refresh.IsZero() {
				t.Fatalf("%+v, %v", in, err)
			}
			next, err := right.Refresh(t.Context(), in.Refresh)
			if err != nil || next.Principal.Owner != in.Principal.Owner {
				t.Errorf("a renewal: %+v, %v", next, err)
			}
			if _, err := with("wrong").Refresh(t.Context(), next.Refresh); err == nil || !strings.Contains(err.Error(), "is wrong, or has expired") {
				t.Errorf("a renewal with a wrong secret: %v", err)
			}
			if _, err := right.Refresh(t.Context(), next.Refresh); err != nil {
				t.Errorf("a renewal after that: %v", err)
			}
			if strings.Contains(said.String(), "c1ient") || strings.Contains(right.Source(), "c1ient") || right.Source() != with("wrong").Source() {
				t.Errorf("the log says %s", said.String())
			}
		})
	}
}

// Whoever logs out is logged out at the provider: the refresh token is void, and the address leads to the provider's end of the session and back.
func TestSignOut(t *testing.T) {
	for name, i := range map[string]*issuer{"public": newIssuer(t), "header": withWebClient(t, oidc.AuthMethodBasic), "body": withWebClient(t, oidc.AuthMethodPost)} {
		t.Run(name, func(t *testing.T) {
			client, secret := clientID, provider.Secret{}
			if name != "public" {
				client, secret = webClient, provider.NewSecret(webSecret)
			}
			a := admits(t, Config{Issuer: i.url, Audience: client, Secret: secret})
			code, at := a.begunAs(i, client)
			in, err := a.Finish(t.Context(), code, at)
			if err != nil {
				t.Fatal(err)
			}
			address, err := a.SignOut(t.Context(), in.Refresh, afterLogout)
			if err != nil {
				t.Fatal(err)
			}
			_, err = a.Refresh(t.Context(), in.Refresh)
			a.notSigned("a refresh token of a login that has ended", err, "the OpenID provider refuses")
			to, err := url.Parse(address)
			if err != nil || !strings.HasPrefix(address, i.url+"/end_session?") || to.Query().Get("client_id") != client || to.Query().Get("post_logout_redirect_uri") != afterLogout || len(to.Query()) != 2 {
				t.Errorf("%s, %v", address, err)
			}
			if name == "public" {
				return // its post-logout address is not registered
			}
			browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			answer, err := browser.Get(address)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if got := answer.Header.Get("Location"); got != afterLogout {
				t.Errorf("the provider leads to %q: %s", got, answer.Status)
			}
		})
	}
}

// A provider that has no way to log out is none that fails, and one that leads a browser elsewhere without TLS is not followed.
func TestSignOutAddresses(t *testing.T) {
	for _, tt := range []struct {
		what       string
		issuer     string
		endSession string
		want, err  string
	}{
		{"encrypted", "https://login.example.com", "https://login.example.com/out?a=b", "https://login.example.com/out?a=b&client_id=thinkd&post_logout_redirect_uri=https%3A%2F%2Fbox.lan%2F", ""},
		{"another host", "https://login.example.com", "https://out.example.com/", "https://out.example.com/?client_id=thinkd&post_logout_redirect_uri=https%3A%2F%2Fbox.lan%2F", ""},
		{"not encrypted", "https://login.example.com", "http://login.example.com/out", "", "not an encrypted address"},
		{"a script", "https://login.example.com", "javascript:alert(1)", "", "not an encrypted address"},
		{"on this machine", "http://localhost:1", "http://localhost:1/out", "http://localhost:1/out?client_id=thinkd&post_logout_redirect_uri=https%3A%2F%2Fbox.lan%2F", ""},
		{"no address", "https://login.example.com", "https://%zz", "", "its end_session_endpoint"},
	} {
		got, err := New(Config{Issuer: tt.issuer, Audience: "thinkd"}, slog.New(slog.DiscardHandler)).endOfSession(tt.endSession, "https://box.lan/")
		if got != tt.want || (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %q, %v", tt.what, got, err)
		}
	}
	i := newIssuer(t)
	i.hides = []string{"end_session_endpoint", "revocation_endpoint"}
	a := admits(t, Config{Issuer: i.url, Audience: clientID})
	if address, err := a.SignOut(t.Context(), provider.NewSecret("x"), afterLogout); address != "" || err != nil {
		t.Errorf("%q, %v", address, err)
	}
	i.hides = nil
	a = admits(t, Config{Issuer: i.url, Audience: webClient}) // the provider wants a secret for the revocation
	if address, err := a.SignOut(context.Background(), provider.NewSecret("x"), afterLogout); address == "" || err == nil || !strings.Contains(err.Error(), "does not revoke the refresh token: status 4") {
		t.Errorf("%q, %v", address, err)
	}
}

// A token for renewals is asked for in the way that the provider takes.
func TestOfflineAccess(t *testing.T) {
	for _, tt := range []struct {
		what, issuer     string
		scopes           []string
		scope            string
		offline, consent bool
	}{
		{"no list", "https://a", nil, "openid profile email offline_access", false, false},
		{"listed", "https://a", []string{"openid", "offline_access"}, "openid profile email offline_access", false, false},
		{"not listed", "https://a", []string{"openid"}, "openid profile email", true, false},
		{"Google", google, []string{"openid", "email", "profile"}, "openid profile email", true, true},
	} {
		scopes, more := published{Scopes: tt.scopes}.offline(tt.issuer)
		c := oauth2.Config{Scopes: append([]string{"openid", "profile", "email"}, scopes...)}
		asked, err := url.Parse(c.AuthCodeURL("s", more...))
		if err != nil {
			t.Fatal(err)
		}
		if q := asked.Query(); q.Get("scope") != tt.scope || (q.Get("access_type") == "offline") != tt.offline || (q.Get("prompt") == "consent") != tt.consent {
			t.Errorf("%s: %s", tt.what, asked)
		}
	}
}

// webStorage is the provider's client with a secret.
func webStorage() *storage.Client { return storage.WebClient(webClient, webSecret, redirect) }
