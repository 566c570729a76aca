package messages

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/replay"
	"github.com/thinkd/thinkd/provider/schema"
)

// Limits on output in tokens, where the request names none. At xhigh and max the vendor wants 64,000 or more (docs: thinking).
const (
	unknownOutput = 32_000 // for a model without a row: what every model since Claude 4 takes
	leastBudget   = 1_024  // docs: extended-thinking
)

// call is what a request has that its answer and its refusal are read by.
type call struct {
	api      *API
	req      *provider.Request
	body     json.RawMessage
	adaptive bool // the form of thinking that can carry block_binding
	changes  int  // of effort inside of the conversation
	budget   bool // thinking has one
	binding  bool // the host takes block_binding
	betas    []string
}

type body struct {
	Version   string          `json:"anthropic_version,omitempty"` // of hosts whose address names the model
	Betas     []string        `json:"anthropic_beta,omitempty"`    // of hosts that read no header
	Model     string          `json:"model,omitempty"`
	MaxTokens int             `json:"max_tokens"`
	Stream    bool            `json:"stream,omitempty"`
	System    []block         `json:"system,omitempty"`
	Tools     []any           `json:"tools,omitempty"` // hosted, then tool
	Messages  []message       `json:"messages"`
	Context   json.RawMessage `json:"context_management,omitempty"`
	control
	asked
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`

	Cache *replay.CacheMark `json:"cache_control,omitempty"`
}

func (a *API) build(req *provider.Request) (*exchange.Call, error) {
	c, err := a.control(req)
	if err != nil {
		return nil, err
	}
	h := a.newHistory(req)
	msgs, err := h.messages(req.Messages)
	if err != nil {
		return nil, err
	}
	// Such a round goes on without thinking until it is over: the thinking of another model cannot go in front of its calls, and the
	// refusal itself says "to avoid this requirement, disable thinking". A round is one turn with one way to think (docs:
	// thinking-tool-workflows).
	without := c.Thinking != nil && c.Thinking.Budget > 0 && unopened(msgs)
	if without {
		c.Thinking = &thinking{Type: "disabled"}
	}
	b := body{
		Model: req.Model.ID, MaxTokens: a.caller.Fit(req, cmp.Or(req.OutputLimit(), unknownOutput)), Stream: true,
		Messages: msgs, Context: a.managed(req, c.Thinking), control: c, asked: askedOf(req),
	}
	shrunk := b.shrink(len(req.Tools) > 0 && a.host.takes(betaInterleaved))
	for _, member := range exchange.Withheld(req, wireAPI) {
		if member == "context_management" {
			b.Context = nil
		}
	}
	form, lost := formatOf(req)
	b.Output = b.Output.with(form)
	if !provider.Blank(req.System) {
		b.System = []block{{Type: "text", Text: &req.System, Cache: h.mark}}
	}
	offered, reduced := schema.Tools(req.Tools, schema.Anthropic(), req.Model.ID)
	var functions []tool
	for _, t := range offered {
		input := t.Schema
		if len(input) == 0 {
			input = json.RawMessage(`{"type":"object"}`)
		}
		functions = append(functions, tool{t.Name, t.Description, input, nil})
	}
	if n := len(functions); req.System == "" && n > 0 && !a.host.Plain { // the mark of a system prompt holds the tools as well
		functions[n-1].Cache = h.mark
	}
	b.Tools = servedTools(req.Options)
	for _, t := range functions {
		b.Tools = append(b.Tools, t)
	}
	own := &call{api: a, req: req, binding: a.host.takes(betaBinding), budget: b.Thinking != nil && b.Thinking.Budget > 0,
		adaptive: c.Thinking != nil && c.Thinking.Type == "adaptive", changes: h.changes}
	out := &exchange.Call{URL: a.address(req.Model.ID), Limit: b.MaxTokens, Dialect: own, Framing: a.host.Framing,
		Prompt: exchange.Prompt{Tools: "tools", System: "system", List: "messages", Cache: a.terms(req), Forgets: forgets(req.Model.ID)}}
	out.LeftOut(b.stripSampling(req), req.Model.ID)
	if shrunk != "" {
		out.Override("%s", shrunk)
	}
	if without {
		out.Override("thinking is off for this call: %s cannot start to think between a tool call and its answer to the result", req.Model.ID)
	}
	if h.closed {
		out.Notices = append(out.Notices, provider.Notice{Kind: provider.NoticeRepaired,
			Text: fmt.Sprintf("interrupted calls of tools are sent as over: %s would refuse what comes after them", req.Model.ID)})
	}
	out.Notices = slices.Concat(out.Notices, reduced, lost, replay.OmittedMedia(req.Model, h.unseen), replay.ForeignTools(h.elsewhere), h.count.Notices())
	own.betas = a.betasFor(req, c, managing(b.Context, h.compacted), h)
	out.Header = a.wrap(&b, own.betas)
	if out.Body, err = exchange.EncodeBody(req, b); err != nil {
		return nil, err
	}
	own.body = out.Body
	if a.host.Initiator {
		out.Header.Set("X-Initiator", req.Initiator())
		if replay.Pictured(req.Messages) {
			out.Header.Set("Copilot-Vision-Request", "true")
		}
	}
	return out, nil
}

// shrink keeps a budget for thinking below the limit on output, as the API demands where thinking is not interleaved
// (docs: extended-thinking). The text says what changed.
func (b *body) shrink(interleaved bool) (changed string) {
	t := b.Thinking
	if t == nil || t.Budget == 0 || t.Budget < b.MaxTokens || interleaved {
		return ""
	}
	if b.MaxTokens <= leastBudget {
		b.Thinking = &thinking{Type: "disabled"}
		return fmt.Sprintf("thinking is off for this call: its limit on output of %d tokens leaves no budget", b.MaxTokens)
	}
	smaller := *t
	smaller.Budget = max(leastBudget, b.MaxTokens/2)
	b.Thinking = &smaller
	return fmt.Sprintf("the budget for thinking was lowered from %d to %d tokens: the limit on output is %d", t.Budget, smaller.Budget, b.MaxTokens)
}

// betasFor lists what the request needs. With earlier thinking in it the binding beta is sent without its parameter as
// well: only so does the server report what it leaves out (docs: preserved-thinking).
func (a *API) betasFor(req *provider.Request, c control, edits []string, h *history) []string {
	var betas []string
	binding := h.count.Kept > 0
	if t := c.Thinking; t != nil {
		if t.Type == "enabled" && len(req.Tools) > 0 {
			betas = append(betas, betaInterleaved)
		}
		if t.Display == provider.Omitted {
			betas = append(betas, betaTokenCount)
		}
		if t.Display == provider.Updates {
			betas = append(betas, betaUpdates)
		}
		binding = binding || t.Binding != nil
	}
	if binding {
		betas = append(betas, betaBinding)
	}
	betas = append(betas, edits...)
	betas = slices.DeleteFunc(betas, func(beta string) bool { return !a.host.takes(beta) })
	if h.changes > 0 {
		betas = append(betas, betaInPlace)
	}
	betas = append(betas, a.betas...)
	slices.Sort(betas)
	betas = slices.Compact(betas)
	if slices.Contains(req.Repairs, NoLongContext) {
		betas = slices.DeleteFunc(betas, func(b string) bool { return strings.HasPrefix(b, "context-1m") })
	}
	return betas
}

// address is where a model is called.
func (a *API) address(model string) string {
	if a.host.Address != nil {
		return a.host.Address(a.caller.BaseURL, model)
	}
	return a.caller.BaseURL + "/v1/messages"
}

// wrap makes a body as the host wants it, and returns the header that belongs to it.
func (a *API) wrap(b *body, betas []string) http.Header {
	if a.host.Version != "" {
		b.Version, b.Model = a.host.Version, ""
	}
	if a.host.Framing != nil {
		b.Betas, b.Stream, betas = betas, false, nil
	}
	h := a.header(betas)
	if a.host.Version != "" {
		h.Del("anthropic-version")
	}
	if a.host.Framing != nil {
		h.Set("Accept", a.host.Framing.Type)
	}
	return h
}

func (a *API) header(betas []string) http.Header {
	name := "x-api-key"
	if a.host.Bearer {
		name = ""
	}
	h := a.caller.Header(name)
	h.Set("anthropic-version", "2023-06-01")
	for name, value := range a.host.Headers {
		h.Set(name, value)
	}
	if len(betas) > 0 {
		h.Set("anthropic-beta", strings.Join(betas, ","))
	}
	return h
}
