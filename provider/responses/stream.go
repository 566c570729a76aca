package responses

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

// reply is the state of one answer.
type reply struct {
	*exchange.Answer

	api     *API
	model   string // that was asked for
	origin  provider.Origin
	next    int              // our number of the next block
	items   []*item          // all of them, in order of their start
	at      map[int64]*item  // the latest at each output_index
	settled int              // so many items were ended
	stencil exchange.Stencil // of the delta before, which grew this part of this item:
	growing *item
	grown   *shown
	called  bool // a tool call was sealed
	refused bool // the model refused, in its own words
	stop    provider.Stop
}

// Reply begins to read an answer.
func (c *call) Reply(a *exchange.Answer) exchange.Reply {
	return &reply{Answer: a, api: c.api, model: c.model, at: map[int64]*item{}, origin: a.Origin(c.model), stop: a.Stop(c.model)}
}

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

// index is where an event's item stands. Where nothing is said it is the item that was begun last.
func (r *reply) index(data gjson.Result) int64 {
	if at := data.Get("output_index"); at.Type == gjson.Number {
		return at.Int()
	}
	if n := len(r.items); n > 0 {
		return r.items[n-1].index
	}
	return 0
}

// begin takes in what is known of the response at its start.
func (r *reply) begin(response gjson.Result) error {
	r.named(response)
	return r.Alive()
}

// named notes which model answers. Where that is the name of a machine, the origin keeps the one that was asked for.
func (r *reply) named(response gjson.Result) {
	model := response.Get("model").Str
	if model == "" {
		return
	}
	r.stop.Model = model
	if !r.api.host.ModelBound {
		r.origin.Model = model
	}
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
	r.named(response)
	if err := r.outputs(response.Get("output").Array()); err != nil {
		return err
	}
	for _, it := range r.items {
		if err := r.abandon(it); err != nil {
			return err
		}
	}
	r.reason(word, response.Get("incomplete_details.reason").Str)
	if usage := response.Get("usage"); usage.IsObject() {
		r.stop.Usage, r.stop.RawUsage = usageOf(usage), json.RawMessage(usage.Raw)
		r.stop.Usage.Tier = response.Get("service_tier").Str
	}
	if err := r.transformed(response.Get("input_transformations")); err != nil {
		return err
	}
	r.stop.Cited = r.cited()
	return exchange.Done
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
	text := fmt.Sprintf("blocks of earlier thinking that the provider left out: %d (%s)", removed, r.Text(reason))
	return r.Emit(provider.Notice{Kind: provider.NoticeDropped, Text: text, Data: []byte(changes.Raw)})
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

// reason says why it ended. A response with calls is completed like any other (docs: function-calling).
func (r *reply) reason(status, why string) {
	r.stop.Raw = status
	switch {
	case status == "incomplete":
		if why != "" {
			r.stop.Raw += ":" + r.Text(why)
		}
		switch why {
		case "content_filter":
			r.stop.Reason, r.stop.Detail = provider.StopRefusal, why
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

// skipped notes an event that the API does not foresee. Events of tools that the vendor runs are foreseen, and say nothing that their
// item does not.
func (r *reply) skipped(what string) error {
	hosted := []string{"_call.", "_call_code.", "_call_command.", "_call_output", "annotation.", "mcp_", "image_generation", "compaction"}
	if slices.ContainsFunc(hosted, func(word string) bool { return strings.Contains(what, word) }) {
		return r.Alive()
	}
	return r.Deviation(what)
}
