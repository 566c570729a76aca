// Package gemini speaks Google's generateContent, streamed and whole.
//
// What the vendor calls a part has no end of its own: texts come in pieces, and what is signed is a piece. A block here
// is a run of parts of one kind. Its State is the list of its parts as they came, with nothing joined but texts that
// carry nothing beside them; on the next request the list goes back part by part, so that each thought signature stands
// on the very part that it came on, be its text empty (docs: thought-signatures). Signatures are strings and stay so.
//
// Summaries of thinking are for people. They do not go back; the thinking itself travels in the signatures. Where a
// signature is wanted and there is none that the model would take, the documented bypass stands in its place.
//
// An answer may take several requests: the newest models stop at the limit of one request and are asked to go on, and a
// broken stream is taken up again at its last checkpoint, if nothing that was shown since comes differently. An answer
// is over at the end of its body, after a finish reason.
//
// Facts are from the vendor's documentation; "docs: x" names its page, "SDK" is google.golang.org/genai.
package gemini

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// wireAPI is the name in [provider.Origin] and [provider.Error].
const wireAPI = "gemini"

// BypassSignature puts the documented bypass in the place of all thought signatures of earlier turns, for a history
// whose signatures the vendor does not take (docs: thought-signatures).
const BypassSignature provider.Repair = "gemini/bypass_signature"

// Host is what is special about who serves the API. The zero value is Google's own address, whose BaseURL is without /v1beta.
type Host struct {
	// Cloud is Google Cloud, once called Vertex AI: other addresses, of which BaseURL has all up to the location, and a
	// bearer token for the key.
	Cloud bool
}

// HostNamed is the record for a dialect of the API; a dialect that is not known is Google's own address.
func HostNamed(dialect string) Host { return Host{Cloud: dialect == "cloud"} }

// Hosts lists the dialects of the API, sorted.
func Hosts() []string { return []string{"cloud", "gemini"} }

// API is generateContent at one address with one key.
type API struct {
	host   Host
	caller exchange.Caller
}

var (
	_ provider.Provider  = (*API)(nil)
	_ provider.Converter = (*API)(nil)
	_ provider.Lister    = (*API)(nil)
)

// New makes the adapter; it does not call.
func New(cfg exchange.Config, host Host) *API {
	return &API{host: host, caller: exchange.NewCaller(wireAPI, cfg)}
}

// Wire is `generationConfig` with its `thinkingConfig`, `{}` where nothing is said about thinking.
func (a *API) Wire(req *provider.Request) (json.RawMessage, error) {
	t, _, err := control(req)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return json.RawMessage("{}"), nil
	}
	return exchange.Encode(map[string]any{"generationConfig": map[string]any{"thinkingConfig": t}})
}

// Convert is what becomes of earlier thinking.
func (a *API) Convert(req *provider.Request) (provider.Conversion, error) {
	h := newHistory(req)
	_, err := h.contents(req.Messages)
	return h.count, err
}

// Stream makes the call. Notices on the request come before the first block. After an error or a cancel, blocks that
// were begun and not ended stay so.
func (a *API) Stream(ctx context.Context, req *provider.Request) iter.Seq2[provider.Event, error] {
	return a.caller.Stream(ctx, req, a.build)
}

// address is where a model answers. Names from the vendor's list begin with "models/".
func (a *API) address(model string) string {
	models := "/v1beta/models/"
	if a.host.Cloud {
		models = "/publishers/google/models/"
	}
	return a.caller.BaseURL + models + url.PathEscape(strings.TrimPrefix(model, "models/")) + ":streamGenerateContent?alt=sse"
}
