package login

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/refusal"
)

// Copilot is the login to GitHub, with a code that a person enters on GitHub's page (RFC 8628). It exchanges GitHub's token for a
// token for Copilot. A GitHub token that the operator sets is used like that of a login.
//
// There is no public contract. The token of an OAuth application is used unchanged. That of an editor's GitHub App is exchanged for
// one that is valid for half an hour, names its API, and is bound to the editor's integration id.
// (microsoft/vscode-copilot-chat: src/platform/authentication, src/platform/networking)
type Copilot struct {
	Provider string
	ClientID string // of the application; empty: there is no login
	Editor   bool   // tokens are those of an editor, and are exchanged
	Address  string // of GitHub; empty: https://github.com
	API      string // of its API; empty: that of Address
	Client   *http.Client
}

const (
	githubAddress      = "https://github.com"
	editorIntegration  = "vscode-chat"
	codeLife           = 15 * time.Minute // GitHub's default
	longestCodeLife    = time.Hour
	copilotRenewBefore = time.Minute
)

func (c *Copilot) address() string { return strings.TrimRight(cmp.Or(c.Address, githubAddress), "/") }

// api returns the address of GitHub's API, for the public address or that of a tenant.
func (c *Copilot) api() string {
	if c.API != "" {
		return strings.TrimRight(c.API, "/")
	}
	u, err := url.Parse(c.address())
	if err != nil {
		return c.address()
	}
	u.Host = "api." + u.Host
	return u.String()
}

func (c *Copilot) oauth() *oauth2.Config {
	return &oauth2.Config{ClientID: c.ClientID, Scopes: []string{"read:user"}, Endpoint: oauth2.Endpoint{
		DeviceAuthURL: c.address() + "/login/device/code",
		TokenURL:      c.address() + "/login/oauth/access_token",
		AuthStyle:     oauth2.AuthStyleInParams,
	}}
}

// Login shows a code, and waits until a person has entered it or it expires.
func (c *Copilot) Login(ctx context.Context, show func(Prompt)) (Grant, error) {
	if c.ClientID == "" {
		return Grant{}, noClient(c.Provider)
	}
	conf := c.oauth()
	began := talk(ctx, c.Client)
	code, err := conf.DeviceAuth(began)
	if err != nil {
		return Grant{}, failure(ctx, c.Provider, err)
	}
	if code.DeviceCode == "" || code.UserCode == "" || !webAddress(code.VerificationURI) {
		return Grant{}, failure(ctx, c.Provider, errNoSense)
	}
	life := time.Until(code.Expiry)
	if code.Expiry.IsZero() {
		life = codeLife
	}
	life = min(life, longestCodeLife)
	code.Expiry = time.Now().Add(life)
	if code.Interval <= 0 { // below 0 the library panics
		code.Interval = 5
	}
	code.Interval = min(code.Interval, 60)
	secret := provider.NewSecret(code.DeviceCode)
	show(Prompt{URL: clean(code.VerificationURI, 500, nil), Code: clean(code.UserCode, 100, nil), Expires: life})
	for {
		token, err := conf.DeviceAccessToken(began, code)
		switch {
		case err == nil:
			return Grant{Token: provider.NewSecret(token.AccessToken), ByLogin: true}, nil
		case ctx.Err() != nil:
			return Grant{}, context.Cause(ctx)
		case !time.Now().Before(code.Expiry):
			return Grant{}, &provider.Error{API: "login", Provider: c.Provider, Kind: provider.KindAuth, Message: "the login was not completed in time"}
		}
		if said, ok := errors.AsType[*oauth2.RetrieveError](err); ok && said.Response.StatusCode < 500 {
			return Grant{}, failure(ctx, c.Provider, err, secret)
		}
		// The connection or the server failed. The person may still enter the code.
	}
}

// Direct is the GitHub token itself, unless it has to be exchanged.
func (c *Copilot) Direct(g Grant) (Credential, bool) { return Credential{Key: g.Token}, !c.Editor }

func (*Copilot) keepsGrant() {}

// Exchange gets a token for Copilot.
func (c *Copilot) Exchange(ctx context.Context, g Grant) (Credential, Grant, error) {
	caller := exchange.NewCaller("login", exchange.Config{Provider: c.Provider, Client: c.Client, Key: g.Token})
	header := http.Header{}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + g.Token.Reveal(), "Accept": "application/json", "User-Agent": "thinkd",
		"Editor-Version": "thinkd/1.0.0", "Editor-Plugin-Version": "thinkd/1.0.0", "X-GitHub-Api-Version": "2025-04-01",
	} {
		header.Set(name, value)
	}
	resp, err := caller.Get(ctx, c.api()+"/copilot_internal/v2/token", header)
	if err != nil {
		return Credential{}, g, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	if err != nil {
		return Credential{}, g, caller.Broken(ctx, resp, err)
	}
	var said struct {
		Token     string
		ExpiresAt float64 `json:"expires_at"` // seconds since 1970
		RefreshIn float64 `json:"refresh_in"` // seconds
		Endpoints struct{ API string }
	}
	if json.Unmarshal(text, &said) != nil || said.Token == "" {
		return Credential{}, g, caller.NoAnswer(resp, "the exchange gave no token")
	}
	cred := Credential{Key: g.Token.Passing(said.Token), BaseURL: strings.TrimRight(said.Endpoints.API, "/"),
		Headers: map[string]string{"Copilot-Integration-Id": editorIntegration}}
	if cred.BaseURL == "" {
		cred.BaseURL = proxyBase(said.Token)
	}
	if cred.BaseURL != "" && !webAddress(cred.BaseURL) {
		return Credential{}, g, caller.NoAnswer(resp, "the exchange gave no address for its token")
	}
	expires := seconds(said.ExpiresAt - float64(refusal.VendorTime(resp.Header).Unix()))
	renew := expires - copilotRenewBefore
	if in := seconds(said.RefreshIn); in > 0 {
		renew = min(renew, in)
	}
	cred.lifetime(renew, expires)
	return cred, g, nil
}

// proxyBase returns the address of the API. A token names the proxy of the same host.
func proxyBase(token string) string {
	for member := range strings.SplitSeq(token, ";") {
		if host, ok := strings.CutPrefix(member, "proxy-ep=proxy."); ok && host != "" {
			return "https://api." + host
		}
	}
	return ""
}

// seconds returns a duration of at most a day.
func seconds(n float64) time.Duration {
	if !(n > 0) {
		return 0
	}
	return time.Duration(min(n, 86_400) * float64(time.Second))
}

// webAddress reports whether an address from a server may be called or shown: it must be encrypted or on this machine.
func webAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && u.User == nil && (u.Scheme == "https" || u.Scheme == "http" && exchange.Local(text))
}

var errNoSense = errors.New("no sense")

// noClient explains how to configure an application for the login.
func noClient(providerID string) error {
	return &provider.Error{API: "login", Provider: providerID, Kind: provider.KindAuth,
		Message: "no application to log in to: set client_id under [providers." + providerID + ".login] in the config"}
}
