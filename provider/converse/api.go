package converse

import (
	"net/http"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/aws"
	"github.com/thinkd/thinkd/provider/exchange"
)

// wireAPI is the name in [provider.Origin] and [provider.Error].
const wireAPI = "converse"

// Repairs of a request that a model refuses.
const (
	// StripThinking leaves all earlier reasoning out.
	StripThinking provider.Repair = "converse/strip_thinking"
	// NoSignature sends earlier reasoning as text alone. The model's id follows.
	NoSignature = "converse/no_signature@"
	// PlainNames sends names of tools without dashes, which some models refuse.
	PlainNames provider.Repair = "converse/plain_names"
	// Adaptive lets a model choose how much it thinks, since it takes no budget. The model's id follows.
	Adaptive = "converse/adaptive@"
	// Apart parts prompts from results of tools, which the model does not take in one turn. The model's id follows.
	Apart = "converse/apart@"
)

// API is Converse at one address.
type API struct {
	caller exchange.Caller
}

var (
	_ provider.Provider  = (*API)(nil)
	_ provider.Converter = (*API)(nil)
	_ provider.Returner  = (*API)(nil)
	_ provider.Lister    = (*API)(nil)
)

// New makes the adapter; it does not call. The BaseURL is that of [aws.Runtime], or of a gateway.
func New(cfg exchange.Config) *API {
	return &API{caller: exchange.NewCaller(wireAPI, cfg)}
}

func (a *API) address(model string) string {
	return a.caller.BaseURL + "/model/" + aws.Escape(model) + "/converse-stream"
}

func (a *API) header() http.Header {
	h := a.caller.Header("")
	h.Set("Accept", aws.EventStreamType)
	return h
}
