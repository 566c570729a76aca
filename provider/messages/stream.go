package messages

import (
	"bytes"
	"cmp"
	"fmt"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// reply is the state of one answer.
type reply struct {
	*exchange.Answer

	api     *API
	origin  provider.Origin
	next    int              // our number of the next block
	parts   []*part          // all blocks, in order of their start
	blocks  map[int64]*part  // the latest at each of the vendor's indexes
	stencil exchange.Stencil // of the delta before, which grew this part:
	grown   *part
	begun   bool // message_start came
	usage   usage
	stop    provider.Stop
}

// Reply begins to read an answer. The account is the organization that the answer names.
func (c *call) Reply(a *exchange.Answer) exchange.Reply {
	r := &reply{Answer: a, api: c.api, blocks: map[int64]*part{}, origin: a.Origin(c.req.Model.ID), stop: a.Stop(c.req.Model.ID)}
	r.origin.Account = cmp.Or(a.Header().Get("anthropic-organization-id"), r.origin.Account)
	return r
}

// Over reports whether a stop_reason came, after which some hosts leave message_stop out.
func (r *reply) Over() bool { return r.stop.Raw != "" }

// Event takes in one event. Most are the delta before with another text.
func (r *reply) Event(_ string, data []byte) error {
	if piece, ok := r.stencil.Match(data); ok {
		return r.grow(r.grown, piece)
	}
	r.stencil.Clear()
	if !gjson.ValidBytes(data) {
		if string(data) == "[DONE]" { // of hosts that add the end mark of another API
			return r.Deviation("end mark")
		}
		return r.NoAnswer(fmt.Sprintf("an event of %d bytes is not JSON", len(data)))
	}
	kind := gjson.GetBytes(data, "type").Str
	if kind != "content_block_delta" && !utf8.Valid(data) { // a delta's pieces may be cut inside a character
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	switch kind {
	case "content_block_delta":
		return r.delta(data, gjson.GetBytes(data, "index").Int(), gjson.GetBytes(data, "delta"))
	case "content_block_start":
		return r.start(gjson.GetBytes(data, "index").Int(), gjson.GetBytes(data, "content_block"))
	case "content_block_stop":
		return r.end(gjson.GetBytes(data, "index").Int())
	case "ping":
		return r.Alive()
	case "message_start":
		return r.begin(gjson.GetBytes(data, "message"))
	case "message_delta":
		r.ending(gjson.GetBytes(data, "delta"), gjson.GetBytes(data, "usage"))
		if err := r.edited(gjson.GetBytes(data, "context_management")); err != nil {
			return err
		}
		return r.Alive()
	case "message_stop":
		return exchange.Done
	case "message":
		return r.message(gjson.ParseBytes(data))
	case "error":
		return r.failed(data)
	default:
		if exchange.HasError(gjson.ParseBytes(data)) {
			return r.failed(data)
		}
		return r.Deviation("event " + kind)
	}
}

// begin takes in what is known of the message at its start.
func (r *reply) begin(message gjson.Result) error {
	if r.begun {
		return r.Deviation("second message_start")
	}
	r.begun = true
	if model := message.Get("model").Str; model != "" {
		r.origin.Model, r.stop.Model = model, model
	}
	r.usage.merge(message.Get("usage"))
	if changes := message.Get("input_transformations"); len(changes.Array()) > 0 {
		return r.transformed(changes)
	}
	return r.Alive()
}

// transformed passes on what the server did with earlier thinking (docs: preserved-thinking).
func (r *reply) transformed(changes gjson.Result) error {
	dropped, reason := 0, ""
	for _, c := range changes.Array() {
		if c.Get("type").Str == "thinking_dropped" {
			dropped++
			reason = c.Get("reason").Str
		}
	}
	if dropped == 0 {
		return r.Alive() // mismatches that were let through lose nothing
	}
	text := fmt.Sprintf("blocks of earlier thinking that the provider left out: %d (%s)", dropped, r.Text(reason))
	return r.Emit(provider.Notice{Kind: provider.NoticeDropped, Text: text, Data: []byte(changes.Raw)})
}

// ending takes in a message_delta; there may be several, the last word counts.
func (r *reply) ending(delta, used gjson.Result) {
	r.usage.merge(used)
	reason := delta.Get("stop_reason").Str
	if reason == "" {
		return
	}
	r.stop.Raw = reason
	r.stop.Reason = stopReason(reason)
	r.stop.Detail = ""
	if r.stop.Reason == provider.StopRefusal {
		details := delta.Get("stop_details")
		r.stop.Detail = r.Text(details.Get("category").Str)
		if why := details.Get("explanation").Str; why != "" {
			r.stop.Detail = r.Text(r.stop.Detail + ": " + why)
		}
	}
}

func stopReason(raw string) provider.StopReason {
	switch raw {
	case "max_tokens", "model_context_window_exceeded":
		return provider.StopMaxTokens
	case "tool_use":
		return provider.StopToolUse
	case "refusal":
		return provider.StopRefusal
	case "pause_turn", "compaction": // the latter after a block that stands for all before it, and before the answer
		return provider.StopPause
	}
	return provider.StopEndTurn // end_turn, stop_sequence, and words that this build does not know
}

// failed is an error in the stream. It is classified as the status that it would have come with (docs: errors).
func (r *reply) failed(data []byte) error {
	return r.Refusal(errorStatus(gjson.GetBytes(data, "error.type").Str), data)
}

func errorStatus(word string) int {
	switch word {
	case "invalid_request_error":
		return 400
	case "authentication_error":
		return 401
	case "billing_error":
		return 402
	case "permission_error":
		return 403
	case "not_found_error":
		return 404
	case "conflict_error":
		return 409
	case "request_too_large":
		return 413
	case "rate_limit_error":
		return 429
	case "timeout_error":
		return 504
	case "overloaded_error":
		return 529
	}
	return 500 // api_error, and words that this build does not know
}

// Finish ends blocks that their host did not, and the reply.
func (r *reply) Finish() error {
	for _, p := range r.parts {
		if !p.ended {
			r.Deviations++
			if err := r.seal(p); err != nil {
				return err
			}
		}
	}
	raw, err := r.usage.raw()
	if err != nil {
		return r.NoAnswer("usage: " + err.Error())
	}
	r.stop.Usage, r.stop.RawUsage = r.usage.usage(), raw
	return r.End(r.stop)
}
