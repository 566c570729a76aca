package daemon

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/chat"
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
	{"messages", openMessages, func(dialect string) string {
		if dialect == "copilot" { // it has ids and rules of its own
			return "/copilot"
		}
		return ""
	}},
	{"responses", openResponses, always("/v1")},
	{"chat", openChat, func(dialect string) string { return "/" + cmp.Or(dialect, plainDialect) }},
	{"gemini", openGemini, always("")},
	{"ollama", openOllama, always("")},
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

func openMessages(e endpoint, dialect string) (provider.Provider, error) {
	return messages.New(messages.Config{Provider: e.ID, Vendor: e.Vendor, BaseURL: e.BaseURL, Host: messages.HostNamed(dialect),
		Key: e.Key, KeyVar: e.KeyEnv, Headers: e.Headers, Cache: e.Cache, Context: e.contextFor("messages"), Client: e.client, Log: e.log}), nil
}

func openResponses(e endpoint, dialect string) (provider.Provider, error) {
	return responses.New(responses.Config{Provider: e.ID, Vendor: e.Vendor, BaseURL: e.BaseURL, Host: responses.HostNamed(dialect),
		Key: e.Key, KeyVar: e.KeyEnv, Account: e.account, Headers: e.Headers, Context: e.contextFor("responses"), Client: e.client, Log: e.log}), nil
}

func openChat(e endpoint, dialect string) (provider.Provider, error) {
	d := e.own[dialect]
	if d == nil {
		var err error
		if d, err = chat.Named(cmp.Or(dialect, plainDialect)); err != nil {
			return nil, err
		}
	}
	return chat.New(chat.Config{Provider: e.ID, Dialect: d, BaseURL: e.BaseURL, Key: e.Key, KeyVar: e.KeyEnv,
		Headers: e.Headers, Cache: e.Cache, Client: e.client, Log: e.log}), nil
}

func openGemini(e endpoint, dialect string) (provider.Provider, error) {
	return gemini.New(gemini.Config{Provider: e.ID, Vendor: e.Vendor, BaseURL: e.BaseURL, Cloud: dialect == "cloud", Key: e.Key,
		KeyVar: e.KeyEnv, Headers: e.Headers, Client: e.client, Log: e.log}), nil
}

func openOllama(e endpoint, _ string) (provider.Provider, error) {
	return ollama.New(ollama.Config{Provider: e.ID, Vendor: e.Vendor, BaseURL: e.BaseURL, Key: e.Key, KeyVar: e.KeyEnv,
		Headers: e.Headers, Context: e.NumCtx, Client: e.client, Log: e.log}), nil
}

// contextFor is what goes to models that are spoken to in an API: of a provider with several, its usual one's alone.
func (e endpoint) contextFor(api string) json.RawMessage {
	if e.API != api {
		return nil
	}
	return e.Context
}
