package mcplogin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/thinkd/thinkd/agent/tool/mcphttp"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/provider/loopback"
)

// Config is the settings of a [Login].
type Config struct {
	Server   string // its name in the config, or its address if a client named it
	URL      string
	ClientID string // of a client that the operator has registered; empty: the client registers itself
	Keys     *login.Keys
	Wait     time.Duration     // for a person to log in; 0: ten minutes
	Client   http.RoundTripper // nil: that of mcphttp.New
}

const (
	loginTime  = 10 * time.Minute
	answerTime = 20 * time.Second // for an answer of the server and of its authorization server
	returnPath = "/callback"
	early      = 30 * time.Second // before its end, a token is renewed
)

// Prefix begins the id of a server among the logins of the daemon.
const Prefix = "mcp:"

// Login is the login to one server. It implements [auth.OAuthHandler].
type Login struct {
	config Config

	renewing sync.Mutex // a refresh token may be valid once

	mu      sync.Mutex
	needed  bool // the server has demanded a login
	refused bool // the server or its authorization server did not take the tokens
}

// New returns the login to a server. It contacts nobody.
func New(c Config) *Login {
	if c.Client == nil {
		c.Client = mcphttp.New()
	}
	return &Login{config: c}
}

// ID is the id of the login among those of the daemon.
func (l *Login) ID() string { return Prefix + l.config.Server }

// Address is that of the server.
func (l *Login) Address() string { return l.config.URL }

// State says whether there is a login, as far as that is known. A server that was not contacted yet may need one.
func (l *Login) State() provider.KeyState {
	_, ok, err := l.stored()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.refused || err != nil:
		return provider.KeyRefused
	case ok:
		return provider.KeyReady
	case l.needed:
		return provider.KeyMissing
	}
	return provider.KeyNotNeeded
}

// stored is the login for the address of the config.
func (l *Login) stored() (t tokens, ok bool, err error) {
	g := l.config.Keys.Grant(l.ID())
	if g.IsZero() || !g.ByLogin || g.Account != l.config.URL {
		return t, false, nil
	}
	t, err = tokensOf(g)
	return t, err == nil && t.Server == l.config.URL, err
}

// NeededError says that somebody has to log in.
type NeededError struct{ ID, Why string }

func (e *NeededError) Error() string {
	return fmt.Sprintf("%s; run `thinkd auth login %s`", e.Why, e.ID)
}

func (l *Login) need(refused bool, why string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.needed, l.refused = true, l.refused || refused
	return &NeededError{l.ID(), why}
}

// Authorize is called with an answer 401 or 403 of the server. It starts no login, because a person has to agree to that.
func (l *Login) Authorize(_ context.Context, _ *http.Request, resp *http.Response) error {
	resp.Body.Close()
	_, has, err := l.stored()
	switch {
	case err != nil:
		return l.need(true, err.Error())
	case resp.StatusCode == http.StatusForbidden && has:
		return l.need(false, "the server demands more rights than the login has")
	case resp.StatusCode == http.StatusForbidden:
		return l.need(false, "the server refuses access")
	case has:
		return l.need(true, "the server does not take the login any more")
	}
	return l.need(false, "the server demands a login")
}

// TokenSource is nil if there is no login. A token is renewed before its end, with ctx.
func (l *Login) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	_, ok, err := l.stored()
	if err != nil {
		return nil, l.need(true, err.Error())
	}
	if !ok {
		return nil, nil
	}
	return source{ctx, l}, nil
}

type source struct {
	ctx context.Context
	*Login
}

