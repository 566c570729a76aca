package vendors

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/aws"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/provider/quota"
	"github.com/thinkd/thinkd/registry"
)

// endpoint is a provider's address, as an adapter needs to know it.
type endpoint struct {
	Config
	own       Dialects
	account   string // of the key, where the vendor tells
	bearer    bool   // the key is a token
	simulated bool   // the simulator's: the address follows from API and dialect
	client    *http.Client
	meter     *quota.Meter
	log       *slog.Logger
	amazon    *aws.Credentials // nil: those of Config.Amazon are not used
}

// config is what the adapter of an API needs to know. A vendor's own management of contexts is for the usual API of a provider that has
// several.
func (e endpoint) config(api, dialect string) exchange.Config {
	c := exchange.Config{Provider: e.ID, Vendor: e.Vendor, BaseURL: e.BaseURL, Key: e.Key, Bearer: e.bearer, KeyVar: e.KeyEnv, Account: e.account,
		Headers: e.Headers, Cache: e.Cache, Extra: e.Extra, Window: e.NumCtx, Client: e.client, Quota: e.meter, Log: e.log}
	if e.API == api {
		c.Context = e.Context
	}
	if e.amazon != nil && e.Key.IsZero() {
		service := aws.ServiceBedrock
		if dialect == "mantle" {
			service = aws.ServiceMantle
		}
		c.Authorizer = aws.NewSigner(e.amazon, service)
	}
	return c
}

// open makes an adapter for each way in which the provider's models are spoken to.
func (e endpoint) open(catalog *registry.Catalog) (provider.Provider, error) {
	all := router{}
	add := func(way way) error {
		if all[way] != nil {
			return nil
		}
		api, ok := APINamed(way.api)
		if !ok {
			return fmt.Errorf("api %q is not served by this version", way.api)
		}
		at := e
		if e.simulated {
			at.BaseURL = "http://simulator" + api.Simulated(way.dialect)
		}
		adapter, err := api.New(at.config(way.api, way.dialect), way.dialect, e.own)
		all[way] = adapter
		return err
	}
	if err := add(way{e.API, e.Dialect}); err != nil {
		return nil, err
	}
	for _, m := range catalog.ModelsOf(e.ID) {
		if err := add(wayOf(m)); err != nil {
			return nil, err
		}
	}
	if v, _ := registry.VendorNamed(e.Vendor); e.API == v.API && e.Dialect == v.Dialect {
		for _, f := range v.Families {
			if err := add(way{f.API, f.Dialect}); err != nil {
				return nil, err
			}
		}
	}
	if e.BaseURL == "" && !e.simulated {
		return unusable{all, e.ID, noAddress(e.Config)}, nil
	}
	if len(all) == 1 {
		return all[way{e.API, e.Dialect}], nil
	}
	for own, adapter := range all {
		if l, ok := adapter.(ownLister); ok && l.ListsOwn() {
			return split{all, own, func(id string) way { return wayOf(catalog.Model(e.ID, id)) }}, nil
		}
	}
	return all, nil
}

func noAddress(c Config) string {
	if v, _ := registry.VendorNamed(c.ID); v.Identity == "google" {
		return "no project: set project under [providers." + c.ID + ".google] in the config, or GOOGLE_CLOUD_PROJECT"
	}
	if c.Vendor == Bedrock {
		return "no region: set region under [providers." + c.ID + "] in the config, or AWS_REGION"
	}
	advice := "no address: set base_url under [providers." + c.ID + "] in the config"
	if v, _ := registry.VendorNamed(c.ID); v.BaseURLEnv != "" {
		advice += ", or " + v.BaseURLEnv
	}
	return advice
}

// with is the endpoint for calls with a credential. A place that the operator has named is not left for one that the
// credential names, nor are headers changed.
func (e endpoint) with(c login.Credential) endpoint {
	e.Key, e.bearer, e.account = c.Key, c.Bearer, c.Account
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

// loginFlow is the way to log in; nil: there is none.
func loginFlow(c *Login, providerID string, client *http.Client) login.Flow {
	switch {
	case c == nil:
		return nil
	case c.Kind == "copilot":
		return &login.Copilot{Provider: providerID, ClientID: c.ClientID, Editor: c.Editor, Address: c.Address, API: c.API, Client: client}
	}
	return &login.ChatGPT{Provider: providerID, ClientID: c.ClientID, Address: c.Address, Port: c.Port, Client: client}
}

// keySource tells what a provider is called with.
func keySource(c Config, keys *login.Keys, client *http.Client, log *slog.Logger) *login.Source {
	own := login.Config{Provider: c.ID, Env: c.Key, EnvVar: c.KeyEnv, Keys: keys, Flow: loginFlow(c.Login, c.ID, client), Log: log}
	if c.Identity != nil {
		own.Identity = c.Identity.Open(c.ID, client)
	}
	return login.NewSource(own)
}
