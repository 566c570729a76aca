package daemon

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/chat"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/gemini"
	"github.com/thinkd/thinkd/provider/messages"
	"github.com/thinkd/thinkd/provider/ollama"
	"github.com/thinkd/thinkd/provider/responses"
)

// wireAPI makes adapters of an API.
type wireAPI struct {
	name      string
	open      func(e endpoint, dialect string) (provider.Provider, error)
	simulated func(dialect string) string // the path of the simulator's base URL
}

// apis has one for each of [vendors.APIs].
var apis = []wireAPI{
	{"messages", func(e endpoint, dialect string) (provider.Provider, error) {
		return messages.New(e.config("messages"), messages.HostNamed(dialect)), nil
	}, func(dialect string) string {
		if dialect == "copilot" { // it has ids and rules of its own
			return "/copilot"
		}
		return ""
	}},
	{"responses", func(e endpoint, dialect string) (provider.Provider, error) {
		return responses.New(e.config("responses"), responses.HostNamed(dialect)), nil
	}, always("/v1")},
	{"chat", openChat, func(dialect string) string { return "/" + cmp.Or(dialect, plainDialect) }},
	{"gemini", func(e endpoint, dialect string) (provider.Provider, error) {
		return gemini.New(e.config("gemini"), gemini.HostNamed(dialect)), nil
	}, always("")},
	{"ollama", func(e endpoint, _ string) (provider.Provider, error) {
		return ollama.New(e.config("ollama")), nil
	}, always("")},
}

func apiNamed(name string) (wireAPI, bool) {
	i := slices.IndexFunc(apis, func(a wireAPI) bool { return a.name == name })
	if i < 0 {
		return wireAPI{}, false
	}
	return apis[i], true
}

// plainDialect is that of a host of Chat Completions of which nothing is known.
const plainDialect = "generic"

func always(path string) func(string) string { return func(string) string { return path } }

// config is what every adapter needs to know of an endpoint.
func (e endpoint) config(api string) exchange.Config {
	return exchange.Config{Provider: e.ID, Vendor: e.Vendor, BaseURL: e.BaseURL, Key: e.Key, KeyVar: e.KeyEnv, Account: e.account,
		Headers: e.Headers, Cache: e.Cache, Context: e.contextFor(api), Window: e.NumCtx, Client: e.client, Log: e.log}
}

func openChat(e endpoint, dialect string) (provider.Provider, error) {
	d := e.own[dialect]
	if d == nil {
		var err error
		if d, err = chat.Named(cmp.Or(dialect, plainDialect)); err != nil {
			return nil, err
		}
	}
	return chat.New(e.config("chat"), d), nil
}

// contextFor is what goes to models that are spoken to in an API: of a provider with several, its usual one's alone.
func (e endpoint) contextFor(api string) json.RawMessage {
	if e.API != api {
		return nil
	}
	return e.Context
}
