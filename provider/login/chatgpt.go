package login

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/loopback"
)

// ChatGPT is the login to a plan of OpenAI. The browser returns to an address on this machine, with a proof that it is the same
// login (RFC 7636, RFC 8252). The login yields a refresh token, which is replaced each time it is used. Calls use an access token,
// which names the account of the plan. An access token that the operator sets is used unchanged.
//
// There is no public contract. This code does what OpenAI's own client does, whose source is open (openai/codex: codex-rs/login).
type ChatGPT struct {
	Provider string
	ClientID string        // of the application; empty: there is no login
	Address  string        // of the login's server; empty: https://auth.openai.com
	Port     int           // of the address that the browser returns to; 0: 1455, which the vendor allows
	Wait     time.Duration // for a person to log in; 0: ten minutes
	Client   *http.Client
}

const (
	openAIAddress   = "https://auth.openai.com"
	returnPort      = 1455
	returnPath      = "/auth/callback"
	loginTime       = 10 * time.Minute // for a person to log in
	planRenewBefore = 5 * time.Minute
	planLife        = time.Hour // of an access token that does not state its end
)

func (c *ChatGPT) oauth() *oauth2.Config {
	address := strings.TrimRight(cmp.Or(c.Address, openAIAddress), "/")
	return &oauth2.Config{ClientID: c.ClientID, Scopes: []string{"openid", "profile", "email", "offline_access"},
		RedirectURL: fmt.Sprintf("http://localhost:%d%s", cmp.Or(c.Port, returnPort), returnPath),
		Endpoint: oauth2.Endpoint{AuthURL: address + "/oauth/authorize", TokenURL: address + "/oauth/token",
			AuthStyle: oauth2.AuthStyleInParams}}
}

// Login shows an address, and waits until the browser returns from there.
func (c *ChatGPT) Login(ctx context.Context, show func(Prompt)) (Grant, error) {
	if c.ClientID == "" {
		return Grant{}, noClient(c.Provider)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(c.Wait, loginTime), &provider.Error{API: "login", Provider: c.Provider, Kind: provider.KindAuth,
		Message: "the login was not completed in time"})
	defer cancel()
	port := cmp.Or(c.Port, returnPort)
	back, err := loopback.Listen(ctx, port, returnPath)
	if err != nil {
		return Grant{}, &provider.Error{API: "login", Provider: c.Provider, Kind: provider.KindTransport,
			Message: fmt.Sprintf("port %d of this machine, which the browser has to come back to, is taken: is another login under way?", port)}
	}
	conf, verifier, state := c.oauth(), oauth2.GenerateVerifier(), rand.Text()
	show(Prompt{Expires: cmp.Or(c.Wait, loginTime), URL: conf.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier),
		oauth2.SetAuthURLParam("id_token_add_organizations", "true"), oauth2.SetAuthURLParam("originator", "thinkd"))})
	query, err := back.Wait(ctx, state)
	var g Grant
	if err == nil {
		g, err = c.redeem(ctx, conf, query.Get("code"), verifier)
	}
	back.Close(err == nil)
	return g, err
}

func (c *ChatGPT) redeem(ctx context.Context, conf *oauth2.Config, code, verifier string) (Grant, error) {
	if code == "" {
		return Grant{}, &provider.Error{API: "login", Provider: c.Provider, Kind: provider.KindAuth, Message: "the login was declined"}
	}
	token, err := conf.Exchange(talk(ctx, c.Client), code, oauth2.VerifierOption(verifier))
	if err != nil {
		return Grant{}, failure(ctx, c.Provider, err, provider.NewSecret(code), provider.NewSecret(verifier))
	}
	account := accountOf(idToken(token))
	if account == "" {
		account = accountOf(token.AccessToken)
	}
	if token.RefreshToken == "" || account == "" {
		return Grant{}, &provider.Error{API: "login", Provider: c.Provider, Kind: provider.KindAuth,
			Message: "the login names no account with a plan, or gives nothing that lasts"}
	}
	return Grant{Token: provider.NewSecret(token.RefreshToken), Account: account, ByLogin: true}, nil
}

// Direct is an access token that the operator set.
func (c *ChatGPT) Direct(g Grant) (Credential, bool) {
	if g.ByLogin {
		return Credential{}, false
	}
	return Credential{Key: g.Token, Account: accountOf(g.Token.Reveal())}, true
}

// Exchange gets an access token, and a new refresh token instead of the one that it used.
func (c *ChatGPT) Exchange(ctx context.Context, g Grant) (Credential, Grant, error) {
	source := c.oauth().TokenSource(talk(ctx, c.Client), &oauth2.Token{RefreshToken: g.Token.Reveal()})
	token, err := source.Token()
	if err != nil {
		return Credential{}, g, failure(ctx, c.Provider, err, g.Token)
	}
	next := g
	next.Token = provider.NewSecret(token.RefreshToken) // the library returns the old one if there is no new one
	account := cmp.Or(accountOf(token.AccessToken), accountOf(idToken(token)), g.Account)
	next.Account = account
	cred := Credential{Key: next.Token.Passing(token.AccessToken), Account: account}
	life := planLife
	if !token.Expiry.IsZero() {
		life = time.Until(token.Expiry)
	}
	cred.lifetime(life-planRenewBefore, life)
	return cred, next, nil
}

func idToken(t *oauth2.Token) string {
	text, _ := t.Extra("id_token").(string)
	return text
}

// accountOf returns the account of the plan that a token names; empty: it names none. It does not check the signature: the token is
// from the vendor over an encrypted connection, or from the operator, and the vendor checks it with each call.
func accountOf(jwt string) string {
	parts := strings.Split(jwt, ".")
	if len(parts) != 3 {
		return ""
	}
	claims, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return ""
	}
	var said struct {
		Auth struct {
			Account string `json:"chatgpt_account_id"`
		} `json:"https://api.openai.com/auth"`
	}
	if json.Unmarshal(claims, &said) != nil {
		return ""
	}
	return clean(said.Auth.Account, 200, nil)
}
