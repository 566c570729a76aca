// Package chat speaks the Chat Completions API of OpenAI and of the many hosts that took it over, each in its own way.
//
// What a host does in its own way is a [Dialect]: data, not code. The named ones stand in dialects.json with their
// sources and dates, `generic` reads whatever the others do, and a configuration may add one by the same record.
//
// A block keeps as its State the members of the vendor's message that it came in: its thinking under the name that it
// had, details with their signatures, the whole part of a content array, the text with its tags. Opaque data that comes
// after its block has ended rides on the Stop and counts in the blocks' place. The Origin's vendor is the dialect's id:
// what came by the same dialect goes back as it came, as far as the dialect's echo rule wants it; anything else is left
// out, or put in words, and counted.
//
// A reply is read tolerantly: thinking may come under several names at once, again after text, in an array or between
// tags; calls may come whole, without an index or an id; usage at many places. It is one block of thinking as long as
// nothing else comes in between. A reply is whole with [DONE] or a finish_reason; where the dialect says that the host
// truncates answers, with [DONE] only. When it breaks off, blocks that are open get no End from here.
//
// Facts are from the vendors' documentation; "docs: x" names its page, the dialect table the rest.
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

// Convert is what becomes of earlier thinking.
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

// Stream makes the call. Notices on the request come before the first block. After an error or a cancel, blocks that
// were begun and not ended stay so.
func (a *API) Stream(ctx context.Context, req *provider.Request) iter.Seq2[provider.Event, error] {
	return a.caller.Stream(ctx, req, a.build)
}

// Refine says what a refusal means where the vendor's own word says more than the status, and names the repair that
// may help, unless it is in force already. The texts are matched on fragments that several hosts share.
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
