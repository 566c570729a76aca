package daemon

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/provider/vendors"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc"
	"github.com/thinkd/thinkd/session"
)

// loginFlow is the way to log in; nil: there is none.
func loginFlow(c *vendors.Login, providerID string, client *http.Client) login.Flow {
	switch {
	case c == nil:
		return nil
	case c.Kind == "copilot":
		return &login.Copilot{Provider: providerID, ClientID: c.ClientID, Editor: c.Editor, Address: c.Address, API: c.API, Client: client}
	}
	return &login.ChatGPT{Provider: providerID, ClientID: c.ClientID, Address: c.Address, Port: c.Port, Client: client}
}

// keySource tells what a provider is called with.
func keySource(c vendors.Config, keys *login.Keys, client *http.Client, log *slog.Logger) *login.Source {
	return login.NewSource(login.Config{Provider: c.ID, Env: c.Key, EnvVar: c.KeyEnv, Keys: keys, Flow: loginFlow(c.Login, c.ID, client), Log: log})
}

// with is the endpoint for calls with a credential. A place that the operator has named is not left for one that the
// credential names, nor are headers changed.
func (e endpoint) with(c login.Credential) endpoint {
	e.Key, e.account = c.Key, c.Account
	if v, _ := registry.VendorNamed(e.Vendor); c.BaseURL != "" && e.BaseURL == v.BaseURL {
		e.BaseURL = c.BaseURL
	}
	if len(c.Headers) > 0 {
		headers := maps.Clone(c.Headers)
		for name, value := range e.Headers {
			headers[http.CanonicalHeaderKey(name)] = value
		}
		e.Headers = headers
	}
	return e
}

// setKey keeps a key for a provider; the zero one removes what there is, a login too.
func (p *providers) setKey(id string, key provider.Secret) error {
	source := p.sources[id]
	if source == nil {
		return rpc.ErrNoKeyNeeded
	}
	return p.notKept(source.SetKey(key))
}

// notKept is ErrReadOnly, which clients know, for an error of the file of keys.
func (p *providers) notKept(err error) error {
	if errors.Is(err, login.ErrNotKept) {
		p.log.Error("keys cannot be written", "err", err)
		return session.ErrReadOnly
	}
	return err
}

// login leads the user of a connection through the login to a provider.
func (p *providers) login(ctx context.Context, id string, show func(rpc.LoginPrompt)) error {
	source := p.sources[id]
	if source == nil {
		return rpc.ErrNoKeyNeeded
	}
	return p.notKept(source.Login(ctx, func(said login.Prompt) { show(rpc.LoginPrompt(said)) }))
}

// payer is who pays for a provider's calls from now on; nil: that is not known.
func (p *providers) payer(id string) *session.Payer {
	i := slices.IndexFunc(p.list, func(c vendors.Config) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	c := p.list[i]
	source := p.sources[id]
	switch {
	case source == nil && (c.Local() || id == vendors.Simulator):
		return &session.Payer{Payer: provider.Payer{Kind: provider.PaidLocally, Name: id}}
	case source == nil: // it needs no key that thinkd knows of
		return nil
	}
	_, from := source.Status()
	account, _ := source.Owner()
	by := &session.Payer{Payer: provider.Payer{Kind: provider.PaidByKey, Name: c.KeyEnv}, Account: account}
	switch {
	case from == "":
		return nil
	case from == provider.KeyFromPerson:
		by.Name = "keys.json"
	}
	if c.Login != nil || strings.Contains(c.BaseURL, "/coding") { // a token of a subscription, wherever it is kept
		by.Kind, by.Name = provider.PaidByPlan, planName(c)
	}
	return by
}

// planName is what a vendor's subscription is called.
func planName(c vendors.Config) string {
	if v, ok := registry.VendorNamed(c.Vendor); ok {
		return v.Name
	}
	return c.ID
}
