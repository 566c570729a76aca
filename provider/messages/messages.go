// Package messages speaks Anthropic's Messages API, and that of the hosts that took it over.
//
// A block keeps the vendor's own JSON as its State wherever our kinds do not say all of it: always for thinking,
// redacted and unknown blocks, for text with citations, for tool calls with more than their name and input. On the next
// request it goes back as it came if the same vendor made it, whatever the model: the server judges which thinking a
// model can read (docs: preserved-thinking). Thinking that has no signature, comes from elsewhere, or would be the end of a
// message is left out and counted.
//
// A reply is read tolerantly: indexes that come twice or never began, deltas of another kind than their block, events
// and blocks that this build does not know break nothing and mix nothing; they are counted and logged at debug level.
// A reply is whole only with its message_stop. When it breaks off, blocks that are open get no End from here.
//
// Facts are from the vendor's documentation; "docs: x" names its page.
package messages

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/refusal"
)

// wireAPI is the name in [provider.Origin] and [provider.Error].
const wireAPI = "messages"

// Repairs of a history that the vendor refuses.
const (
	// DropBlock lets the server leave out thinking whose prefix is not as it was (docs: preserved-thinking).
	DropBlock provider.Repair = "messages/drop_block"
	// StripThinking leaves all earlier thinking out: dropping all of it is tolerated, editing is not.
	StripThinking provider.Repair = "messages/strip_thinking"
	// NoLongContext leaves out the beta of the long context, which some accounts do not have.
	NoLongContext provider.Repair = "messages/no_long_context"
	// PlainBlocks sends calls and text of the model's without members that only some hosts take.
	PlainBlocks provider.Repair = "messages/plain_blocks"
	// Adaptive is the beginning of a repair that lets a model choose how much it thinks, since it takes no budget; the
	// model's id follows.
	Adaptive = "messages/adaptive:"
)

// Config is where the API is and who calls.
type Config struct {
	Provider string // the configured provider's id
	Vendor   string // who makes the models: anthropic
	BaseURL  string // without /v1, as the vendor's own clients take it
	Host     Host
	Key      provider.Secret
	KeyVar   string // the environment variable that a missing key would be in, for the error
	Headers  map[string]string
	Cache    provider.CacheTime
	Context  json.RawMessage // sent word for word as context_management; nil: not sent
	Client   *http.Client    // nil: a new one
	Log      *slog.Logger    // nil: nothing is logged
}

// API is the Messages API at one address with one key.
type API struct {
	vendor string
	kind   Host
	caller exchange.Caller
	betas  []string // of the configured headers
	manage json.RawMessage
	cache  provider.CacheTime
}

var (
	_ provider.Provider  = (*API)(nil)
	_ provider.Converter = (*API)(nil)
	_ provider.Lister    = (*API)(nil)
)

// New makes the adapter; it does not call.
func New(cfg Config) *API {
	a := &API{
		vendor: cfg.Vendor,
		kind:   cfg.Host,
		caller: exchange.NewCaller(exchange.Caller{API: wireAPI, Provider: cfg.Provider, Base: cfg.BaseURL, Client: cfg.Client,
			Key: cfg.Key, KeyVar: cfg.KeyVar, Headers: map[string]string{}, Log: cfg.Log}),
		manage: cfg.Context, cache: cfg.Cache,
	}
	for name, value := range cfg.Headers {
		if strings.EqualFold(name, "anthropic-beta") { // one header holds them all
			a.betas = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
			continue
		}
		a.caller.Headers[name] = value
	}
	return a
}

// Wire is the `thinking` and `output_config` members of the body, `{}` where neither is sent, and of `messages` the one
// that changed the effort to what it is now.
func (a *API) Wire(req *provider.Request) (json.RawMessage, error) {
	c, err := a.control(req)
	if err != nil {
		return nil, err
	}
	w := wire{control: c}
	if now := req.Decision.Control.Effort; inPlace(req) && req.Changed {
		w.Messages = []message{effortChange(now)}
	}
	return exchange.Encode(w)
}

