package ollama

import (
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// wireAPI is the name in [provider.Origin] and [provider.Error].
const wireAPI = "ollama"

// API is one Ollama, on this machine or in its cloud.
type API struct {
	caller exchange.Caller

	leakyMu sync.Mutex
	leaky   map[string]bool // models that begin with thinking though it is off
}

var (
	_ provider.Provider  = (*API)(nil)
	_ provider.Converter = (*API)(nil)
	_ provider.Returner  = (*API)(nil)
	_ provider.Lister    = (*API)(nil)
	_ provider.Unloader  = (*API)(nil)
)

// New makes the adapter; it does not call. A BaseURL without a scheme is http and has the usual port, as OLLAMA_HOST may have
// it.
func New(cfg exchange.Config) *API {
	cfg.BaseURL = withPort(cfg.BaseURL)
	return &API{caller: exchange.NewCaller(wireAPI, cfg), leaky: map[string]bool{}}
}

// withPort makes an address of one that is bare.
func withPort(base string) string {
	if strings.Contains(base, "://") {
		return base
	}
	base = "http://" + base
	if u, err := url.Parse(base); err == nil && u.Port() == "" {
		u.Host += ":11434"
		return u.String()
	}
	return base
}

func (a *API) header() http.Header {
	h := a.caller.Header("")
	h.Set("Accept", "application/x-ndjson")
	return h
}

// leaks remembers that a model begins with thinking though it is off.
func (a *API) leaks(model string) {
	a.leakyMu.Lock()
	defer a.leakyMu.Unlock()
	a.leaky[model] = true
}

// leaksNot forgets that.
func (a *API) leaksNot(model string) {
	a.leakyMu.Lock()
	defer a.leakyMu.Unlock()
	delete(a.leaky, model)
}

func (a *API) knownLeaky(model string) bool {
	a.leakyMu.Lock()
	defer a.leakyMu.Unlock()
	return a.leaky[model]
}
