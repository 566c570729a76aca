package responses

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/refusal"
)

// Over is false: a stream is whole only with its terminal event.
func (r *reply) Over() bool { return false }

// Event takes in one event. Most of them are the delta before with another text. Other deltas come first, and are cut out
// of their JSON without decoding the rest.
func (r *reply) Event(name string, data []byte) error {
	if piece, ok := r.stencil.Match(data); ok {
		return r.show(r.growing, r.grown, r.grown.text.Add(piece))
	}
	r.stencil.Clear()
	if !gjson.ValidBytes(data) {
		if string(data) == "[DONE]" { // of hosts that add the end mark of another API
			return r.skipped("end mark")
		}
		return r.NoAnswer(fmt.Sprintf("an event of %d bytes is not JSON", len(data)))
	}
	kind := gjson.GetBytes(data, "type").Str
	if kind == "" {
		kind = name
	}
	switch kind {
	case "response.output_text.delta":
		return r.delta(data, "message", "output_text", "content_index")
	case "response.reasoning_summary_text.delta":
		return r.delta(data, "reasoning", "summary_text", "summary_index")
	case "response.reasoning_text.delta":
		return r.delta(data, "reasoning", "reasoning_text", "content_index")
	case "response.function_call_arguments.delta":
		return r.delta(data, "function_call", "arguments", "")
	case "response.custom_tool_call_input.delta":
		return r.delta(data, "custom_tool_call", "input", "")
	case "response.refusal.delta":
		return r.delta(data, "message", "refusal", "content_index")
	}
	if !utf8.Valid(data) { // a delta's pieces may be cut inside a character, the rest may not
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	return r.rare(kind, gjson.ParseBytes(bytes.Clone(data)))
}

func (r *reply) rare(kind string, data gjson.Result) error {
	switch kind {
	case "response.output_item.added":
		return r.added(r.index(data), data.Get("item"))
	case "response.output_item.done":
		return r.done(r.index(data), data.Get("item"))
	case "response.function_call_arguments.done":
		return r.argued(r.index(data), data.Get("arguments"))
	case "response.output_text.annotation.added":
		return r.annotated(r.index(data), data)
	case "response.custom_tool_call_input.done":
		return r.argued(r.index(data), data.Get("input"))
	case "response.created", "response.in_progress", "response.queued":
		return r.begin(data.Get("response"))
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done":
		return r.terminal(strings.TrimPrefix(kind, "response."), data.Get("response"))
	case "error":
		return r.failed(data)
	case "response.reasoning_summary_part.added", "response.reasoning_summary_part.done", "response.reasoning_summary_text.done",
		"response.reasoning_part.added", "response.reasoning_part.done", "response.reasoning_text.done",
		"response.content_part.added", "response.content_part.done", "response.output_text.done", "response.refusal.done",
		"keepalive", "ping":
		return r.Alive() // the deltas before and the item's end say all of it
	}
	switch {
	case data.Get("object").Str == "response" && data.Get("output").IsArray(): // a whole answer as an event
		return r.response(data)
	case exchange.HasError(data):
		return r.failed(data)
	}
	return r.skipped("event " + kind)
}

// begin takes in what is known of the response at its start.
func (r *reply) begin(response gjson.Result) error {
	if err := r.named(response); err != nil {
		return err
	}
	return r.Alive()
}

// terminal takes in all that the terminal event has.
func (r *reply) terminal(word string, response gjson.Result) error {
	if status := response.Get("status").Str; status != "" {
		word = status
	}
	switch word {
	case "failed":
		return r.failed(response)
	case "cancelled", "queued", "in_progress":
		return r.NoAnswer("the answer ends in status " + word)
	}
	if err := r.named(response); err != nil {
		return err
	}
	if err := r.outputs(response.Get("output").Array()); err != nil {
		return err
	}
	for _, it := range r.items {
		if err := r.abandon(it); err != nil {
			return err
		}
	}
	r.reason(word, response.Get("incomplete_details.reason").Str, refusal.Filters(response.Get("content_filters")))
	if usage := response.Get("usage"); usage.IsObject() {
		r.stop.Usage, r.stop.RawUsage = usageOf(usage), json.RawMessage(usage.Raw)
		r.stop.Usage.Tier = response.Get("service_tier").Str
		r.stop.Usage.Searches, r.stop.Usage.Metered = r.charged(response.Get("tool_usage.web_search.num_requests"))
	}
	if err := r.transformed(response.Get("input_transformations")); err != nil {
		return err
	}
	r.stop.Cited = r.cited()
	return exchange.ErrDone
}

// Finish emits the Stop.
func (r *reply) Finish() error { return r.End(r.stop) }

// transformed passes on which earlier reasoning the vendor left out: it binds reasoning to its model, its organization,
// its end user and what stood before it (SDK: Response.InputTransformation).
func (r *reply) transformed(changes gjson.Result) error {
	removed, reason := 0, ""
	for _, c := range changes.Array() {
		if c.Get("type").Str == "reasoning" && c.Get("action").Str == "removed" {
			removed++
			reason = c.Get("reason").Str
		}
	}
	if removed == 0 {
		return nil
	}
	return r.Dropped(removed, reason, changes)
}

// outputs takes from the terminal event what the stream did not bring: a host may leave out the items' events, or the
// output. Nothing is taken once an item stands elsewhere than in the stream. Items whose end came stay as they came:
// here their encrypted content is another one.
func (r *reply) outputs(output []gjson.Result) error {
	for i, object := range output {
		it := r.at[int64(i)]
		if it != nil && it.kind != object.Get("type").Str {
			return nil
		}
		if it != nil && it.sealed {
			recite(it, object)
		}
		if it != nil && it.sealed || it == nil && len(r.items) != i {
			continue
		}
		if err := r.done(int64(i), object); err != nil {
			return err
		}
	}
	return nil
}

// reason says why it ended. filters are those of Azure that blocked something. A response with calls is completed like any other (docs: function-calling).
func (r *reply) reason(status, why, filters string) {
	r.stop.Raw = status
	switch {
	case status == "incomplete":
		if why != "" {
			r.stop.Raw += ":" + r.Text(why)
		}
		switch why {
		case "content_filter":
			if r.stop.Reason, r.stop.Detail = provider.StopRefusal, why; filters != "" {
				r.stop.Detail += ": " + r.Text(filters)
			}
		case "steered":
			r.stop.Reason = provider.StopEndTurn
		default:
			r.stop.Reason = provider.StopMaxTokens
		}
	case r.called:
		r.stop.Reason = provider.StopToolUse
	case r.refused:
		r.stop.Reason = provider.StopRefusal
	default:
		r.stop.Reason = provider.StopEndTurn
	}
}

// usageOf reads the counts: here input includes what the cache gave and took, and output includes reasoning.
func usageOf(object gjson.Result) provider.Usage {
	count := func(path string) int { return provider.Tokens(object.Get(path).Int()) }
	sum := provider.Usage{Input: count("input_tokens"), Output: count("output_tokens"),
		Cached: count("input_tokens_details.cached_tokens"), CacheWrite: count("input_tokens_details.cache_write_tokens")}
	sum.CacheWriteLong = count("input_tokens_details.cache_write_tokens_details.ttl_12h_tokens")
	sum.CacheWrite = max(sum.CacheWrite, sum.CacheWriteLong+count("input_tokens_details.cache_write_tokens_details.ttl_30m_tokens"))
	if n := object.Get("output_tokens_details.reasoning_tokens"); n.Type == gjson.Number {
		thought := count("output_tokens_details.reasoning_tokens")
		sum.Reasoning = &thought
	}
	return sum
}

// added opens an item, or adopts the one that deltas opened before. Another kind at an index that is open is another
// item, whose predecessor never ended.
func (r *reply) added(index int64, object gjson.Result) error {
	kind := object.Get("type").Str
	if kind == "" {
		return r.skipped("an item without a type")
	}
	it := r.at[index]
	switch {
	case it == nil:
		it = r.open(index, kind)
	case it.kind == kind && (!it.sealed || it.id == object.Get("id").Str):
		r.Deviations++ // once more
	default:
		if err := r.abandon(it); err != nil {
			return err
		}
		it = r.open(index, kind)
	}
	if it.sealed {
		return r.Alive()
	}
	it.learn(object)
	if it.isCall() && it.callID != "" && it.name != "" {
		return r.tell(it, r.argument(it))
	}
	if it.isServed() {
		return r.runs(it)
	}
	return r.Alive()
}

// abandon seals an item whose end did not come.
func (r *reply) abandon(it *item) error {
	if it.sealed {
		return nil
	}
	r.Deviations++
	it.sealed = true
	return r.settle()
}

// done takes in an item as it is at its end, which is how it has to be kept.
func (r *reply) done(index int64, object gjson.Result) error {
	kind := object.Get("type").Str
	if kind == "" {
		return r.skipped("the end of an item without a type")
	}
	it := r.at[index]
	if it != nil && it.sealed && it.kind == kind && it.id == object.Get("id").Str {
		return r.skipped("a second end of an item")
	}
	if it != nil && (it.sealed || it.kind != kind) {
		if err := r.abandon(it); err != nil {
			return err
		}
		it = nil
	}
	if it == nil {
		it = r.open(index, kind)
	}
	it.learn(object)
	it.sealed, it.end = true, object
	return r.settle()
}

// delta grows a part of an item. Where its item never began it is opened now; a part that has ended takes no more.
func (r *reply) delta(data []byte, kind, partKind, indexName string) error {
	at := gjson.GetBytes(data, "output_index")
	index := at.Int()
	if at.Type != gjson.Number {
		index = r.index(gjson.Result{})
	}
	piece := gjson.GetBytes(data, "delta")
	if piece.Type != gjson.String {
		return r.Alive() // the end says all of it
	}
	it := r.at[index]
	switch {
	case it == nil:
		r.Deviations++
		it = r.open(index, kind)
	case it.kind != kind:
		return r.skipped(partKind + " in an item of kind " + it.kind)
	case it.sealed:
		return r.skipped(partKind + " after its item")
	}
	if it.isCall() {
		return r.argue(it, data, piece)
	}
	var of int64
	if indexName != "" {
		of = gjson.GetBytes(data, indexName).Int()
	}
	p := it.last()
	if p == nil || p.kind != partKind || p.index != of {
		if it.part(partKind, of) != nil {
			return r.skipped(partKind + " after its part")
		}
		var err error
		if p, err = r.openPart(it, partKind, of); err != nil {
			return err
		}
	}
	r.likewise(data, piece, it, p)
	return r.show(it, p, p.text.Add(piece))
}

// argued notes what the arguments are at their end.
func (r *reply) argued(index int64, final gjson.Result) error {
	if it := r.at[index]; it != nil && it.isCall() && !it.sealed && final.Type == gjson.String {
		it.final = final
	}
	return r.Alive()
}

// Value takes in an answer that is one JSON value.
func (r *reply) Value(root gjson.Result) error {
	if nested := root.Get("response"); nested.Get("output").IsArray() {
		root = nested
	}
	switch {
	case exchange.HasError(root), root.Get("type").Str == "error":
		return r.failed(root)
	case !root.Get("output").IsArray():
		return r.NoAnswer("the answer is JSON, but no response")
	}
	return r.response(root)
}

// response takes in a whole response as if it had been streamed.
func (r *reply) response(root gjson.Result) error {
	if exchange.HasError(root) {
		return r.failed(root)
	}
	if len(r.items) == 0 {
		if err := r.NotStreamed(); err != nil {
			return err
		}
	}
	return r.terminal("completed", root)
}

// likewise notes that an event grew this part and did nothing else: so one like it does the same, whatever its number,
// its padding, and what it calls the item.
func (r *reply) likewise(data []byte, piece gjson.Result, it *item, p *shown) {
	if gjson.GetBytes(data, "type").Str == "" {
		return // the name of the event says what it is, and that is not in its data
	}
	r.stencil.Cut(data, []gjson.Result{piece}, gjson.GetBytes(data, "sequence_number"), gjson.GetBytes(data, "obfuscation"), gjson.GetBytes(data, "item_id"))
	r.growing, r.grown = it, p
}

// argue takes in a piece of a call's arguments. It is shown if the call is known by name, and if it can be JSON: some
// hosts send ciphertext here.
func (r *reply) argue(it *item, data []byte, piece gjson.Result) error {
	p := r.argument(it)
	text := p.text.Add(piece)
	start := strings.TrimSpace(p.text.String())
	if it.kind == "function_call" && start != "" && start[0] != '{' {
		p.secret = true
	}
	if p.secret || !p.begun {
		p.secret = true
		return r.Alive()
	}
	if start != "" { // what it begins with is settled
		r.likewise(data, piece, it, p)
	}
	return r.show(it, p, text)
}
