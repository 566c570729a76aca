package exchange

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/quota"
	"github.com/thinkd/thinkd/provider/refusal"
	"github.com/thinkd/thinkd/provider/transport"
)

// NewClient makes the HTTP client of model APIs on rt; nil is a transport of its own. There is no limit on how long an
// answer takes: the reader of the answer decides what is too long.
func NewClient(rt http.RoundTripper) *http.Client {
	if rt == nil {
		rt, _ = transport.New(transport.Settings{}) // which has no setting that could be wrong
	}
	return &http.Client{Transport: rt}
}

// Config is where a wire API is, and who calls it. An API ignores the members that it has no use for.
type Config struct {
	Provider string // the configured provider's id, which errors name
	Vendor   string // who makes the models
	BaseURL  string // as the vendor's own clients take it
	Key      provider.Secret
	KeyVar   string             // the environment variable that the key would be in, for the error of a call without one
	Bearer   bool               // Key is a token that goes as a bearer token, whatever header the API has for keys
	Account  string             // the organization or plan of the key; empty: the key stands for itself
	Headers  map[string]string  // sent with each call; they replace those of the adapter
	Cache    provider.CacheTime // for vendors whose prompt cache has marks
	Context  json.RawMessage    // sent word for word as context_management; nil: not sent
	Extra    json.RawMessage    // a JSON object that is merged into the body of each call, see [Merge]; nil: nothing
	Window   int                // tokens of the window that a server is asked for; 0: as the adapter does
	Client   *http.Client       // nil: a new one
	Quota    *quota.Meter       // takes in the limits that answers name; nil: nobody wants to know
	Log      *slog.Logger       // nil: nothing is logged

	Authorizer Authorizer // nil: Key and Headers are all that a call needs
}

// Caller makes the calls of one adapter to one address. Each error is a [*provider.Error] that names the provider and the
// request id and holds neither the key nor a value of Headers, or the context's cause. It is safe for concurrent use.
type Caller struct {
	Config
	API     string // the name in [provider.Origin] and [provider.Error]
	Host    string // that of BaseURL; empty if BaseURL cannot be read
	Keyless bool   // no call needs a key

	limits *limits
}

// NewCaller fills in what follows from the rest. If the BaseURL cannot be read, calls to it fail.
func NewCaller(api string, cfg Config) Caller {
	c := Caller{Config: cfg, API: api, limits: &limits{}}
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	if u, err := url.Parse(c.BaseURL); err == nil {
		c.Host = u.Host
	}
	c.Account = cmp.Or(c.Account, c.Key.Account())
	if c.Client == nil {
		c.Client = NewClient(nil)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Header is that of a call with a JSON body whose answer is a stream of events. The key is in keyHeader as it is; if keyHeader is
// empty, or Bearer is set, it is a bearer token. It is never in an address, because addresses are logged.
func (c *Caller) Header(keyHeader string) http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "text/event-stream")
	h.Set("User-Agent", "thinkd")
	switch {
	case c.Key.IsZero() || c.Keyless:
	case keyHeader != "" && !c.Bearer:
		h.Set(keyHeader, c.Key.Reveal())
	default:
		h.Set("Authorization", "Bearer "+c.Key.Reveal())
	}
	return h
}

// Origin is that of blocks which a model writes here.
func (c *Caller) Origin(model string) provider.Origin {
	return provider.Origin{API: c.API, Vendor: c.Vendor, Host: c.Host, Account: c.Account, Model: model}
}

// Post sends body and returns an answer with a status of 2xx, whose body the caller closes. Redirects are not followed,
// whatever the client says: net/http would take a key in a header of its own name to any host.
func (c *Caller) Post(ctx context.Context, address string, header http.Header, body []byte) (*http.Response, error) {
	return c.send(ctx, http.MethodPost, address, header, body)
}

// Get asks for what an address has, by the rules of Post.
func (c *Caller) Get(ctx context.Context, address string, header http.Header) (*http.Response, error) {
	return c.send(ctx, http.MethodGet, address, header, nil)
}

// send makes a request, and once more if its credentials were refused and there are others.
func (c *Caller) send(ctx context.Context, method, address string, header http.Header, body []byte) (*http.Response, error) {
	resp, err := c.try(ctx, method, address, header.Clone(), body)
	if c.renewed(err) {
		return c.try(ctx, method, address, header, body)
	}
	return resp, err
}

func (c *Caller) try(ctx context.Context, method, address string, header http.Header, body []byte) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, content)
	if err != nil {
		return nil, c.fault(provider.KindBadRequest, "", err)
	}
	req.Header = header
	req.Header.Set("Accept-Encoding", "identity") // also keeps a foreign transport from inflating by itself
	for name, value := range c.Headers {
		req.Header.Set(name, value)
	}
	if err := c.authorize(ctx, req, body); err != nil {
		return nil, err
	}
	client := *c.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		return nil, c.Broken(ctx, nil, err)
	}
	c.Quota.Note(c.Account, resp.Header)
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if encoded(resp) != "" {
		data = nil
	}
	return nil, c.Refusal(resp.StatusCode, resp.Header, data)
}

