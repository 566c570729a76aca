package main

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/chat"
	"github.com/thinkd/thinkd/provider/gemini"
	"github.com/thinkd/thinkd/provider/messages"
	"github.com/thinkd/thinkd/provider/ollama"
	"github.com/thinkd/thinkd/provider/responses"
)

// wireAPI is an API that this build speaks.
type wireAPI struct {
	name     string
	dialects func() ([]string, error) // that it has records for
	open     func(e endpoint, dialect string) (provider.Provider, error)
	// The end of a base URL that is added for each call, and so has no place in one; empty: a base URL has it.
	added     string
	simulated func(dialect string) string // the path of the simulator's base URL
}

// apis lists them as the documentation does.
var apis = []wireAPI{
	{"messages", listed(messages.Hosts()...), openMessages, "/v1", func(dialect string) string {
		if dialect == "copilot" { // it has ids and rules of its own
			return "/copilot"
		}
		return ""
	}},
	{"responses", listed(responses.Hosts()...), openResponses, "", always("/v1")},
	{"chat", chat.Dialects, openChat, "", func(dialect string) string { return "/" + cmp.Or(dialect, plainDialect) }},
	{"gemini", listed("cloud", "gemini"), openGemini, "/v1beta", always("")},
	{"ollama", listed("ollama"), openOllama, "/api", always("")},
}

// ownDialects are those that the configuration states, by name. They are ways to speak Chat Completions.
type ownDialects map[string]*chat.Dialect

// plainDialect is that of a host of Chat Completions of which nothing is known.
const plainDialect = "generic"

func listed(words ...string) func() ([]string, error) {
	return func() ([]string, error) { return words, nil }
}

func always(path string) func(string) string { return func(string) string { return path } }

func apiNamed(name string) (wireAPI, bool) {
	i := slices.IndexFunc(apis, func(a wireAPI) bool { return a.name == name })
	if i < 0 {
		return wireAPI{}, false
	}
	return apis[i], true
}

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

// checkAPI says what is wrong with the name of an API.
func checkAPI(name string) string {
	var served []string
	for _, a := range apis {
		served = append(served, a.name)
	}
	list := strings.Join(served, ", ")
	switch {
	case slices.Contains(served, name):
		return ""
	case name == "":
		return "missing; this version serves " + list
	}
	return fmt.Sprintf("%q is no wire API; this version serves %s", name, list)
}

// checkDialect says what is wrong with the name of a dialect of an API.
func checkDialect(api, dialect string, own ownDialects) string {
	a, ok := apiNamed(api)
	if !ok || dialect == "" {
		return ""
	}
	known, err := a.dialects()
	if err != nil {
		return err.Error()
	}
	if api == "chat" {
		known = slices.Concat(known, slices.Sorted(maps.Keys(own)))
	}
	if slices.Contains(known, dialect) {
		return ""
	}
	return fmt.Sprintf("%q is not a dialect of %s in this version; known: %s", dialect, api, strings.Join(known, ", "))
}

// ollamaAddress is what OLLAMA_HOST says as a base URL: it may lack the scheme, the port or the host, and it may name
// all of a machine's interfaces, which is where a server listens and no address to call (docs: faq).
func ollamaAddress(host string) string {
	if host == "" {
		return ""
	}
	scheme, rest, ok := strings.Cut(host, "://")
	if !ok {
		scheme, rest = "http", host
	}
	rest, path, _ := strings.Cut(rest, "/")
	name, port, err := net.SplitHostPort(rest)
	if err != nil {
		name, port = strings.Trim(rest, "[]"), "11434"
		if ok {
			port = map[string]string{"http": "80", "https": "443"}[scheme]
		}
	}
	if ip := net.ParseIP(name); name == "" || ip != nil && ip.IsUnspecified() {
		name = "127.0.0.1"
	}
	return strings.TrimRight(scheme+"://"+net.JoinHostPort(name, port)+"/"+path, "/")
}

// ollamaContext is the window that OLLAMA_CONTEXT_LENGTH names, with which a server loads its models; 0: none. What is no
// number is ignored, as the server does (docs: context-length).
func ollamaContext(getenv func(string) string) int {
	n, err := strconv.Atoi(strings.TrimSpace(getenv("OLLAMA_CONTEXT_LENGTH")))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// azureAddress is what AZURE_OPENAI_ENDPOINT says as a base URL: the vendor's own clients take a resource's address, to
// which the path of the v1 API belongs (Azure docs: api-version-lifecycle).
func azureAddress(endpoint string) string {
	endpoint = strings.TrimRight(endpoint, "/")
	if endpoint == "" || strings.HasSuffix(endpoint, "/openai/v1") {
		return endpoint
	}
	return endpoint + "/openai/v1"
}
