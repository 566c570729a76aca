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
//
// Inside the package, files depend in one direction: stream, ollama, request, models, history and api.
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

// Convert is what becomes of earlier thinking.
func (a *API) Convert(req *provider.Request) (provider.Conversion, error) {
	h := newHistory(req)
	_, err := h.messages(req.System, req.Messages)
	return h.count, err
}

// Returns reports whether a block of thinking goes back: all that has text and came to its end, whoever made it.
func (a *API) Returns(_ *provider.Request, b provider.Thinking, _ provider.State, _ bool) bool {
	return b.Text != "" && !b.State.IsZero()
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
