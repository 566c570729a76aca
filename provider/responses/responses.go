package responses

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

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

// OptionsWire is the members of the body that the options put there.
func (a *API) OptionsWire(req *provider.Request) (json.RawMessage, error) {
	asked, _ := askedOf(req)
	b := body{MaxOutput: req.Options.MaxOutput, asked: asked}
	a.strip(req, &b)
	tools, _ := servedTools(req.Options)
	return exchange.Encode(optionsWire{b.MaxOutput, tools, b.asked})
}

type optionsWire struct {
	MaxOutput int   `json:"max_output_tokens,omitempty"`
	Tools     []any `json:"tools,omitempty"` // those of the vendor
	asked
}

// Convert returns how a request sends earlier thinking.
func (a *API) Convert(req *provider.Request) (provider.Conversion, error) {
	h := a.newHistory(req)
	err := h.messages()
	return h.count, err
}

// Returns reports whether a block of thinking goes back: what this host made for this account, with what it can go on from.
func (a *API) Returns(req *provider.Request, b provider.Thinking, _ provider.State, _ bool) bool {
	h := a.newHistory(req)
	item, own := h.own(b.State)
	return own && (isPart(item) || h.sealed(b, item))
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

// optional are the members that a request can do without, if a host refuses them by name.
var optional = []string{"reasoning", "reasoning.effort", "reasoning.summary", "reasoning.context", "temperature", "top_p", "max_output_tokens",
	"text", "text.format", "text.verbosity", "tool_choice", "parallel_tool_calls", "service_tier",
	"prompt_cache_key", "include", "stream_options", "context_management"}

func (c *call) holds(member string) bool {
	return slices.Contains(optional, member) && gjson.GetBytes(c.body, member).Exists()
}

// Refine says what this vendor's words mean, beyond what is common to all, and names the repair that may help.
func (c *call) Refine(e *provider.Error) {
	switch e.Code {
	case "insufficient_quota", "credit_balance_exhausted", "usage_not_included":
		e.Kind, e.Hint = provider.KindQuota, provider.HintFinal
	case "usage_limit_reached": // of a plan, until it is filled again
		e.Kind = provider.KindQuota
	case "server_is_overloaded":
		e.Kind = provider.KindOverloaded
	case "slow_down":
		if e.Status != 429 {
			e.Kind = provider.KindOverloaded
		}
	case "invalid_prompt", "content_filter":
		e.Kind = provider.KindRefused
	default:
		if strings.HasSuffix(e.Code, "_policy") || strings.HasSuffix(e.Code, "_policy_violation") {
			e.Kind = provider.KindRefused
		}
	}
	switch {
	case c.changes > 0 && e.Status == 400 && strings.Contains(e.Message, "configuration_update"):
		e.Repair = effortOnTop(c.model)
	case c.effort != "" && e.Code == "unsupported_value" && learned(c.effort, e.Message) != nil:
		words := learned(c.effort, e.Message)
		e.Repair, e.Learned = effortsOf(c.model, words), &provider.Learned{Levels: levelsOf(words)}
	case c.last != "" && unpaired(e):
		e.Repair = repairUpTo(c.last)
	case c.summary && e.Status == 400 && (strings.Contains(e.Message, "reasoning.summary") || strings.Contains(e.Message, "reasoning summaries")):
		e.Repair = NoSummary
	case e.Subject == provider.SubjectParameter && c.holds(e.Param):
		e.Repair = exchange.Without(wireAPI, e.Param, c.model)
	}
}

// unpaired reports whether an error is about encrypted content or about items that need each other. The texts are
// matched on their stable fragments only.
func unpaired(e *provider.Error) bool {
	if e.Code == "invalid_encrypted_content" {
		return true
	}
	if e.Status != 400 && e.Status != 404 {
		return false
	}
	return slices.ContainsFunc([]string{
		"item_id did not match", "without its required following item", "without its required 'reasoning' item",
		"Items are not persisted", "Duplicate item found with id", "encrypted_content", "compaction blob",
		".summary'", "required field `summary`", ".status'", "context_compaction",
	}, func(fragment string) bool { return strings.Contains(e.Message, fragment) })
}
