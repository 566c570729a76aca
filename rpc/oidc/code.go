package oidc

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/auth"
)

// signInTime is how long a person may take at the provider.
const signInTime = 10 * time.Minute

// exchangeTime bounds a request for tokens. The listener gives an answer 10 s.
const exchangeTime = 8 * time.Second

var _ auth.SignInProvider = (*Tokens)(nil)

// Begin is that of [auth.SignInProvider].
func (t *Tokens) Begin(ctx context.Context, redirect string) (string, auth.Attempt, error) {
	c, of, err := t.codeFlow(ctx, redirect)
	if err != nil {
		return "", auth.Attempt{}, err
	}
	scopes, more := of.offline(t.config.Issuer)
	c.Scopes = append(c.Scopes, scopes...)
	a := auth.Attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Redirect: redirect, Until: t.now().Add(signInTime).UnixMilli()}
	return c.AuthCodeURL(a.State, append(more, oauth2.S256ChallengeOption(a.Verifier), oidc.Nonce(a.Nonce))...), a, nil
}

// Finish is that of [auth.SignInProvider].
func (t *Tokens) Finish(ctx context.Context, code string, a auth.Attempt) (auth.SignedIn, error) {
	answer, err := t.tokens(ctx, a.Redirect, func(ctx context.Context, c oauth2.Config) (*oauth2.Token, error) {
		return c.Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	})
	if err != nil {
		return auth.SignedIn{}, err
	}
	return t.signedIn(ctx, answer, a.Nonce)
}

// Refresh is that of [auth.SignInProvider].
func (t *Tokens) Refresh(ctx context.Context, refresh provider.Secret) (auth.SignedIn, error) {
	answer, err := t.tokens(ctx, "", func(ctx context.Context, c oauth2.Config) (*oauth2.Token, error) {
		return c.TokenSource(ctx, &oauth2.Token{RefreshToken: refresh.Reveal()}).Token()
	})
	if err != nil {
		return auth.SignedIn{}, err
	}
	s, err := t.signedIn(ctx, answer, "")
	if s.Refresh.IsZero() { // a provider that does not rotate it
		s.Refresh = refresh
	}
	return s, err
}

