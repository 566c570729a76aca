// Package ollama speaks Ollama's native chat.
//
// Nothing in this API is signed: earlier thinking goes back as text, verbatim and on every message, and which of it the
// model sees is for the server's renderer to choose. Thinking of other vendors goes with it, where there is text of it,
// and is counted as converted; it is never folded into what was said (docs: thinking, tool-calling).
//
// The server drops the oldest messages without a word when a prompt does not fit, so it is told not to, and the size of
// the window is always the same: another one would load the model anew (docs: context-length).
//
// A model whose template cannot do without thinking leaks its tags into the text when thinking is off. They are looked
// for as long as no thinking comes by its own name. What turns out to have been thinking only at its closing tag was
// shown as text by then; from then on that model's text is known to begin with thinking.
//
// Facts are from the vendor's documentation and source; "docs: x" names the page.
package ollama

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/refusal"
)

// wireAPI is the name in [provider.Origin] and [provider.Error].
const wireAPI = "ollama"

// Config is where the API is and who calls.
type Config struct {
	Provider string // the configured provider's id
	Vendor   string // ollama
	BaseURL  string // bare; without a scheme it is http and the usual port, as OLLAMA_HOST may have it
	Key      provider.Secret
	KeyVar   string // the environment variable that a missing key would be in, for the error
	Headers  map[string]string
	Context  int          // tokens of the window to ask for; 0: 65,536, or what the model's row has if that is less
	Client   *http.Client // nil: a new one
	Log      *slog.Logger // nil: nothing is logged
}

// API is one Ollama, on this machine or in its cloud.
type API struct {
	vendor  string
	context int
	caller  exchange.Caller

	leakyMu sync.Mutex
	leaky   map[string]bool // models that begin with thinking though it is off
}

var (
	_ provider.Provider  = (*API)(nil)
	_ provider.Converter = (*API)(nil)
	_ provider.Lister    = (*API)(nil)
)

// New makes the adapter; it does not call.
func New(cfg Config) *API {
	return &API{
		vendor:  cfg.Vendor,
		context: cfg.Context,
		caller: exchange.NewCaller(exchange.Caller{API: wireAPI, Provider: cfg.Provider, Base: withPort(cfg.BaseURL), Client: cfg.Client,
			Key: cfg.Key, KeyVar: cfg.KeyVar, Headers: cfg.Headers, Log: cfg.Log}),
		leaky: map[string]bool{},
	}
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

// Wire is the `think` member of the body, `{}` where nothing is said about thinking.
func (a *API) Wire(req *provider.Request) (json.RawMessage, error) {
	t, _, err := think(req)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return json.RawMessage("{}"), nil
	}
	return exchange.Encode(map[string]any{"think": t})
}

// Convert is what becomes of earlier thinking.
func (a *API) Convert(req *provider.Request) (provider.Conversion, error) {
	h := newHistory(req)
	_, err := h.messages(req.System, req.Messages)
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
	resp, err := a.caller.Post(ctx, a.caller.Base+"/api/chat", a.header(), call.body)
	if err != nil {
		return understood(err, req)
	}
	defer resp.Body.Close()
	r := a.newReply(resp, call, t)
	form, body, err := a.caller.Answered(ctx, t, resp, call.notices, "application/x-ndjson")
	if err != nil {
		return err
	}
	r.wholly = form == exchange.Whole
	return understood(r.read(ctx, body), req)
}

// understood gives an error the meaning that its text has: this API tells by text alone, and the same failure by several
// statuses.
func understood(err error, req *provider.Request) error {
	e, ok := err.(*provider.Error)
	if !ok {
		return err
	}
	text := strings.ToLower(e.Message)
	switch {
	case e.Status < 400:
	case e.Param == "thinking" && len(req.Decision.Control.Mode) > 0 && !exchange.Withholds(req, wireAPI, "think"):
		e.Repair = exchange.Without(wireAPI, "think", req.Model.ID)
	case refusal.Blind(e) && !slices.Contains(req.Repairs, exchange.NoMedia(wireAPI, req.Model.ID)):
		e.Repair = exchange.NoMedia(wireAPI, req.Model.ID)
	case strings.Contains(text, "server busy"):
		e.Kind = provider.KindOverloaded
	case strings.Contains(text, "system memory"):
		e.Hint = provider.HintFinal // it will not fit the next time either
	}
	return e
}

func (a *API) header() http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/x-ndjson")
	h.Set("User-Agent", "thinkd")
	if key := a.caller.Key; !key.IsZero() {
		h.Set("Authorization", "Bearer "+key.Reveal())
	}
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
