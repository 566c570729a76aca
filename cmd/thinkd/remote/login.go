package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Prompt is what a person does to log in.
type Prompt struct {
	URL, Code string
	Expires   time.Time
}

// newClient follows no redirects and waits for nobody long.
func newClient() *http.Client {
	return &http.Client{Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Login leads a person through the device flow of a daemon's OpenID provider, and keeps what comes of it. show is called once. It ends
// with ctx. Errors have no token.
func (l Logins) Login(ctx context.Context, a Address, show func(Prompt)) error {
	client := newClient()
	p, err := a.provider(ctx, client)
	if err != nil {
		return err
	}
	ctx = oidc.ClientContext(ctx, client)
	config, err := p.config(ctx)
	if err != nil {
		return err
	}
	if config.Endpoint.DeviceAuthURL == "" {
		return fmt.Errorf("%s has no device flow (RFC 8628): ask the operator for an API token, and log in with --token", p.Issuer)
	}
	device, err := config.DeviceAuth(ctx)
	if err != nil {
		return failure(p, err)
	}
	show(Prompt{device.VerificationURI, device.UserCode, device.Expiry})
	token, err := config.DeviceAccessToken(ctx, device)
	if err != nil {
		return failure(p, err)
	}
	return l.keep(a, p, token, "")
}

func (p Provider) config(ctx context.Context) (oauth2.Config, error) {
	found, err := oidc.NewProvider(ctx, p.Issuer)
	if err != nil {
		return oauth2.Config{}, fmt.Errorf("OpenID provider %s: %w", p.Issuer, err)
	}
	at := found.Endpoint()
	at.AuthStyle = oauth2.AuthStyleInParams // the client is public: to try another style could void a grant
	scopes := []string{oidc.ScopeOpenID, "profile", "email"}
	var listed struct {
		Scopes []string `json:"scopes_supported"`
	}
	if err := found.Claims(&listed); err != nil {
		return oauth2.Config{}, fmt.Errorf("OpenID provider %s: its description: %w", p.Issuer, err)
	}
	if len(listed.Scopes) == 0 || slices.Contains(listed.Scopes, oidc.ScopeOfflineAccess) { // a provider that does not list it may refuse it
		scopes = append(scopes, oidc.ScopeOfflineAccess)
	}
	return oauth2.Config{ClientID: p.ClientID, Endpoint: at, Scopes: scopes}, nil
}

// keep keeps the ID token of an answer. The daemon checks its signature. refresh is the grant before, for a provider that keeps it.
func (l Logins) keep(a Address, p Provider, token *oauth2.Token, refresh string) error {
	id, ok := token.Extra("id_token").(string)
	if !ok || id == "" {
		return fmt.Errorf("%s returned no ID token", p.Issuer)
	}
	made := login{Provider: p, Token: id, Refresh: token.RefreshToken, Expires: expiryOf(id)}
	if made.Refresh == "" {
		made.Refresh = refresh
	}
	return l.set(a, &made)
}

// ErrNotRevoked says that a login was removed from this machine, and that its provider may still renew it.
var ErrNotRevoked = errors.New("the login was removed here, and not revoked at its OpenID provider")

// Logout removes a login from this machine, and revokes it at its provider if that has a way (RFC 7009). was reports whether there was one.
// Error: ErrNotRevoked.
func (l Logins) Logout(ctx context.Context, a Address) (was bool, err error) {
	all, err := l.read()
	if err != nil {
		return false, err
	}
	have, was := all[a]
	if !was {
		return false, nil
	}
	if err := l.set(a, nil); err != nil || have.Refresh == "" {
		return true, err
	}
	if err := have.revoke(ctx, have.Refresh); err != nil {
		return true, fmt.Errorf("%w: %w", ErrNotRevoked, err)
	}
	return true, nil
}

// revoke makes a refresh token void. A provider without a place for that revokes nothing.
func (p Provider) revoke(ctx context.Context, refresh string) error {
	client := newClient()
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, client), p.Issuer)
	if err != nil {
		return fmt.Errorf("OpenID provider %s: %w", p.Issuer, err)
	}
	var published struct {
		Revocation string `json:"revocation_endpoint"`
	}
	if err := found.Claims(&published); err != nil || published.Revocation == "" {
		return err
	}
	form := url.Values{"token": {refresh}, "token_type_hint": {"refresh_token"}, "client_id": {p.ClientID}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, published.Revocation, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("OpenID provider %s answers %s", p.Issuer, answer.Status)
	}
	return nil
}

// failure is an error of the provider without what the provider echoes of the request.
func failure(p Provider, err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		reason := refused.ErrorCode
		switch reason {
		case "":
			reason = "status " + refused.Response.Status
		case "invalid_client":
			reason += ": the provider does not let this client in without a secret. Ask the operator for an API token, and log in with --token"
		}
		return fmt.Errorf("OpenID provider %s refused the login: %s", p.Issuer, reason)
	}
	return fmt.Errorf("OpenID provider %s: %w", p.Issuer, err)
}

// errExpired says that a login is over.
var errExpired = fmt.Errorf("the login has expired; %w: run `thinkd remote login` again", ErrLogIn)

// renew gets another ID token.
func (l Logins) renew(ctx context.Context, a Address, have login) (login, error) {
	if have.Refresh == "" {
		return have, errExpired
	}
	ctx = oidc.ClientContext(ctx, newClient())
	config, err := have.config(ctx)
	if err != nil {
		return have, err
	}
	token, err := config.TokenSource(ctx, &oauth2.Token{RefreshToken: have.Refresh}).Token()
	if err != nil {
		return have, errors.Join(errExpired, failure(have.Provider, err))
	}
	if err := l.keep(a, have.Provider, token, have.Refresh); err != nil {
		return have, err
	}
	all, err := l.read()
	return all[a], err
}
