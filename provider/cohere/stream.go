package cohere

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// Over reports whether message-end came. Only [DONE] follows it.
func (r *reply) Over() bool { return r.stop.Raw != "" }

// Event takes in one event (docs: streaming, tool-use-streaming). Most are the delta before with another text.
func (r *reply) Event(_ string, data []byte) error {
	if piece, ok := r.stencil.Match(data); ok {
		return r.parts.Grow(&r.grown.Part, piece)
	}
	r.stencil.Clear()
	if string(data) == "[DONE]" {
		if r.Over() {
			return exchange.ErrDone
		}
		return r.Deviation("[DONE] before message-end")
	}
	if !gjson.ValidBytes(data) {
		return r.NoAnswer(fmt.Sprintf("an event of %d bytes is not JSON", len(data)))
	}
	root := gjson.ParseBytes(data)
	kind := root.Get("type").Str
	if kind != "content-delta" && kind != "tool-plan-delta" && kind != "tool-call-delta" && !utf8.Valid(data) { // a delta's pieces may be cut inside a character
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
		root = gjson.ParseBytes(data)
	}
	message, index := root.Get("delta.message"), root.Get("index").Int()
	switch kind {
	case "message-start", "citation-end", "debug":
		return r.Alive()
	case "content-start":
		return r.content(index, message.Get("content"))
	case "content-delta":
		return r.contentDelta(data, index, message.Get("content"))
	case "tool-plan-delta":
		return r.plan(data, message.Get("tool_plan"))
	case "tool-call-start":
		return r.call(index, message.Get("tool_calls"))
	case "tool-call-delta":
		return r.callDelta(data, index, message.Get("tool_calls.function.arguments"))
	case "content-end":
		return r.end(place{"content", index})
	case "tool-call-end":
		return r.end(place{"tool_calls", index})
	case "citation-start":
		return r.cite(message.Get("citations"))
	case "message-end":
		if err := r.ends(root.Get("delta")); err != nil {
			return err
		}
		return r.Alive()
	}
	if text := root.Get("message"); kind == "" && text.Type == gjson.String { // a refusal inside of the stream
		return r.Refusal(http.StatusInternalServerError, data)
	}
	return r.Deviation("event " + kind)
}

// kinds are the API's words for content, which are the names of the member with its text as well.
var kinds = map[string]provider.BlockKind{"text": provider.KindText, "thinking": provider.KindThinking}

// content opens a block of text or thinking.
func (r *reply) content(index int64, c gjson.Result) error {
	word := c.Get("type").Str
	kind, known := kinds[word]
	if !known {
		return r.Deviation("content of the type " + word)
	}
	b, err := r.open(place{"content", index}, kind)
	if err != nil {
		return err
	}
	return r.parts.Grow(&b.Part, c.Get(word))
}

// contentDelta grows text or thinking. One of another kind than its block is not taken in: nothing is ever mixed.
func (r *reply) contentDelta(data []byte, index int64, c gjson.Result) error {
	word := "text"
	if c.Get("thinking").Type == gjson.String {
		word = "thinking"
	}
	b := r.latest[place{"content", index}]
	switch {
	case b == nil:
		var err error
		if b, err = r.open(place{"content", index}, kinds[word]); err != nil {
			return err
		}
	case b.Ended:
		return r.Deviation("a delta after its block")
	case b.Kind != kinds[word]:
		return r.Deviation("a delta of another kind than its block")
	}
	return r.growOn(b, data, c.Get(word))
}

// plan grows the tool plan, which has no start and no end of its own.
func (r *reply) plan(data []byte, piece gjson.Result) error {
	at := place{member: "tool_plan"}
	b := r.latest[at]
	if b == nil || b.Ended {
		var err error
		if b, err = r.open(at, provider.KindThinking); err != nil {
			return err
		}
	}
	return r.growOn(b, data, piece)
}

// call opens a call, and ends the plan that led to it.
func (r *reply) call(index int64, c gjson.Result) error {
	if err := r.planned(); err != nil {
		return err
	}
	at := place{"tool_calls", index}
	if b := r.latest[at]; b != nil && !b.Ended && (b.ID == c.Get("id").Str || b.Text.String() != "" && !gjson.Valid(b.Text.String())) {
		return r.Deviation("second start of a call")
	}
	b, err := r.open(at, provider.KindToolCall)
	if err != nil {
		return err
	}
	b.ID, b.Name = exchange.Valid(c.Get("id").Str), r.request.names.Back(exchange.Valid(c.Get("function.name").Str))
	if err := r.parts.Begin(&b.Part); err != nil {
		return err
	}
	return r.parts.Grow(&b.Part, c.Get("function.arguments"))
}