// Convert is what becomes of earlier thinking.
func (a *API) Convert(req *provider.Request) (provider.Conversion, error) {
	h := a.newHistory(req)
	_, err := h.messages(req.Messages)
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
	resp, err := a.caller.Post(ctx, a.caller.Base+"/v1/messages", call.header, call.body)
	if smaller := a.caller.Lower(err, req, call.limit); smaller != nil {
		first := call.limit
		if call, err = a.build(smaller); err != nil {
			return &provider.Error{API: wireAPI, Provider: a.caller.Provider, Kind: provider.KindBadRequest, Err: err}
		}
		call.notices = append(call.notices, a.caller.Lowered(req.Model.ID, first, call.limit))
		resp, err = a.caller.Post(ctx, a.caller.Base+"/v1/messages", call.header, call.body)
	}
	if err != nil {
		return repairable(err, call, req)
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

var extraMember = regexp.MustCompile(`\.(?:tool_use|text)\.\w+: Extra inputs are not permitted`)

func adaptive(m provider.Model) provider.Repair { return provider.Repair(Adaptive + m.ID) }

// longContext lists the betas of the long context among others.
func longContext(betas []string) []string {
	return slices.DeleteFunc(slices.Clone(betas), func(b string) bool { return !strings.HasPrefix(b, "context-1m") })
}

// leaves is the member of the body that a refused parameter is left out with; empty: it is not there, or is needed.
func (c *call) leaves(param string) string {
	if strings.HasPrefix(param, "clear_thinking") {
		param = "context_management"
	}
	if strings.HasPrefix(param, "output_config") {
		param = "output_config"
	}
	if strings.HasPrefix(param, "thinking") || param == "adaptive" {
		param = "thinking"
	}
	switch param {
	case "temperature", "top_p", "top_k", "thinking", "output_config", "context_management":
		if gjson.GetBytes(c.body, param).Exists() {
			return param
		}
	}
	return ""
}

// repairable names the repair that may help, unless it is in force already or the call had nothing to repair. The texts
// are matched on their code-like fragments only (docs: thinking-troubleshooting).
func repairable(err error, call *call, req *provider.Request) error {
	e, ok := err.(*provider.Error)
	if !ok || e.Status != http.StatusBadRequest && e.Status != http.StatusTooManyRequests {
		return err
	}
	says := func(fragment string) bool { return strings.Contains(e.Message, fragment) }
	bound := says("bound to a different conversation") || says("drop_block")
	edited := says("cannot be modified") || says("Invalid `signature`") || says("must be thinking or redacted_thinking") ||
		says("thinking.signature: Field required") || says("thinking.") && says("Extra inputs are not permitted") && e.Subject == provider.SubjectHistory
	switch {
	case call.changes > 0 && (says("output_config") || says(betaInPlace)):
		e.Repair = effortOnTop(req.Model)
	case len(longContext(call.betas)) > 0 && (says("long context") || says("extra usage")):
		e.Repair = NoLongContext
	case says(`"thinking.type.enabled" is not supported`) && call.budget:
		e.Repair = adaptive(req.Model)
	case says("cache_control") && !exchange.Withholds(req, wireAPI, "cache_control") && strings.Contains(string(call.body), `"cache_control"`):
		e.Repair = exchange.Without(wireAPI, "cache_control", req.Model.ID)
	case (e.Subject == provider.SubjectParameter) && call.leaves(e.Param) != "":
		e.Repair = exchange.Without(wireAPI, call.leaves(e.Param), req.Model.ID)
	case extraMember.MatchString(e.Message) && !slices.Contains(req.Repairs, PlainBlocks):
		e.Repair = PlainBlocks
	case refusal.Blind(e) && !slices.Contains(req.Repairs, exchange.NoMedia(wireAPI, req.Model.ID)):
		e.Repair = exchange.NoMedia(wireAPI, req.Model.ID)
	case slices.Contains(req.Repairs, StripThinking):
	case bound && call.adaptive && call.binding && !slices.Contains(req.Repairs, DropBlock):
		e.Repair = DropBlock
	case bound || edited:
		e.Repair = StripThinking
	}
	return e
}