// authorize adds the credentials to a request, if the caller has an Authorizer.
func (c *Caller) authorize(ctx context.Context, req *http.Request, body []byte) error {
	if c.Authorizer == nil {
		return nil
	}
	asking, done := untraced(ctx)
	defer done()
	err := c.Authorizer.Authorize(asking, req, body)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	if e, ok := errors.AsType[*provider.Error](err); ok {
		return e
	}
	return c.fault(provider.KindAuth, "no credentials", err)
}

// untraced returns a context for requests to those who issue credentials. It ends with ctx, for the same cause, and has none of its values: a
// trace of the call is about the connection to the model's host alone.
func untraced(ctx context.Context) (own context.Context, done func()) {
	own, cancel := context.WithCancelCause(context.Background())
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	return own, func() {
		stop()
		cancel(nil)
	}
}

// renewed reports whether a request that was refused should be sent once more, with other credentials.
func (c *Caller) renewed(err error) bool {
	e, ok := errors.AsType[*provider.Error](err)
	return ok && c.Authorizer != nil && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden) && c.Authorizer.Refused(e)
}

// NoAnswer is the error for a 2xx answer that is none.
func (c *Caller) NoAnswer(resp *http.Response, text string) *provider.Error {
	return &provider.Error{API: c.API, Provider: c.Provider, Kind: provider.KindBadRequest, Status: resp.StatusCode,
		RequestID: c.RequestID(resp.Header), Message: c.scrub(text)}
}

// Broken is the error for an exchange that broke: the context's cause if that ended it. resp is nil if no answer came.
func (c *Caller) Broken(ctx context.Context, resp *http.Response, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // the address is the operator's own, and may hold what nobody else should see
	}
	if resp != nil {
		err = &brokenOff{err}
	}
	e := c.fault(provider.KindTransport, "", err)
	switch _, untrusted := errors.AsType[*tls.CertificateVerificationError](err); {
	case errors.Is(err, transport.ErrProxyLogin):
		e.Hint = provider.HintFinal
	case untrusted: // it may pass: the page of a hotel's network that wants a click has another certificate as well
		e.Message = "the server's certificate is not trusted; if a proxy inspects connections, set ca_file to the certificate of its authority"
	}
	if resp != nil {
		e.Status, e.RequestID = resp.StatusCode, c.RequestID(resp.Header)
	}
	return e
}

// brokenOff is the cause of an answer that began and has no end.
type brokenOff struct{ err error }

func (e *brokenOff) Error() string {
	if e.err == io.ErrUnexpectedEOF {
		return "the provider ended the answer early"
	}
	return "the answer broke off: " + e.err.Error()
}

func (e *brokenOff) Unwrap() error { return e.err }

// fault is an error without an answer. An error that would print a secret is replaced by its scrubbed text.
func (c *Caller) fault(kind provider.Kind, text string, err error) *provider.Error {
	if err != nil && c.scrub(err.Error()) != err.Error() {
		err = errors.New(c.scrub(err.Error()))
	}
	return &provider.Error{API: c.API, Provider: c.Provider, Kind: kind, Message: text, Err: err}
}

// NoKey is the error of a call that needs a key and has none. A call to an address on this machine or its network needs
// none, and a configured header can take the key's place.
func (c *Caller) NoKey() error {
	if c.Keyless || !c.Key.IsZero() || c.Authorizer != nil || Local(c.BaseURL) {
		return nil
	}
	for name := range c.Headers {
		switch http.CanonicalHeaderKey(name) {
		case "Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key":
			return nil
		}
	}
	text := "no API key: run `thinkd auth set " + c.Provider + "`"
	if c.KeyVar != "" {
		text += ", or set " + c.KeyVar
	}
	return c.fault(provider.KindAuth, text, nil)
}

// Unforeseen logs, for people who look for a fault, what an answer had that its API does not foresee.
func (c *Caller) Unforeseen(what string) {
	c.Log.Debug("not foreseen", "provider", c.Provider, "what", c.Text(what))
}

// Oddities logs how much of that there was in an answer, if there was any.
func (c *Caller) Oddities(count int, requestID string) {
	if count > 0 {
		c.Log.Debug("an answer with deviations", "provider", c.Provider, "odd", count, "request_id", requestID)
	}
}

// Refusal is [refusal.Read] for an answer of this address.
func (c *Caller) Refusal(status int, header http.Header, body []byte) *provider.Error {
	e := refusal.Read(status, header, body, c.scrub)
	e.API, e.Provider = c.API, c.Provider
	return e
}

// RequestID is [refusal.RequestID], without the secrets of c.
func (c *Caller) RequestID(header http.Header) string { return refusal.RequestID(header, c.scrub) }

// Text is a foreign text as it may be shown and logged: scrubbed before it is cut, so that no half of a secret is left.
func (c *Caller) Text(foreign string) string { return refusal.Clean(c.scrub(foreign), refusal.MaxText) }

// scrub takes out the key and the configured headers' values, which may be keys as well.
func (c *Caller) scrub(text string) string {
	text = c.Key.Scrub(text)
	if c.Authorizer != nil {
		text = c.Authorizer.Scrub(text)
	}
	for _, value := range c.Headers {
		for word := range strings.FieldsSeq(value) {
			if len(word) >= 8 {
				text = provider.NewSecret(word).Scrub(text)
			}
		}
	}
	return text
}

func encoded(resp *http.Response) string {
	e := resp.Header.Get("Content-Encoding")
	if strings.EqualFold(e, "identity") {
		return ""
	}
	return e
}
