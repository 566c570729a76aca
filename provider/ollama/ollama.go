package ollama

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/refusal"
	"github.com/thinkd/thinkd/provider/replay"
)

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

// OptionsWire is the members of the body that the options put there.
func (a *API) OptionsWire(req *provider.Request) (json.RawMessage, error) {
	w := optionsWire{Options: asked(req)}
	w.Options.Predict = req.Options.MaxOutput
	w.Format, _ = format(req)
	return exchange.Encode(w)
}

type optionsWire struct {
	Options options         `json:"options,omitzero"`
	Format  json.RawMessage `json:"format,omitempty"`
}

// Convert returns how a request sends earlier thinking.
func (a *API) Convert(req *provider.Request) (provider.Conversion, error) {
	h := newHistory(req)
	_, err := h.messages(req.System, req.Messages)
	return h.count, err
}

// Returns reports whether a block of thinking goes back: it does if it has text and is complete. Any model
// may have written it.
func (a *API) Returns(_ *provider.Request, b provider.Thinking, _ provider.State, _ bool) bool {
	return b.Text != "" && !b.State.IsZero()
}

var _ provider.MediaTaker = (*API)(nil)

// TakesMedia is the same for all models.
func (a *API) TakesMedia(provider.Model) ([]string, bool) { return replay.OllamaImages, true }

var _ provider.Outliner = (*API)(nil)

// Outline is what build writes, in pieces. The server keeps what it has in memory, and charges nothing for it.
func (a *API) Outline(req *provider.Request) (provider.Outline, error) {
	return a.caller.Outline(req, a.build)
}

// Stream makes the call. Notices on the request come before the first block. After an error or a cancel, blocks that
// were begun and not ended stay so.
func (a *API) Stream(ctx context.Context, req *provider.Request) iter.Seq2[provider.Event, error] {
	return a.caller.Stream(ctx, req, a.build)
}

// Refine gives an error the meaning that its text has: this API tells by text alone, and the same failure by several
// statuses.
func (c *call) Refine(e *provider.Error) {
	req := c.req
	text := strings.ToLower(e.Message)
	switch {
	case e.Status < 400:
	case e.Param == "thinking" && len(req.Decision.Control.Mode) > 0 && !exchange.Withholds(req, wireAPI, "think"):
		e.Repair = exchange.Without(wireAPI, "think", req.Model.ID)
	case refusal.RefusesMedia(e) && !slices.Contains(req.Repairs, exchange.NoMedia(wireAPI, req.Model.ID)):
		e.Repair = exchange.NoMedia(wireAPI, req.Model.ID)
	case strings.Contains(text, "server busy"):
		e.Kind = provider.KindOverloaded
	case strings.Contains(text, "system memory"):
		e.Hint = provider.HintFinal // it will not fit the next time either
	}
}
