package messages

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// part is a block of the answer while it comes.
type part struct {
	kind     string                     // the vendor's `type`
	members  map[string]json.RawMessage // of content_block as it started
	implied  bool                       // deltas came, its start did not
	begun    bool                       // Begin was told, and number is set
	number   int
	ended    bool
	since    time.Time       // of its start; zero: the answer came whole
	text     exchange.Growth // of text, thinking, and the JSON of a tool's input
	grown    map[string]*exchange.Growth
	cited    []json.RawMessage
	sig      string
	estimate int  // tokens
	shown    bool // of a call: a piece of its input was shown
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

func (r *reply) open(index int64, kind string) *part {
	p := &part{kind: kind}
	if !r.Whole {
		p.since = time.Now()
	}
	r.parts = append(r.parts, p)
	r.blocks[index] = p
	return p
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

// growOn grows a block by an event that does nothing else: so one like it does the same.
func (r *reply) growOn(p *part, event []byte, piece gjson.Result) error {
	r.stencil.Cut(event, []gjson.Result{piece})
	r.grown = p
	return r.grow(p, piece)
}

// grow takes in a piece of a block's text and tells what is whole of it. A block is begun with its first character, so
// that empty ones are never announced.
func (r *reply) grow(p *part, piece gjson.Result) error {
	if piece.Type != gjson.String {
		return r.Alive()
	}
	return r.show(p, p.text.Add(piece))
}

func (r *reply) show(p *part, text string) error {
	if text == "" {
		return r.Alive()
	}
	if p.kind == "tool_use" && !p.shown { // the word null stands for no input, and is not shown
		text = p.text.String()
		if strings.HasPrefix("null", strings.TrimSpace(text)) {
			return r.Alive()
		}
		p.shown = true
	}
	if err := r.tell(p); err != nil {
		return err
	}
	return r.Emit(provider.Delta{Index: p.number, Text: text})
}

// tell begins a block, once.
func (r *reply) tell(p *part) error {
	if p.begun {
		return nil
	}
	p.begun, p.number = true, r.next
	r.next++
	var shell provider.Block
	switch p.kind {
	case "text":
		shell = provider.Text{}
	case "thinking", "redacted_thinking":
		shell = provider.Thinking{Kind: r.thinkingKind(p)}
	case "tool_use":
		shell = provider.ToolCall{ID: p.string("id"), Name: p.string("name")}
	default:
		shell = provider.Opaque{}
	}
	return r.Emit(provider.Begin{Index: p.number, Block: shell})
}

func (p *part) string(member string) string { return gjson.ParseBytes(p.members[member]).Str }

// thinkingKind says what the text is. The vendor's models from Claude 4 on show a summary, those before and other
// vendors' the thinking itself (docs: extended-thinking).
func (r *reply) thinkingKind(p *part) provider.ThinkingKind {
	switch {
	case p.kind == "redacted_thinking":
		return provider.ThinkingRedacted
	case p.text.String() == "":
		return provider.ThinkingOmitted
	case r.origin.Vendor != "anthropic" && !r.api.host.Claude || strings.HasPrefix(r.origin.Model, "claude-3"):
		return provider.ThinkingFull
	}
	return provider.ThinkingSummary
}

func (r *reply) cite(p *part, citation gjson.Result) error {
	if citation.Exists() {
		p.cited = append(p.cited, json.RawMessage(exchange.Valid(citation.Raw)))
	}
	return r.Alive()
}

// absorb joins a delta into a block that this build does not know, by the names of its members: text is appended, a
// citation added, JSON text becomes the input, anything else replaces what was there.
func (r *reply) absorb(p *part, d gjson.Result) error {
	d.ForEach(func(key, value gjson.Result) bool {
		switch name := exchange.Valid(key.Str); {
		case name == "type":
		case name == "citation":
			p.cited = append(p.cited, json.RawMessage(exchange.Valid(value.Raw)))
		case name == "partial_json" && value.Type == gjson.String:
			p.text.Add(value)
		case value.Type == gjson.String:
			p.member(name).Add(value)
		case value.Type != gjson.Null:
			p.members[name] = json.RawMessage(exchange.Valid(value.Raw))
			delete(p.grown, name)
		}
		return true
	})
	return r.Alive()
}

// member is a string of the block that grows; it begins with what the start said.
func (p *part) member(name string) *exchange.Growth {
	g := p.grown[name]
	if g == nil {
		g = new(exchange.Growth)
		if had := gjson.ParseBytes(p.members[name]); had.Type == gjson.String {
			g.Add(had)
		}
		if p.grown == nil {
			p.grown = map[string]*exchange.Growth{}
		}
		p.grown[name] = g
	}
	return g
}

// end closes a block.
func (r *reply) end(index int64) error {
	p := r.blocks[index]
	if p == nil || p.ended {
		return r.Deviation("stop without a block")
	}
	return r.seal(p)
}
