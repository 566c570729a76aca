package oidc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/oauth2"

	"github.com/thinkd/thinkd/provider"
)

// SignOut is that of [auth.SignInProvider].
func (t *Tokens) SignOut(ctx context.Context, refresh provider.Secret, redirect string) (address string, err error) {
	_, of, err := t.codeFlow(ctx, "")
	if err != nil {
		return "", err
	}
	if of.EndSession != "" {
		if address, err = t.endOfSession(of.EndSession, redirect); err != nil {
			return "", err
		}
	}
	if of.Revocation == "" || refresh.IsZero() {
		return address, nil
	}
	return address, t.revoke(ctx, of, refresh)
}

// endOfSession is where a person logs out at the provider (OpenID Connect RP-Initiated Logout). There is no id_token_hint: it would put a token
// that lets its bearer in here into the history of the browser. So a provider may ask the person to confirm.
func (t *Tokens) endOfSession(endpoint, redirect string) (string, error) {
	at, err := url.Parse(endpoint)
	issuer, issuerErr := url.Parse(t.config.Issuer)
	if err = errors.Join(err, issuerErr); err != nil {
		return "", fmt.Errorf("OpenID provider %s: its end_session_endpoint: %w", t.config.Issuer, err)
	}
	if at.Host == "" || at.Scheme != "https" && at.Scheme != issuer.Scheme { // a browser is led there
		return "", fmt.Errorf("OpenID provider %s: its end_session_endpoint is not an encrypted address", t.config.Issuer)
	}
	query := at.Query()
	query.Set("client_id", t.config.Audience)
	query.Set("post_logout_redirect_uri", redirect)
	at.RawQuery = query.Encode()
	return at.String(), nil
}

// revoke makes a refresh token void (RFC 7009).
func (t *Tokens) revoke(ctx context.Context, of published, refresh provider.Secret) error {
	ctx, stop := t.exchanging(ctx)
	defer stop()
	styles := t.styles(of)
	for i, style := range styles {
		status, err := t.askToRevoke(ctx, of.Revocation, refresh, style == oauth2.AuthStyleInHeader)
		switch {
		case err != nil:
			return fmt.Errorf("OpenID provider %s: %w", t.config.Issuer, err)
		case status == http.StatusOK:
			return nil
		case i == len(styles)-1:
			return fmt.Errorf("OpenID provider %s does not revoke the refresh token: status %d", t.config.Issuer, status)
		}
	}
	return nil
}

// askToRevoke makes one request.
func (t *Tokens) askToRevoke(ctx context.Context, endpoint string, refresh provider.Secret, inHeader bool) (status int, err error) {
	form := url.Values{"token": {refresh.Reveal()}, "token_type_hint": {"refresh_token"}}
	if !inHeader {
		form.Set("client_id", t.config.Audience)
		if !t.config.Secret.IsZero() {
			form.Set("client_secret", t.config.Secret.Reveal())
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if inHeader { // RFC 6749, 2.3.1
		r.SetBasicAuth(url.QueryEscape(t.config.Audience), url.QueryEscape(t.config.Secret.Reveal()))
	}
	answer, err := t.exchange.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body) // bounded by the client; so the connection is used again
	return answer.StatusCode, err
}
