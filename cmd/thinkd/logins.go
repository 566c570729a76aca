package main

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc"
	"github.com/thinkd/thinkd/session"
)

// keysName is the file of the data directory that keys and logins are kept in.
const keysName = "keys.json"

// openKeys reads the keys of a data directory.
func openKeys(dir string) (*login.Keys, error) { return login.OpenKeys(filepath.Join(dir, keysName)) }

// loginConfig is how one logs in to a provider.
type loginConfig struct {
	Kind     string // copilot or chatgpt
	ClientID string // of the application that one logs in to; empty: the operator has named none
	Editor   bool   // it is an editor's, whose tokens for Copilot are exchanged
	Address  string // of the login's server; empty: the vendor's
	API      string // of GitHub's API; empty: what belongs to Address
	Port     int    // that a browser comes back to; 0: the vendor's
}

// clientID is a word without anything that an address gives a meaning to.
var clientID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._-]*$`) })

// login is the one of a vendor, or of a provider of its models whose table says so: a gateway has none by itself.
func (src *source) login(key string, f *fileLogin, vendor string, own bool) (*loginConfig, error) {
	v, _ := registry.VendorNamed(vendor)
	if f == nil {
		if v.Login == "" || !own {
			return nil, nil
		}
		f = &fileLogin{}
	}
	switch {
	case v.Login == "":
		return nil, src.errorf(key+".login", "there is no login for this provider; it takes a key")
	case !clientID().MatchString(f.ClientID):
		return nil, src.errorf(key+".login.client_id", "wants the id of an application, not an address or a secret")
	case f.Port < 0 || f.Port > 65535:
		return nil, src.errorf(key+".login.port", "%d is not a port", f.Port)
	case v.Login != "copilot" && (f.Editor || f.API != ""):
		return nil, src.errorf(key+".login", "editor and api_address are for the login to GitHub")
	case v.Login != "chatgpt" && f.Port != 0:
		return nil, src.errorf(key+".login.port", "no browser comes back from this login")
	}
	for name, address := range map[string]string{"address": f.Address, "api_address": f.API} {
		if address == "" {
			continue
		}
		if problem := checkBaseURL(address, "chat"); problem != "" {
			return nil, src.errorf(key+".login."+name, "%s", problem)
		}
		if strings.HasPrefix(address, "http:") && !exchange.Local(address) {
			return nil, src.errorf(key+".login."+name, "is not encrypted: use https")
		}
	}
	return &loginConfig{v.Login, f.ClientID, f.Editor, f.Address, f.API, f.Port}, nil
}

// flow is the way to log in; nil: there is none.
func (c *loginConfig) flow(providerID string, client *http.Client) login.Flow {
	switch {
	case c == nil:
		return nil
	case c.Kind == "copilot":
		return &login.Copilot{Provider: providerID, ClientID: c.ClientID, Editor: c.Editor, Address: c.Address, API: c.API, Client: client}
	}
	return &login.ChatGPT{Provider: providerID, ClientID: c.ClientID, Address: c.Address, Port: c.Port, Client: client}
}

// needsKey reports whether calls are made with a key or a login.
func (c providerConfig) needsKey() bool { return c.KeyEnv != "" || c.Login != nil }

// source tells what a provider is called with.
func (c providerConfig) source(keys *login.Keys, client *http.Client, log *slog.Logger) *login.Source {
	return login.NewSource(login.Config{Provider: c.ID, Env: c.Key, EnvVar: c.KeyEnv, Keys: keys, Flow: c.Login.flow(c.ID, client), Log: log})
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
