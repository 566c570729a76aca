package messages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

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
		return exchange.ErrDone
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
		if err := r.Served(model, ""); err != nil {
			return err
		}
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
	return r.Dropped(dropped, reason, changes)
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
	r.stop.Usage.Metered = slices.ContainsFunc(r.parts, func(p *part) bool { return strings.HasSuffix(p.kind, "code_execution"+resultSuffix) })
	return r.End(r.stop)
}

// start opens a block, or adopts the one that deltas opened before. Hosts that start a block again for each piece of it
// mean the same block, also where they give a call another id each time: that shows in its input, which is not complete.
// Any other kind or id at an open index is another block, whose predecessor was never stopped.
func (r *reply) start(index int64, object gjson.Result) error {
	kind := object.Get("type").Str
	if kind == "" {
		return r.Deviation("content_block_start without a type")
	}
	if p := r.blocks[index]; p != nil && !p.ended {
		if p.kind == kind && (p.implied || sameID(p.members["id"], object.Get("id")) || p.halfCall(object)) {
			if p.implied {
				p.implied, p.members = false, members(object)
			}
			return r.Deviation("second start of a block")
		}
		r.Deviations++
		if err := r.seal(p); err != nil {
			return err
		}
	}
	p := r.open(index, kind)
	p.members = members(object)
	switch kind {
	case "text":
		return r.grow(p, object.Get("text"))
	case "thinking":
		p.sig = object.Get("signature").Str
		return r.grow(p, object.Get("thinking"))
	case "tool_use":
		return r.tell(p)
	}
	return r.Alive()
}

// delta grows a block by the delta of an event. One of another kind than its block is not taken in: nothing is ever
// mixed.
func (r *reply) delta(event []byte, index int64, d gjson.Result) error {
	kind := d.Get("type").Str
	p := r.blocks[index]
	if p == nil {
		switch kind {
		case "text_delta":
			p = r.open(index, "text")
		case "thinking_delta":
			p = r.open(index, "thinking")
		default:
			return r.Deviation(kind + " before its block")
		}
		p.implied = true
		r.Deviations++
	}
	switch {
	case p.ended:
		return r.Deviation(kind + " after its block")
	case p.kind == "text" && kind == "text_delta":
		return r.growOn(p, event, d.Get("text"))
	case p.kind == "text" && kind == "citations_delta":
		return r.cite(p, d.Get("citation"))
	case p.kind == "thinking" && kind == "thinking_delta":
		const most = 1 << 30 // of an increment, and of their sum (SDK: BetaThinkingDelta)
		if n := min(max(d.Get("estimated_tokens").Int(), 0), most); n > 0 {
			p.estimate = min(p.estimate+int(n), most)
			return r.grow(p, d.Get("thinking"))
		}
		return r.growOn(p, event, d.Get("thinking"))
	case p.kind == "thinking" && kind == "signature_delta":
		p.sig = exchange.Valid(d.Get("signature").Str) // assigned: it comes once and whole (docs: streaming)
		return r.Alive()
	case p.kind == "tool_use" && kind == "input_json_delta":
		return r.growOn(p, event, d.Get("partial_json"))
	case slices.Contains([]string{"text", "thinking", "redacted_thinking", "tool_use"}, p.kind):
		return r.Deviation(kind + " in a block of kind " + p.kind)
	}
	return r.absorb(p, d)
}

// end closes a block.
func (r *reply) end(index int64) error {
	p := r.blocks[index]
	if p == nil || p.ended {
		return r.Deviation("stop without a block")
	}
	return r.seal(p)
}

// halfCall reports whether p is a call of the same tool whose input has begun and is not complete.
func (p *part) halfCall(object gjson.Result) bool {
	input := p.text.String()
	return p.kind == "tool_use" && p.string("name") == object.Get("name").Str && input != "" && !gjson.Valid(input)
}

func sameID(have json.RawMessage, now gjson.Result) bool {
	return gjson.ParseBytes(have).Str == now.Str
}

func members(object gjson.Result) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	object.ForEach(func(name, value gjson.Result) bool {
		all[name.Str] = json.RawMessage(value.Raw)
		return true
	})
	return all
}

// edited passes on what the server left out of the context that it was sent. It stays in ours, and is sent again each
// time: the server's edits are none of ours (docs: preserved-thinking).
func (r *reply) edited(management gjson.Result) error {
	edits := management.Get("applied_edits")
	var said []string
	for _, e := range edits.Array() {
		said = append(said, fmt.Sprintf("%s (%d tokens)", r.Text(e.Get("type").Str), e.Get("cleared_input_tokens").Int()))
	}
	if len(said) == 0 {
		return nil
	}
	return r.Emit(provider.Notice{Kind: provider.NoticeEdited,
		Text: "the provider shortened what it was sent: " + strings.Join(said, ", "), Data: json.RawMessage(edits.Raw)})
}

// message takes in a whole message as if it had been streamed.
func (r *reply) message(root gjson.Result) error {
	if err := r.NotStreamed(); err != nil {
		return err
	}
	if err := r.begin(root); err != nil {
		return err
	}
	for i, b := range root.Get("content").Array() {
		index := int64(i)
		if err := r.start(index, b); err != nil {
			return err
		}
		if r.blocks[index] == nil {
			continue // it had no type, and was counted
		}
		if err := r.end(index); err != nil {
			return err
		}
	}
	if err := r.edited(root.Get("context_management")); err != nil {
		return err
	}
	r.ending(root, gjson.Result{})
	return exchange.ErrDone
}

// Value takes in an answer that is one JSON value.
func (r *reply) Value(root gjson.Result) error {
	switch {
	case root.Get("type").Str == "error" || exchange.HasError(root):
		return r.failed([]byte(root.Raw))
	case !root.Get("content").IsArray():
		return r.NoAnswer("the answer is JSON, but no message")
	}
	return r.message(root)
}