// Source is that of [auth.SignInProvider].
func (t *Tokens) Source() string {
	text, err := json.Marshal(t.config)
	if err != nil {
		panic(err) // strings
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// published is what the issuer's description has in addition to what the library reads.
type published struct {
	AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
	Scopes      []string `json:"scopes_supported"`
	Revocation  string   `json:"revocation_endpoint"`
	EndSession  string   `json:"end_session_endpoint"`
}

// codeFlow is the flow at the issuer's endpoints, which the first use asks for.
func (t *Tokens) codeFlow(ctx context.Context, redirect string) (c oauth2.Config, more published, err error) {
	p, _, err := t.describe(ctx)
	if err != nil {
		return c, more, err
	}
	if err := p.Claims(&more); err != nil {
		return c, more, fmt.Errorf("OpenID provider %s: its description: %w", t.config.Issuer, err)
	}
	at := p.Endpoint()
	if at.AuthURL == "" || at.TokenURL == "" {
		return c, more, fmt.Errorf("OpenID provider %s has no authorization code flow", t.config.Issuer)
	}
	return oauth2.Config{ClientID: t.config.Audience, ClientSecret: t.config.Secret.Reveal(), Endpoint: at, RedirectURL: redirect,
		Scopes: []string{oidc.ScopeOpenID, "profile", "email"}}, more, nil
}

// google is the issuer of Google's ID tokens.
const google = "https://accounts.google.com"

// offline asks for a token that renews a sign-in. A provider that does not list the scope may refuse it, as Google does, which has a parameter in
// its place, and gives the token only after the person has consented.
func (p published) offline(issuer string) (scopes []string, more []oauth2.AuthCodeOption) {
	if len(p.Scopes) == 0 || slices.Contains(p.Scopes, oidc.ScopeOfflineAccess) {
		return []string{oidc.ScopeOfflineAccess}, nil
	}
	more = append(more, oauth2.AccessTypeOffline)
	if issuer == google {
		more = append(more, oauth2.ApprovalForce)
	}
	return nil, more
}

// styles are the ways in which the client says who it is, the likely one first. Some providers take a secret in the header only, and others in
// the body only, as is set there for the client.
func (t *Tokens) styles(of published) []oauth2.AuthStyle {
	switch {
	case t.config.Secret.IsZero():
		return []oauth2.AuthStyle{oauth2.AuthStyleInParams}
	case len(of.AuthMethods) > 0 && !slices.Contains(of.AuthMethods, "client_secret_basic"):
		return []oauth2.AuthStyle{oauth2.AuthStyleInParams, oauth2.AuthStyleInHeader}
	}
	return []oauth2.AuthStyle{oauth2.AuthStyleInHeader, oauth2.AuthStyleInParams}
}

// tokens makes a request for tokens. A provider that does not recognize the client gets the request again in the next style: it has refused
// before it used the code or the refresh token up (RFC 6749, 5.2).
func (t *Tokens) tokens(ctx context.Context, redirect string, request func(context.Context, oauth2.Config) (*oauth2.Token, error)) (answer *oauth2.Token, err error) {
	c, of, err := t.codeFlow(ctx, redirect)
	if err != nil {
		return nil, err
	}
	ctx, stop := t.exchanging(ctx)
	defer stop()
	for _, c.Endpoint.AuthStyle = range t.styles(of) {
		if answer, err = request(ctx, c); !unknownClient(err) {
			break
		}
	}
	if err != nil {
		return nil, t.failure(err)
	}
	return answer, nil
}

// unknownClient reports whether a request failed because of the client's secret.
func unknownClient(err error) bool {
	answer, ok := errors.AsType[*oauth2.RetrieveError](err)
	return ok && answer.ErrorCode == "invalid_client"
}

// exchanging is the context of a request for tokens. It ends by itself only: an answer that is given up could have the only refresh token.
func (t *Tokens) exchanging(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(oidc.ClientContext(context.WithoutCancel(ctx), t.exchange), exchangeTime)
}

// signedIn checks the ID token of an answer. nonce "": it was not asked for with one.
func (t *Tokens) signedIn(ctx context.Context, answer *oauth2.Token, nonce string) (auth.SignedIn, error) {
	id, ok := answer.Extra("id_token").(string)
	if !ok || id == "" {
		return auth.SignedIn{}, refused(errors.New("the OpenID provider sent no ID token"))
	}
	if len(id) > maxToken {
		return auth.SignedIn{}, refused(fmt.Errorf("it has more than %d bytes", maxToken))
	}
	p, until, c, err := t.check(ctx, id)
	if err != nil {
		return auth.SignedIn{}, err
	}
	if got, err := c.text("nonce"); nonce != "" && (err != nil || got != nonce) {
		return auth.SignedIn{}, refused(errors.New("its nonce is not that of this sign-in"))
	}
	return auth.SignedIn{Principal: p, Until: until.Add(skew), Refresh: provider.NewSecret(answer.RefreshToken)}, nil
}

// failure is an error of a request for tokens, without what the provider echoes of the request.
func (t *Tokens) failure(err error) error {
	answer, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case !ok:
		return fmt.Errorf("OpenID provider %s: %w", t.config.Issuer, err)
	case unknownClient(err) && t.config.Secret.IsZero():
		return fmt.Errorf("OpenID provider %s refuses the client %s without a secret: set client_secret_file under [auth.oidc], or register a public client", t.config.Issuer, t.config.Audience)
	case unknownClient(err):
		return fmt.Errorf("OpenID provider %s refuses the client %s: the client secret under [auth.oidc] is wrong, or has expired", t.config.Issuer, t.config.Audience)
	case answer.ErrorCode == "" || answer.Response.StatusCode >= http.StatusInternalServerError:
		return fmt.Errorf("OpenID provider %s answers %s", t.config.Issuer, answer.Response.Status)
	}
	return &auth.Refusal{Status: http.StatusUnauthorized, Reason: fmt.Sprintf("the OpenID provider refuses the sign-in: %q", answer.ErrorCode)}
}
