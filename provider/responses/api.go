package responses

import (
	"cmp"
	"net/http"
	"net/url"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// wireAPI is the name in [provider.Origin] and [provider.Error].
const wireAPI = "responses"

// Repairs of what the vendor refuses.
const (
	// DropReasoning is the beginning of a repair that leaves out the reasoning of the history so far, and takes the ids
	// off what followed it: "responses/drop_reasoning:" and a name for the last item that it concerns. What comes later
	// goes back as ever.
	DropReasoning = "responses/drop_reasoning:"
	// NoSummary asks for no summary: some organisations get none before they prove who they are.
	NoSummary provider.Repair = "responses/no_summary"
)

// API is the Responses API at one address with one key.
type API struct {
	host   Host
	plan   string // the account that the configuration names
	caller exchange.Caller
}

var (
	_ provider.Provider  = (*API)(nil)
	_ provider.Converter = (*API)(nil)
	_ provider.Returner  = (*API)(nil)
	_ provider.Lister    = (*API)(nil)
)

// New makes the adapter; it does not call. Encrypted content is bound to the account: the configured one, else the
// organization that the headers name, else the owner of the key.
func New(cfg exchange.Config, host Host) *API {
	a := &API{host: host, plan: cfg.Account}
	cfg.Account = cmp.Or(cfg.Account, organization(cfg.Headers))
	a.caller = exchange.NewCaller(wireAPI, cfg)
	return a
}

// organization is whom the configured headers call for.
func organization(headers map[string]string) string {
	for name, value := range headers {
		switch http.CanonicalHeaderKey(name) {
		case "Openai-Organization", "Chatgpt-Account-Id":
			return value
		}
	}
	return ""
}

func repairUpTo(item string) provider.Repair { return provider.Repair(DropReasoning + item) }

func (a *API) address() string {
	address := a.caller.BaseURL + "/responses"
	if a.host.Version != "" {
		address += "?api-version=" + url.QueryEscape(a.host.Version)
	}
	return address
}
