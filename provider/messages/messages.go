package messages

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/aws"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/refusal"
)

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

// OptionsWire is the members of the body that the options put there.
func (a *API) OptionsWire(req *provider.Request) (json.RawMessage, error) {
	form, _ := formatOf(req)
	asked := askedOf(req)
	asked.stripSampling(req)
	var output *outputConfig
	return exchange.Encode(optionsWire{req.Options.MaxOutput, output.with(form), servedTools(req.Options), asked})
}

type optionsWire struct {
	MaxTokens int           `json:"max_tokens,omitempty"`
	Output    *outputConfig `json:"output_config,omitempty"`
	Tools     []any         `json:"tools,omitempty"` // those of the vendor
	asked
}

// Convert returns how a request sends earlier thinking.
func (a *API) Convert(req *provider.Request) (provider.Conversion, error) {
	h := a.newHistory(req)
	_, err := h.messages(req.Messages)
	return h.count, err
}

// Returns reports whether a block of thinking goes back: what this vendor made, unless a repair strips it.
func (a *API) Returns(req *provider.Request, b provider.Thinking, _ provider.State, _ bool) bool {
	h := a.newHistory(req)
	return h.own(b.State) && !h.strip
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

var extraMember = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\.(?:tool_use|text)\.\w+: Extra inputs are not permitted`)
})

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
	case "temperature", "top_p", "top_k", "stop_sequences", "tool_choice", "service_tier", "thinking", "output_config", "context_management":
		if gjson.GetBytes(c.body, param).Exists() {
			return param
		}
	}
	return ""
}

// Refine names the repair that may help, unless it is in effect already or the call had nothing to repair. The texts are
// matched on their code-like fragments only (docs: thinking-troubleshooting).
func (c *call) Refine(e *provider.Error) {
	if e.Status != http.StatusBadRequest && e.Status != http.StatusTooManyRequests {
		return
	}
	req := c.req
	says := func(fragment string) bool { return strings.Contains(e.Message, fragment) }
	bound := says("bound to a different conversation") || says("drop_block")
	edited := says("cannot be modified") || says("Invalid `signature`") || says("must be thinking or redacted_thinking") ||
		says("thinking.signature: Field required") || says("thinking.") && says("Extra inputs are not permitted") && e.Subject == provider.SubjectHistory
	switch {
	case aws.Advise(e):
	case c.changes > 0 && (says("output_config") || says(betaInPlace)):
		e.Repair = effortOnTop(req.Model)
	case len(longContext(c.betas)) > 0 && (says("long context") || says("extra usage")):
		e.Repair = NoLongContext
	case says(`"thinking.type.enabled" is not supported`) && c.budget:
		e.Repair = adaptive(req.Model)
	case says("cache_control") && !exchange.Withholds(req, wireAPI, "cache_control") && strings.Contains(string(c.body), `"cache_control"`):
		e.Repair = exchange.Without(wireAPI, "cache_control", req.Model.ID)
	case (e.Subject == provider.SubjectParameter) && c.leaves(e.Param) != "":
		e.Repair = exchange.Without(wireAPI, c.leaves(e.Param), req.Model.ID)
	case extraMember().MatchString(e.Message) && !slices.Contains(req.Repairs, PlainBlocks):
		e.Repair = PlainBlocks
	case refusal.RefusesMedia(e) && !slices.Contains(req.Repairs, exchange.NoMedia(wireAPI, req.Model.ID)):
		e.Repair = exchange.NoMedia(wireAPI, req.Model.ID)
	case slices.Contains(req.Repairs, StripThinking):
	case bound && c.adaptive && c.binding && !slices.Contains(req.Repairs, DropBlock):
		e.Repair = DropBlock
	case bound || edited:
		e.Repair = StripThinking
	}
}
