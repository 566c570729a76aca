// Package responses speaks OpenAI's Responses API, and that of the hosts that took it over.
//
// What an answer holds are items. A part of an item (a paragraph of a summary, a piece of a message) is a block of its
// own; the last part carries the item as State, word for word as it came at its end, the parts before it carry their
// own JSON. On the next request the item goes back whole. Its encrypted content is good for the account and the host
// that made it, whatever the model, unless the [Host] says otherwise; from elsewhere thinking is left out and counted.
//
// A reasoning item and what follows it are a unit (docs: reasoning): the one goes back with the other. Where the
// reasoning cannot, what followed it goes without its id, which would ask for the reasoning.
//
// Nothing is stored at the vendor: each request carries the whole conversation, and asks for encrypted content.
//
// A reply is read tolerantly, and is whole only with its terminal event. Items are told apart by their output_index:
// one host gives an item another id in each event. When a reply breaks off, blocks that are open get no End from here.
//
// Facts are from the vendors' documentation; "docs: x" names a page of OpenAI's unless it says whose.
package responses

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// wireAPI is the name in [provider.Origin] and [provider.Error].
const wireAPI = "responses"

// API is the Responses API at one address with one key.
type API struct {
	host   Host
	plan   string // the account that the configuration names
	caller exchange.Caller
}

var (
	_ provider.Provider  = (*API)(nil)
	_ provider.Converter = (*API)(nil)
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

// Wire is the `reasoning` member of the body, `{}` where it is not sent, and of `input` the item that changed the effort
// to what it is now.
func (a *API) Wire(req *provider.Request) (json.RawMessage, error) {
	c, err := a.control(req)
	if err != nil {
		return nil, err
	}
	w := wire{control: c}
	if now := req.Decision.Control.Effort; a.inPlace(req) && req.Changed {
		w.Input = []configurationUpdate{effortChange(nearest(string(now), req))}
	}
	return exchange.Encode(w)
}

// Convert is what becomes of earlier thinking.
func (a *API) Convert(req *provider.Request) (provider.Conversion, error) {
	h := a.newHistory(req)
	err := h.messages()
	return h.count, err
}

// Stream makes the call. Notices on the request come before the first block. After an error or a cancel, blocks that
// were begun and not ended stay so.
func (a *API) Stream(ctx context.Context, req *provider.Request) iter.Seq2[provider.Event, error] {
	return a.caller.Stream(ctx, req, a.build)
}

func (a *API) address() string {
	address := a.caller.BaseURL + "/responses"
	if a.host.Version != "" {
		address += "?api-version=" + url.QueryEscape(a.host.Version)
	}
	return address
}
