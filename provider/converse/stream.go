package converse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// Over reports whether messageStop came. The event with the usage follows it.
func (r *reply) Over() bool { return r.stop.Raw != "" }

// Event takes in one event. Most are the delta before with another text, and with other padding in its member p.
func (r *reply) Event(name string, data []byte) error {
	if piece, ok := r.stencil.Match(data); ok && name == "contentBlockDelta" {
		return r.parts.Grow(&r.grown.Part, piece)
	}
	r.stencil.Clear()
	if !gjson.ValidBytes(data) {
		return r.NoAnswer(fmt.Sprintf("an event of %d bytes is not JSON", len(data)))
	}
	if name != "contentBlockDelta" && !utf8.Valid(data) { // a delta's pieces may be cut inside a character
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	root := gjson.ParseBytes(data)
	switch name {
	case "contentBlockDelta":
		return r.delta(data, root)
	case "contentBlockStart":
		return r.start(root.Get("contentBlockIndex").Int(), root.Get("start"))
	case "contentBlockStop":
		p := r.blocks[root.Get("contentBlockIndex").Int()]
		if p == nil || p.Ended {
			return r.Deviation("stop without a block")
		}
		return r.seal(p)
	case "messageStart":
		return r.Alive()
	case "messageStop":
		r.stops(root.Get("stopReason").Str)
		return r.Alive()
	case "metadata":
		if u := root.Get("usage"); u.IsObject() {
			r.usage = json.RawMessage(u.Raw)
		}
		if r.Over() {
			return exchange.ErrDone
		}
		return r.Alive()
	}
	return r.Deviation("event " + name)
}

// start opens a block. Only calls have a start of their own: text and reasoning begin with their first delta.
func (r *reply) start(index int64, object gjson.Result) error {
	use := object.Get("toolUse")
	if !use.IsObject() {
		return r.Deviation("start of an unknown block")
	}
	if p := r.blocks[index]; p != nil && !p.Ended {
		again := p.Kind == provider.KindToolCall && (p.ID == use.Get("toolUseId").Str || p.Text.String() != "" && !gjson.Valid(p.Text.String()))
		if again {
			return r.Deviation("second start of a block")
		}
		r.Deviations++
		if err := r.seal(p); err != nil {
			return err
		}
	}
	p := r.open(index, provider.KindToolCall)
	p.ID, p.Name = exchange.Valid(use.Get("toolUseId").Str), r.request.names.Back(exchange.Valid(use.Get("name").Str))
	return r.parts.Begin(&p.Part)
}

func (r *reply) open(index int64, kind provider.BlockKind) *part {
	p := &part{Part: r.parts.Open(kind)}
	p.Thinking = r.shown()
	r.all, r.blocks[index] = append(r.all, p), p
	return p
}

// delta grows a block, or opens it. One of another kind than its block is not taken in: nothing is ever mixed.
func (r *reply) delta(event []byte, root gjson.Result) error {
	index, d := root.Get("contentBlockIndex").Int(), root.Get("delta")
	kind := provider.BlockKind("")
	switch {
	case d.Get("text").Type == gjson.String, d.Get("citation").IsObject():
		kind = provider.KindText
	case d.Get("reasoningContent").IsObject():
		kind = provider.KindThinking
	case d.Get("toolUse").IsObject():
		kind = provider.KindToolCall
	default:
		return r.Deviation("an unknown delta")
	}
	p := r.blocks[index]
	if p == nil {
		if kind == provider.KindToolCall {
			return r.Deviation("a delta before its call")
		}
		p = r.open(index, kind)
	}
	switch {
	case p.Ended:
		return r.Deviation("a delta after its block")
	case p.Kind != kind:
		return r.Deviation("a delta of another kind than its block")
	}
	switch kind {
	case provider.KindToolCall:
		return r.growOn(p, event, root, d.Get("toolUse.input"))
	case provider.KindThinking:
		return r.reason(p, event, root, d.Get("reasoningContent"))
	}
	if c := d.Get("citation"); c.IsObject() {
		r.cite(p, c)
		return r.Alive()
	}
	return r.growOn(p, event, root, d.Get("text"))
}

// reason takes in a piece of reasoning: text, the signature, or content that is redacted.
func (r *reply) reason(p *part, event []byte, root, piece gjson.Result) error {
	if s := piece.Get("signature"); s.Type == gjson.String {
		p.signature += exchange.Valid(s.Str)
		return r.Alive()
	}
	if s := piece.Get("redactedContent"); s.Type == gjson.String {
		p.redacted = append(p.redacted, exchange.Valid(s.Str))
		return r.Alive()
	}
	if text := piece.Get("text"); text.Type == gjson.String {
		if held, err := r.withhold(p, text); held || err != nil {
			return err
		}
		return r.growOn(p, event, root, text)
	}
	return r.Deviation("reasoning of an unknown form")
}

// withhold keeps back the mark that Nova sends in place of its reasoning, which may come in pieces. Text that begins like the mark and goes on
// otherwise is shown.
func (r *reply) withhold(p *part, piece gjson.Result) (held bool, err error) {
	if r.family != nova || p.Text.String() != "" {
		return false, nil
	}
	p.withheld = append(p.withheld, piece)
	if len(p.withheld) <= len(redacted) && strings.HasPrefix(redacted, strings.TrimSpace(p.mask())) {
		return true, r.Alive()
	}
	before := p.withheld[:len(p.withheld)-1]
	p.withheld = nil
	for _, piece := range before {
		if err := r.parts.Grow(&p.Part, piece); err != nil {
			return false, err
		}
	}
	return false, nil
}

// growOn grows a block by an event that does nothing else: so one like it does the same.
func (r *reply) growOn(p *part, event []byte, root, piece gjson.Result) error {
	r.stencil.Cut(event, []gjson.Result{piece}, root.Get("p"))
	r.grown = p
	return r.parts.Grow(&p.Part, piece)
}

// cite adds a page that a text refers to. Places in documents of the conversation have no address.
func (r *reply) cite(p *part, c gjson.Result) {
	url := c.Get("location.web.url").Str
	p.cited = exchange.Cite(p.cited, provider.Citation{URL: url, Title: c.Get("title").Str, Quote: c.Get("sourceContent.0.text").Str})
}

// Finish ends blocks that their host did not, and the reply.
func (r *reply) Finish() error {
	for _, p := range r.all {
		if !p.Ended {
			r.Deviations++
			if err := r.seal(p); err != nil {
				return err
			}
		}
	}
	r.stop.Usage, r.stop.RawUsage = used(r.usage), r.usage
	return r.End(r.stop)
}

// Value takes in an answer that came whole.
func (r *reply) Value(root gjson.Result) error {
	message := root.Get("output.message")
	if !message.IsObject() {
		if exchange.HasError(root) || root.Get("message").Type == gjson.String || root.Get("__type").Exists() {
			return r.Refusal(500, []byte(root.Raw))
		}
		return r.NoAnswer("the answer is JSON, but no answer of Converse")
	}
	if err := r.NotStreamed(); err != nil {
		return err
	}
	for i, b := range message.Get("content").Array() {
		if err := r.block(int64(i), b); err != nil {
			return err
		}
	}
	r.stops(root.Get("stopReason").Str)
	if r.stop.Raw == "" {
		return io.ErrUnexpectedEOF
	}
	if u := root.Get("usage"); u.IsObject() {
		r.usage = json.RawMessage(u.Raw)
	}
	return exchange.ErrDone
}

// block takes in a block that came whole.
func (r *reply) block(index int64, b gjson.Result) error {
	var p *part
	switch reasoning := b.Get("reasoningContent"); {
	case b.Get("text").Type == gjson.String:
		p = r.open(index, provider.KindText)
		if err := r.parts.Grow(&p.Part, b.Get("text")); err != nil {
			return err
		}
	case b.Get("citationsContent").IsObject():
		p = r.open(index, provider.KindText)
		for _, c := range b.Get("citationsContent.citations").Array() {
			r.cite(p, c)
		}
		for _, text := range b.Get("citationsContent.content.#.text").Array() {
			if err := r.parts.Grow(&p.Part, text); err != nil {
				return err
			}
		}
	case reasoning.IsObject():
		p = r.open(index, provider.KindThinking)
		if s := reasoning.Get("redactedContent"); s.Type == gjson.String {
			p.redacted = []string{s.Str}
		}
		p.signature = exchange.Valid(reasoning.Get("reasoningText.signature").Str)
		if text := reasoning.Get("reasoningText.text"); text.Type == gjson.String {
			if held, err := r.withhold(p, text); err != nil {
				return err
			} else if !held {
				if err := r.parts.Grow(&p.Part, text); err != nil {
					return err
				}
			}
		}
	case b.Get("toolUse").IsObject():
		if err := r.start(index, b); err != nil {
			return err
		}
		if p = r.blocks[index]; b.Get("toolUse.input").Exists() {
			input := b.Get("toolUse.input")
			text := input.Raw
			if input.Type == gjson.String {
				text = input.Str
			}
			p.Text.Write(exchange.Valid(text))
		}
	default:
		return r.Deviation("an unknown block")
	}
	return r.seal(p)
}
