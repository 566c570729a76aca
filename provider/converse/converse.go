package converse

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/aws"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/refusal"
)

// Wire is what the decision on thinking puts into additionalModelRequestFields, `{}` if it puts nothing there.
func (a *API) Wire(req *provider.Request) (json.RawMessage, error) {
	f, _, err := control(req)
	if err != nil {
		return nil, err
	}
	if f.isZero() {
		return json.RawMessage("{}"), nil
	}
	return exchange.Encode(map[string]any{"additionalModelRequestFields": f})
}

// OptionsWire is the members of the body that the options put there.
func (a *API) OptionsWire(req *provider.Request) (json.RawMessage, error) {
	f, _, err := control(req)
	if err != nil {
		return nil, err
	}
	by := familyOf(req.Model.Rules())
	s := settle(req, by, f, len(req.Tools), newNames(req).Wire)
	var own fields
	own.topK(by, s.topK)
	return exchange.Encode(optionsWire{s.limits.orNil(), s.choice, s.format, raw(own), s.tier})
}

type optionsWire struct {
	Inference *inference      `json:"inferenceConfig,omitempty"`
	Choice    *toolChoice     `json:"toolChoice,omitempty"`
	Output    *outputConfig   `json:"outputConfig,omitempty"`
	Fields    json.RawMessage `json:"additionalModelRequestFields,omitempty"`
	Tier      *tier           `json:"serviceTier,omitempty"`
}

// Convert returns how a request sends earlier thinking.
func (a *API) Convert(req *provider.Request) (provider.Conversion, error) {
	h := newHistory(req)
	_, err := h.messages(req.Messages)
	return h.count, err
}

// Returns reports whether a block of thinking goes back: to models of its maker that take it, unless a repair strips it.
func (a *API) Returns(req *provider.Request, b provider.Thinking, _ provider.State, _ bool) bool {
	h := newHistory(req)
	return b.Signed && h.own(b) && !h.strip && h.returns
}

var _ provider.MediaTaker = (*API)(nil)

// TakesMedia is the same for all models.
func (a *API) TakesMedia(provider.Model) ([]string, bool) { return mediaForms(), true }

var _ provider.Outliner = (*API)(nil)

// Outline is what build writes, in pieces.
func (a *API) Outline(req *provider.Request) (provider.Outline, error) {
	return a.caller.Outline(req, a.build)
}

// Stream makes the call. Notices on the request come before the first block. After an error or a cancel, blocks that
// were begun and not ended stay so.
func (a *API) Stream(ctx context.Context, req *provider.Request) iter.Seq2[provider.Event, error] {
	return a.caller.Stream(ctx, req, a.build)
}

// Refine names the repair that may help, unless it is in effect already or the call had nothing to repair. Texts of the model's maker stand behind
// "The model returned the following errors: ".
func (c *request) Refine(e *provider.Error) {
	if e.Status != http.StatusBadRequest {
		return
	}
	req := c.req
	text := strings.ToLower(e.Message)
	says := func(fragments ...string) bool {
		return slices.ContainsFunc(fragments, func(f string) bool { return strings.Contains(text, f) })
	}
	fresh := func(r provider.Repair) bool { return !slices.Contains(req.Repairs, r) }
	member := c.options.refused(e.Message)
	adaptive, bare := provider.Repair(Adaptive+req.Model.ID), provider.Repair(NoSignature+req.Model.ID)
	apart := provider.Repair(Apart + req.Model.ID)
	switch {
	case aws.Advise(e):
	case says(`"thinking.type.enabled" is not supported`) && c.fields.budgeted() > 0 && fresh(adaptive):
		e.Repair = adaptive
	case member != "":
		e.Repair, e.Subject = exchange.Without(wireAPI, member, req.Model.ID), provider.SubjectParameter
	case says("cache") && c.marked:
		e.Repair = exchange.Without(wireAPI, "cachePoint", req.Model.ID)
	case c.marked && says("messages.") && says("type: field required"): // a mark that could not be translated
		e.Repair = exchange.Without(wireAPI, "cachePoint", req.Model.ID)
	case says("toolspec.name", "tooluse.name") && says("regular expression") && fresh(PlainNames):
		e.Repair = PlainNames
	case says("reasoningtext.signature") && c.kept > 0 && fresh(bare):
		e.Repair = bare
	case says("cannot be provided in the same turn") && fresh(apart):
		e.Repair = apart
	case says("reasoningcontent", "reasoning content", "signature", "thinking blocks", "must be thinking", "cannot be modified") && c.kept > 0 && fresh(StripThinking):
		e.Repair = StripThinking
	case refusal.RefusesMedia(e) && fresh(exchange.NoMedia(wireAPI, req.Model.ID)):
		e.Repair = exchange.NoMedia(wireAPI, req.Model.ID)
	case says("additionalmodelrequestfields", "reasoning", "thinking", "extraneous key") && !c.fields.isZero() && e.Subject != provider.SubjectHistory:
		e.Repair = exchange.Without(wireAPI, "thinking", req.Model.ID)
	}
}
