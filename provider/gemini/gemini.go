package gemini

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/refusal"
)

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

// OptionsWire is the members of the body that the options put there.
func (a *API) OptionsWire(req *provider.Request) (json.RawMessage, error) {
	g, _ := generate(req)
	g.MaxOutputTokens = req.Options.MaxOutput
	stripSampling(req, g)
	return exchange.Encode(optionsWire{g.orNil(), a.choice(req), string(req.Options.ServiceTier), servedTools(req.Options)})
}

type optionsWire struct {
	Generation *generation `json:"generationConfig,omitempty"`
	Choice     *toolConfig `json:"toolConfig,omitempty"`
	Tier       string      `json:"serviceTier,omitempty"`
	Tools      []tools     `json:"tools,omitempty"` // those of the vendor
}

// Convert returns how a request sends earlier thinking.
func (a *API) Convert(req *provider.Request) (provider.Conversion, error) {
	h := newHistory(req)
	_, err := h.contents(req.Messages)
	return h.count, err
}

// Returns reports whether a block of thinking goes back: only its signature does.
func (a *API) Returns(req *provider.Request, b provider.Thinking, _ provider.State, _ bool) bool {
	return b.Signed && b.State.Origin.API == wireAPI && newHistory(req).takes(b.State.Origin.Model)
}

var _ provider.MediaTaker = (*API)(nil)

// TakesMedia is the same for all models.
func (a *API) TakesMedia(provider.Model) ([]string, bool) { return mediaForms(), true }

var _ provider.Outliner = (*API)(nil)

// Outline returns what build writes, in pieces. The vendor caches automatically, and promises nothing.
func (a *API) Outline(req *provider.Request) (provider.Outline, error) {
	return a.caller.Outline(req, a.build)
}

// Stream makes the call. Notices on the request come before the first block. After an error or a cancel, blocks that
// were begun and not ended stay so.
func (a *API) Stream(ctx context.Context, req *provider.Request) iter.Seq2[provider.Event, error] {
	return a.caller.Stream(ctx, req, a.build)
}

// Refine gives an error the meaning that its text has, and names the repair that may help, unless it is in effect
// already. The texts are matched on their code-like fragments only (docs: thought-signatures).
func (c *call) Refine(e *provider.Error) {
	if e.Status != http.StatusBadRequest {
		return
	}
	req := c.req
	text := strings.ToLower(e.Message)
	says := func(fragment string) bool { return strings.Contains(text, fragment) }
	switch {
	case e.Subject == provider.SubjectParameter && e.Param == "thinking" && says("thinking") && !exchange.Withholds(req, wireAPI, "thinkingConfig") && thinks(req):
		e.Repair = exchange.Without(wireAPI, "thinkingConfig", req.Model.ID)
	case refusal.RefusesMedia(e) && !slices.Contains(req.Repairs, exchange.NoMedia(wireAPI, req.Model.ID)):
		e.Repair = exchange.NoMedia(wireAPI, req.Model.ID)
	case says("api key not valid"), says("api_key_invalid"):
		e.Kind = provider.KindAuth // the vendor answers 400 to a wrong key
	case (says("thought_signature") || says("thoughtsignature") || says("thought signature")) &&
		!slices.Contains(req.Repairs, BypassSignature):
		e.Repair = BypassSignature
	}
}
