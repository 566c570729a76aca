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
	"log/slog"
	"net/http"
	"net/url"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// wireAPI is the name in [provider.Origin] and [provider.Error].
const wireAPI = "responses"

// Config is where the API is and who calls.
type Config struct {
	Provider string // the configured provider's id
	Vendor   string // who makes the models: openai
	BaseURL  string // with /v1, as the vendor's own clients take it
	Host     Host   // what is special about the host; the zero value is a plain one
	Key      provider.Secret
	KeyVar   string // the environment variable that a missing key would be in, for the error
	Account  string // the organisation or plan that the key is of; empty: the key stands for itself
	Headers  map[string]string
	Context  json.RawMessage // sent word for word as context_management; nil: not sent
	Client   *http.Client    // nil: a new one
	Log      *slog.Logger    // nil: nothing is logged
}

// API is the Responses API at one address with one key.
type API struct {
	vendor  string
	address string // of POST
	quirks  Host
	account string // of the origin: what encrypted content is bound to
	plan    string // Config.Account
	caller  exchange.Caller
	manage  json.RawMessage
}

var (
	_ provider.Provider  = (*API)(nil)
	_ provider.Converter = (*API)(nil)
	_ provider.Lister    = (*API)(nil)
)

// New makes the adapter; it does not call.
func New(cfg Config) *API {
	a := &API{
		vendor:  cfg.Vendor,
		quirks:  cfg.Host,
		account: cfg.Account,
		plan:    cfg.Account,
		caller: exchange.NewCaller(exchange.Caller{API: wireAPI, Provider: cfg.Provider, Base: cfg.BaseURL, Client: cfg.Client,
			Key: cfg.Key, KeyVar: cfg.KeyVar, Headers: cfg.Headers, Log: cfg.Log}),
		manage: cfg.Context,
	}
	if a.account == "" {
		a.account = cmp.Or(organization(cfg.Headers), cfg.Key.Account())
	}
	a.address = a.caller.Base + "/responses"
	if cfg.Host.Version != "" {
		a.address += "?api-version=" + url.QueryEscape(cfg.Host.Version)
	}
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
	return exchange.Exchange(ctx, req, func(ctx context.Context, t *exchange.Teller) error { return a.stream(ctx, req, t) })
}

func (a *API) stream(ctx context.Context, req *provider.Request, t *exchange.Teller) error {
	if err := a.caller.NoKey(); err != nil {
		return err
	}
	call, err := a.build(req)
	if err != nil {
		return &provider.Error{API: wireAPI, Provider: a.caller.Provider, Kind: provider.KindBadRequest, Err: err}
	}
	resp, err := a.caller.Post(ctx, a.address, call.header, call.body)
	if smaller := a.caller.Lower(err, req, call.limit); smaller != nil {
		first := call.limit
		if call, err = a.build(smaller); err != nil {
			return &provider.Error{API: wireAPI, Provider: a.caller.Provider, Kind: provider.KindBadRequest, Err: err}
		}
		call.notices = append(call.notices, a.caller.Lowered(req.Model.ID, first, call.limit))
		resp, err = a.caller.Post(ctx, a.address, call.header, call.body)
	}
	if err != nil {
		return refine(err, call)
	}
	defer resp.Body.Close()
	r := a.newReply(resp, call, t)
	form, body, err := a.caller.Answered(ctx, t, resp, call.notices, "text/event-stream")
	if err != nil {
		return err
	}
	if form == exchange.Whole {
		return r.whole(ctx, body)
	}
	return r.events(ctx, body)
}