// Token is the access token, a new one if the old one is about to expire.
func (s source) Token() (*oauth2.Token, error) {
	s.renewing.Lock()
	defer s.renewing.Unlock()
	t, ok, err := s.stored()
	switch {
	case err != nil:
		return nil, s.need(true, err.Error())
	case !ok:
		return nil, s.need(false, "the login was removed")
	case t.Expiry.IsZero() || time.Until(t.Expiry) > early:
		return t.token(), nil
	case t.Refresh == "":
		return nil, s.need(true, "the login has expired")
	}
	old, err := t.grant()
	if err != nil {
		return nil, err
	}
	next, err := s.config.Keys.Renew(s.ctx, s.ID(), old, func(ctx context.Context) (login.Grant, error) { return s.renew(ctx, t) })
	switch {
	case errors.Is(err, login.ErrUsedUp):
		return nil, s.need(true, "the login cannot be renewed: "+err.Error())
	case err != nil && !errors.Is(err, login.ErrNotKept): // after that it is in memory all the same
		return nil, err
	case next.IsZero():
		return nil, s.need(false, "the login was removed")
	}
	if t, err = tokensOf(next); err != nil {
		return nil, s.need(true, err.Error())
	}
	return t.token(), nil
}

// renew gets the tokens that replace those of a login.
func (s source) renew(ctx context.Context, t tokens) (g login.Grant, err error) {
	conf := &oauth2.Config{ClientID: t.ClientID, ClientSecret: t.Secret, Endpoint: oauth2.Endpoint{TokenURL: t.URL, AuthStyle: t.Style}}
	client := s.client()
	client.Transport = forResource{t.Resource, client.Transport}
	fresh, err := conf.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, client), &oauth2.Token{RefreshToken: t.Refresh}).Token()
	if err != nil {
		if code, refused := refusal(err); refused {
			return g, s.need(true, "the login cannot be renewed"+code)
		}
		if private, ok := errors.AsType[*mcphttp.PrivateError](err); ok {
			return g, fmt.Errorf("the login cannot be renewed: %w", private)
		}
		return g, errors.New("the login cannot be renewed: the authorization server cannot be reached")
	}
	return t.with(fresh).grant()
}

// refusal reports whether the authorization server has answered with an error, and its code in parentheses.
func refusal(err error) (code string, refused bool) {
	e, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok || e.Response == nil || e.Response.StatusCode >= http.StatusInternalServerError {
		return "", false
	}
	if word := e.ErrorCode; word != "" && len(word) < 60 && strings.IndexFunc(word, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) < 0 {
		return " (" + word + ")", true
	}
	return "", true
}