// planned ends the tool plan.
func (r *reply) planned() error {
	if b := r.latest[place{member: "tool_plan"}]; b != nil && !b.Ended {
		return r.seal(b)
	}
	return nil
}

func (r *reply) callDelta(data []byte, index int64, piece gjson.Result) error {
	b := r.latest[place{"tool_calls", index}]
	switch {
	case b == nil:
		return r.Deviation("a delta before its call")
	case b.Ended:
		return r.Deviation("a delta after its call")
	}
	return r.growOn(b, data, piece)
}

// growOn grows a block by an event that does nothing else: so one like it does the same.
func (r *reply) growOn(b *block, data []byte, piece gjson.Result) error {
	if piece.Type == gjson.String {
		r.stencil.Cut(data, []gjson.Result{piece})
		r.grown = b
	}
	return r.parts.Grow(&b.Part, piece)
}

func (r *reply) end(at place) error {
	b := r.latest[at]
	if b == nil || b.Ended {
		return r.Deviation("the end of no block")
	}
	return r.seal(b)
}

// cite takes in a citation. It belongs to the content that it names, else to the latest text. Citations of thinking and of plans refer to
// what nobody reads as the answer.
func (r *reply) cite(c gjson.Result) error {
	if kind := c.Get("type").Str; kind != "" && kind != "TEXT_CONTENT" {
		return r.Alive()
	}
	b := r.latest[place{"content", c.Get("content_index").Int()}]
	if !c.Get("content_index").Exists() || b == nil || b.Kind != provider.KindText {
		b = r.latestText()
	}
	if b == nil {
		return r.Deviation("a citation without a text")
	}
	b.cites, b.late = append(b.cites, c), b.late || b.Ended
	return r.Alive()
}

func (r *reply) latestText() *block {
	for i := len(r.all) - 1; i >= 0; i-- {
		if r.all[i].Kind == provider.KindText {
			return r.all[i]
		}
	}
	return nil
}

// Finish ends blocks that their host did not, and the reply.
func (r *reply) Finish() error {
	if err := r.planned(); err != nil {
		return err
	}
	for _, b := range r.all {
		switch {
		case !b.Ended:
			r.Deviations++
			if err := r.seal(b); err != nil {
				return err
			}
		case b.late && b.Text.String() != "":
			r.stop.Cited = append(r.stop.Cited, provider.Cited{Index: b.Number(), Sources: b.sources()})
		}
	}
	return r.End(r.stop)
}

// Value takes in an answer that came whole (docs: reference/chat).
func (r *reply) Value(root gjson.Result) error {
	message := root.Get("message")
	if !message.IsObject() {
		if message.Type == gjson.String || exchange.HasError(root) {
			return r.Refusal(http.StatusInternalServerError, []byte(root.Raw))
		}
		return r.NoAnswer("the answer is JSON, but no answer of Chat")
	}
	if err := r.NotStreamed(); err != nil {
		return err
	}
	citations := message.Get("citations").Array()
	for i, c := range message.Get("content").Array() {
		if err := r.whole(int64(i), c, &citations); err != nil {
			return err
		}
	}
	if plan := message.Get("tool_plan"); plan.Str != "" {
		if err := r.plan(nil, plan); err != nil {
			return err
		}
	}
	for i, c := range message.Get("tool_calls").Array() {
		if err := r.call(int64(i), c); err != nil {
			return err
		}
		if err := r.end(place{"tool_calls", int64(i)}); err != nil {
			return err
		}
	}
	if err := r.ends(root); err != nil {
		return err
	}
	if !r.Over() {
		return io.ErrUnexpectedEOF
	}
	return exchange.ErrDone
}

// whole takes in a text or thinking that came whole, with the citations that it has. Those without an index are of the first text.
func (r *reply) whole(index int64, c gjson.Result, citations *[]gjson.Result) error {
	if err := r.content(index, c); err != nil {
		return err
	}
	b := r.latest[place{"content", index}]
	if b == nil {
		return nil // of an unknown type
	}
	var rest []gjson.Result
	for _, cited := range *citations {
		at := cited.Get("content_index")
		if b.Kind != provider.KindText || at.Exists() && at.Int() != index {
			rest = append(rest, cited)
		} else if err := r.cite(cited); err != nil {
			return err
		}
	}
	*citations = rest
	return r.seal(b)
}
