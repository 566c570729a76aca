package messages

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

func (r *reply) open(index int64, kind string) *part {
	p := &part{kind: kind}
	if !r.Whole {
		p.since = time.Now()
	}
	r.parts = append(r.parts, p)
	r.blocks[index] = p
	return p
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
	return r.Delta(p.number, text)
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
		if p.serverTool() {
			shell = provider.ServerTool{}
		}
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