func (l *Login) client() *http.Client {
	return &http.Client{Transport: l.config.Client, Timeout: answerTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Login leads a person through the login: show gets the address for the browser. It ends with ctx at the latest. Errors are for people,
// and have no secrets.
func (l *Login) Login(ctx context.Context, show func(login.Prompt)) error {
	wait := cmp.Or(l.config.Wait, loginTime)
	ctx, cancel := context.WithTimeoutCause(ctx, wait, l.failure("the login was not completed in time"))
	defer cancel()
	req, resp, err := l.challenge(ctx)
	if err != nil {
		return err
	}
	back, err := loopback.Listen(ctx, 0, returnPath)
	if err != nil {
		resp.Body.Close()
		return l.failure("no port of this machine is free for the browser to return to")
	}
	err = l.authorize(ctx, back, wait, show, req, resp)
	back.Close(err == nil)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// challenge asks the server for anything, so that it says who authorizes.
func (l *Login) challenge(ctx context.Context) (*http.Request, *http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.config.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		return nil, nil, l.failure("the address of the server is invalid")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := l.client().Do(req)
	if private, ok := errors.AsType[*mcphttp.PrivateError](err); ok {
		return nil, nil, l.failure(private.Error())
	}
	if err != nil {
		return nil, nil, l.failure("the server cannot be reached")
	}
	if resp.StatusCode != http.StatusUnauthorized {
		resp.Body.Close()
		return nil, nil, l.failure(fmt.Sprintf("the server demands no login: it answered with status %d", resp.StatusCode))
	}
	return req, resp, nil
}

func (l *Login) authorize(ctx context.Context, back *loopback.Return, wait time.Duration, show func(login.Prompt), req *http.Request, resp *http.Response) error {
	redirect := fmt.Sprintf("http://127.0.0.1:%d%s", back.Port(), returnPath)
	resource := l.config.URL
	client := l.client()
	refused := &refusals{next: client.Transport}
	client.Transport = refused
	c := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect, RequestRefreshToken: true, AcceptUnadvertisedIss: true, Client: client,
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "thinkd", RedirectURIs: []string{redirect}, GrantTypes: []string{"authorization_code", "refresh_token"},
			ResponseTypes: []string{"code"}, TokenEndpointAuthMethod: "none"}},
		AuthorizationCodeFetcher: func(ctx context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			address, err := url.Parse(a.URL)
			if err != nil || address.Scheme != "https" && !(address.Scheme == "http" && local(address.Hostname())) {
				return nil, l.failure("the server names an address for the login that is not https")
			}
			resource = cmp.Or(address.Query().Get("resource"), resource)
			state := address.Query().Get("state")
			show(login.Prompt{URL: a.URL, Expires: wait})
			query, err := back.Wait(ctx, state)
			if err != nil {
				return nil, err
			}
			if query.Get("code") == "" {
				return nil, l.failure("the login was declined")
			}
			return &auth.AuthorizationResult{Code: query.Get("code"), State: query.Get("state"), Iss: query.Get("iss")}, nil
		},
		NewTokenSource: func(_ context.Context, conf *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
			t := tokens{Server: l.config.URL, Resource: resource, ClientID: conf.ClientID, Secret: conf.ClientSecret, URL: conf.Endpoint.TokenURL,
				Style: conf.Endpoint.AuthStyle}.with(token)
			g, err := t.grant()
			if err == nil {
				err = l.config.Keys.Set(l.ID(), g)
			}
			return oauth2.StaticTokenSource(token), err
		},
	}
	if l.config.ClientID != "" {
		c.DynamicClientRegistrationConfig = nil
		c.PreregisteredClient = &oauthex.ClientCredentials{ClientID: l.config.ClientID}
	}
	handler, err := auth.NewAuthorizationCodeHandler(c)
	if err != nil {
		return err
	}
	if err := handler.Authorize(ctx, req, resp); err != nil {
		if private := refused.last.Load(); private != nil {
			return l.failure(private.Error())
		}
		return l.explain(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.needed, l.refused = false, false
	return nil
}

// refusals remembers the connections that were refused. The library tries further addresses after one, and its errors lose their types.
type refusals struct {
	next http.RoundTripper
	last atomic.Pointer[mcphttp.PrivateError]
}

func (r *refusals) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(req)
	if private, ok := errors.AsType[*mcphttp.PrivateError](err); ok {
		r.last.Store(private)
	}
	return resp, err
}

// local reports whether a host is this machine.
func local(host string) bool { return host == "127.0.0.1" || host == "::1" || host == "localhost" }

// explain keeps errors of this package and of the keys. Of the library's errors it keeps the step that failed: they can quote answers,
// which can have tokens.
func (l *Login) explain(err error) error {
	if _, ours := errors.AsType[*provider.Error](err); ours || errors.Is(err, login.ErrNotKept) {
		return err
	}
	if code, refused := refusal(err); refused {
		return l.failure("the authorization server refuses the login" + code)
	}
	const register = "the authorization server does not register clients on demand: register one there, and set oauth_client_id"
	for _, step := range []struct{ part, why string }{
		{"failed to register client", register},
		{"no configured client", register},
		{"protected resource", "the server does not say who authorizes: its metadata is missing or invalid"},
		{"authorization server", "the authorization server cannot be used: its metadata is missing or invalid"},
		{"issuer", "the answer comes from another authorization server than the one that was asked"},
	} {
		if strings.Contains(err.Error(), step.part) {
			return l.failure(step.why)
		}
	}
	return l.failure("the login failed")
}

func (l *Login) failure(text string) error {
	return &provider.Error{API: "login", Provider: l.ID(), Kind: provider.KindAuth, Message: text}
}

// Logout removes the login. Errors are those of [login.Keys.Set].
func (l *Login) Logout() error {
	l.mu.Lock()
	l.refused = false
	l.mu.Unlock()
	return l.config.Keys.Set(l.ID(), login.Grant{})
}
