package cohere

import (
	"net/http"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// wireAPI is the name in [provider.Origin] and [provider.Error].
const wireAPI = "cohere"

// StripThinking is the repair of a request that leaves all earlier thinking out, tool plans included.
const StripThinking provider.Repair = "cohere/strip_thinking"

// API is Cohere's Chat at one address.
type API struct {
	caller exchange.Caller
}

var (
	_ provider.Provider   = (*API)(nil)
	_ provider.Converter  = (*API)(nil)
	_ provider.Returner   = (*API)(nil)
	_ provider.Lister     = (*API)(nil)
	_ provider.MediaTaker = (*API)(nil)
	_ provider.Outliner   = (*API)(nil)
)

// New makes the adapter; it does not call. The BaseURL has no version.
func New(cfg exchange.Config) *API {
	return &API{caller: exchange.NewCaller(wireAPI, cfg)}
}

func (a *API) header() http.Header { return a.caller.Header("") }
