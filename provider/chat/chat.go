// Package chat is the adapter for OpenAI's Chat Completions API, which many hosts offer, each with differences.
//
// The differences of a host are a [Dialect], which is data. The named dialects are in dialects.json, with sources and dates.
// The dialect generic reads every form that the others read. The config may add a dialect with the same members.
//
// A block keeps the members of the vendor's message as its State: thinking under its original name, details with their
// signatures, parts of an array, text with its tags. Opaque data that arrives after the end of its block is in the Stop, and
// counts in the block's place. The vendor of its Origin is the id of the dialect: data of the same dialect is returned
// unchanged, as far as the dialect's echo rule asks for it. Other data is left out or converted to text, and counted.
//
// The adapter reads thinking under several names, after text, in an array or between tags. It reads complete calls, calls
// without an index or an id, and usage in several places. Thinking without other content in between is one block. An answer is
// complete after [DONE] or a finish_reason, and only after [DONE] if the dialect says that the host truncates answers. If it
// ends earlier, the open blocks get no End.
//
// Facts are from the vendors' documentation. "docs: x" names its page. The table of dialects names the other sources.
//
// Inside the package, files depend in one direction: stream, call, block, media, sources, details, reply and chat; then listing, request,
// history, echo, tree, dialects, api and dialect.
package chat

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/refusal"
)

// Wire is what the decision on thinking puts into the body, `{}` where that is nothing.
func (a *API) Wire(req *provider.Request) (json.RawMessage, error) {
	c, err := a.dialect.control(req)
	if err != nil {
		return nil, err
	}
	return exchange.Encode(c)
}

// OptionsWire is the members of the body that the options put there.
func (a *API) OptionsWire(req *provider.Request) (json.RawMessage, error) {
	body := tree{}
	a.dialect.options(req, body)
	a.dialect.sampling(req, body)
	if field, _ := a.dialect.limit(req); field != "" && req.Options.MaxOutput > 0 {
		body[field] = req.Options.MaxOutput
	}
	body.without(exchange.Withheld(req, wireAPI))
	return exchange.Encode(body)
}

// Convert returns how a request sends earlier thinking.
func (a *API) Convert(req *provider.Request) (provider.Conversion, error) {
	h := newHistory(a.dialect, req)
	_, err := h.messages(req)
	return h.count, err
}

// Returns reports whether a block of thinking goes back: it is tried with an answer that has nothing else but what it led to.
func (a *API) Returns(req *provider.Request, b provider.Thinking, late provider.State, calls bool) bool {
	h := newHistory(a.dialect, &provider.Request{Model: req.Model, Repairs: req.Repairs})
	led := provider.Block(provider.Text{Text: "."})
	if calls {
		led = provider.ToolCall{ID: "c", Name: "t"}
	} else {
		h.lastUser = 1 // a user speaks behind the answer
	}
	_, _, err := h.assistant(0, provider.Message{Role: provider.Assistant, Blocks: provider.Blocks{b, led}, State: late})
	return err == nil && h.count.Kept+h.count.AsText > 0
}

var _ provider.MediaTaker = (*API)(nil)

// TakesMedia is the same for all models.
func (a *API) TakesMedia(provider.Model) ([]string, bool) { return a.dialect.mediaForms(), true }

var _ provider.Outliner = (*API)(nil)

// Outline is what build writes, in pieces. Of a host without marks, nothing is known of its cache.
func (a *API) Outline(req *provider.Request) (provider.Outline, error) {
	return a.caller.Outline(req, a.build)
}

// Stream makes the call. Notices on the request come before the first block. After an error or a cancel, blocks that
// were begun and not ended stay so.
func (a *API) Stream(ctx context.Context, req *provider.Request) iter.Seq2[provider.Event, error] {
	return a.caller.Stream(ctx, req, a.build)
}

// Refine says what a refusal means where the vendor's own word says more than the status, and names the repair that
// may help, unless it is in effect already. The texts are matched on fragments that several hosts share.
func (c *call) Refine(e *provider.Error) {
	if e.Err != nil || e.Kind != provider.KindBadRequest ||
		e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity && e.Status != http.StatusNotFound {
		return
	}
	req := c.req
	text := strings.ToLower(e.Message)
	says := func(fragments ...string) bool {
		return slices.ContainsFunc(fragments, func(f string) bool { return strings.Contains(text, f) })
	}
	var may provider.Repair
	switch {
	case says("reasoning_content") && says("passed back", "missing"):
		may = PlaceholderReasoning
	case c.opaque && says("invalid signature", "invalid `signature`", "corrupted thought signature", "duplicate item found", "item_id did not match", "thought_signature", "thought signature"):
		may = StripOpaque
	case says("both content and thinking", "assistant.reasoning_content: extra", "assistant.reasoning: extra"):
		may = stripThinking(req.Model.ID)
	case c.images && refusal.RefusesMedia(e):
		may = exchange.NoMedia(wireAPI, req.Model.ID)
	case c.streamed && says("verified to stream"):
		may = NotStreamed
	case c.marked && says("cache_control"):
		may = exchange.Without(wireAPI, "cache_control", req.Model.ID)
	case c.options && says("stream_options"):
		may = NoStreamOptions
	case c.limit > 0 && says("'max_tokens'", "max_completion_tokens"):
		may = OtherMaxTokens
	case c.holds(e.Param):
		may = exchange.Without(wireAPI, e.Param, req.Model.ID)
	case c.streamed && c.tools && !c.api.dialect.Request.ForceStream && says("stream") && says("tool", "function"):
		may = NotStreamed
	}
	if may != "" && !slices.Contains(req.Repairs, may) {
		e.Repair = may
	}
}

// holds reports whether a body has a member that it can do without. A path counts by its first step, too: hosts differ in
// which of them they name.
func (c *call) holds(member string) bool {
	first, _, _ := strings.Cut(member, ".")
	return first != "" && !slices.Contains([]string{"model", "messages", "tools", "stream"}, first) && gjson.GetBytes(c.body, first).Exists()
}

// lists read the hosts' lists, by the name that a dialect gives. One that is not here has no more than names.
var lists = map[string]func(*API, context.Context) ([]provider.Model, error){
	"ids":            (*API).listIDs,
	"openrouter":     (*API).listOpenRouter,
	"kimi":           (*API).listKimi,
	"copilot":        (*API).listCopilot,
	"lmstudio":       (*API).listLMStudio,
	"llamacpp_props": (*API).listLlamaCPP,
	"max_model_len":  (*API).listServed,
}

// Models lists what the host has, as its dialect says how.
func (a *API) Models(ctx context.Context) ([]provider.Model, error) {
	read := lists[a.dialect.Listing.Parser]
	if read == nil {
		return nil, provider.ErrNoList
	}
	if a.dialect.Auth != "none" {
		if err := a.caller.NoKey(); err != nil {
			return nil, err
		}
	}
	return read(a, ctx)
}
