package cohere

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
	"github.com/thinkd/thinkd/provider/replay"
)

// Wire is the `thinking` member of the body, `{}` where nothing is said about thinking.
func (a *API) Wire(req *provider.Request) (json.RawMessage, error) {
	t, _, err := control(req)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return json.RawMessage("{}"), nil
	}
	return exchange.Encode(map[string]any{"thinking": t})
}

// OptionsWire is the members of the body that the options put there.
func (a *API) OptionsWire(req *provider.Request) (json.RawMessage, error) {
	o, _ := asked(req)
	o.MaxTokens = req.Options.MaxOutput
	if req.RefusesSampling() {
		exchange.StripSampling(&o.Temperature, &o.TopP, &o.TopK)
	}
	return exchange.Encode(o)
}

// Convert returns how a request sends earlier thinking.
func (a *API) Convert(req *provider.Request) (provider.Conversion, error) {
	h := newHistory(req)
	_, err := h.messages(req.System, req.Messages)
	return h.count, err
}

// Returns reports whether a block of thinking goes back: to each model of this API, unless a repair strips it. Models that do not think
// take it as the plan of an answer's calls.
func (a *API) Returns(req *provider.Request, b provider.Thinking, _ provider.State, calls bool) bool {
	h := newHistory(req)
	return b.Signed && replay.Own(b.State, provider.Origin{API: wireAPI}) && !h.strip && (h.thinks || calls)
}

// TakesMedia is the same for all models.
func (a *API) TakesMedia(provider.Model) ([]string, bool) { return replay.Images, true }

// Outline is what build writes, in pieces.
func (a *API) Outline(req *provider.Request) (provider.Outline, error) {
	return a.caller.Outline(req, a.build)
}

// Stream makes the call. Notices on the request come before the first block. After an error or a cancel, blocks that
// were begun and not ended stay so.
func (a *API) Stream(ctx context.Context, req *provider.Request) iter.Seq2[provider.Event, error] {
	return a.caller.Stream(ctx, req, a.build)
}

// Refine names the repair that may help, unless it is in effect already or the call had nothing to repair (docs: reference/errors).
func (c *request) Refine(e *provider.Error) {
	text := strings.ToLower(e.Message)
	says := func(fragments ...string) bool {
		return slices.ContainsFunc(fragments, func(f string) bool { return strings.Contains(text, f) })
	}
	switch e.Status {
	case 498: // an invalid token
		e.Kind, e.Subject = provider.KindAuth, provider.SubjectAccount
	case http.StatusTooManyRequests:
		if says("/ month", "per month", "calls a month") { // of a trial key
			e.Kind = provider.KindQuota
		}
	}
	if e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return
	}
	without := func(member string) provider.Repair { return exchange.Without(wireAPI, member, c.req.Model.ID) }
	fresh := func(r provider.Repair) bool { return !slices.Contains(c.req.Repairs, r) }
	strips := c.kept > 0 && fresh(StripThinking)
	switch {
	case strips && says("tool_plan", "tool plan", "content.thinking", "type 'thinking'", `type "thinking"`, "thinking content"):
		e.Repair, e.Subject = StripThinking, provider.SubjectHistory
	case says("thinking", "reasoning", "token_budget") && c.body.Thinking != nil:
		e.Repair, e.Subject = without("thinking"), provider.SubjectParameter
	case strips && says("thinking", "reasoning"):
		e.Repair, e.Subject = StripThinking, provider.SubjectHistory
	case says("tool_choice") && c.body.Choice != "":
		e.Repair, e.Subject = without("tool_choice"), provider.SubjectParameter
	case says("response_format", "json_schema", "schema must", "required field name", "property title") && c.body.Format != nil:
		e.Repair, e.Subject = without("response_format"), provider.SubjectParameter
	case refusal.RefusesMedia(e) && fresh(exchange.NoMedia(wireAPI, c.req.Model.ID)):
		e.Repair = exchange.NoMedia(wireAPI, c.req.Model.ID)
	}
}
