package messages

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// seal makes a block of ours of what came, and ends it. Text and thinking that are empty and hold nothing to send back
// are not announced at all.
func (r *reply) seal(p *part) error {
	p.ended = true
	rest := p.text.Rest("")
	if known := p.kind == "text" || p.kind == "thinking" || p.kind == "tool_use"; known && rest != "" {
		if err := r.show(p, rest); err != nil {
			return err
		}
	}
	var b provider.Block
	var err error
	switch p.kind {
	case "text":
		b, err = r.sealText(p)
	case "thinking":
		b, err = r.sealThinking(p)
	case "redacted_thinking":
		var state provider.State
		state, err = r.state(p, nil)
		b = provider.Thinking{Kind: provider.ThinkingRedacted, Signed: true, State: state}
	case "tool_use":
		b, err = r.sealCall(p)
	case "fallback":
		if err := r.fellBack(p); err != nil {
			return err
		}
		b, err = r.sealOpaque(p)
	default:
		b, err = r.sealOpaque(p)
		if opaque, ok := b.(provider.Opaque); ok && p.serverTool() {
			b = serverTool(opaque.State)
		}
	}
	if err == exchange.ErrLeft {
		return err
	}
	if err != nil {
		return r.NoAnswer("block of kind " + p.kind + ": " + err.Error())
	}
	if b == nil {
		return r.Alive()
	}
	if err := r.tell(p); err != nil {
		return err
	}
	return r.Emit(provider.End{Index: p.number, Block: b})
}

// sealText keeps the vendor's object only where it says more than the text.
func (r *reply) sealText(p *part) (provider.Block, error) {
	b := provider.Text{Text: p.text.String()}
	if !p.more("type", "text") && len(p.cited) == 0 {
		if b.Text == "" {
			return nil, nil
		}
		return b, nil
	}
	citations := gjson.ParseBytes(p.members["citations"]).Array() // of an answer that came whole
	for _, raw := range p.cited {
		citations = append(citations, gjson.ParseBytes(raw))
	}
	for _, cited := range citations {
		address := cited.Get("url").Str
		if address == "" { // of a search result, where it may be an address
			address = cited.Get("source").Str
		}
		if b.Text == "" || !strings.Contains(address, "://") {
			continue // documents of the conversation have no address
		}
		b.Sources = exchange.Cite(b.Sources, provider.Citation{URL: address, Title: cited.Get("title").Str, Quote: cited.Get("cited_text").Str, End: len(b.Text)})
	}
	var err error
	b.State, err = r.state(p, map[string]any{"text": b.Text})
	return b, err
}

// sealThinking has no state where the signature is missing: max_tokens hit inside the block, and the vendor would not
// take it back (docs: handling-stop-reasons). A host that never signs does.
func (r *reply) sealThinking(p *part) (provider.Block, error) {
	b := provider.Thinking{Text: p.text.String(), Kind: r.thinkingKind(p), Tokens: p.estimate, Estimated: p.estimate > 0}
	if !p.since.IsZero() {
		b.Duration = time.Since(p.since)
	}
	object := map[string]any{"thinking": b.Text}
	switch {
	case p.sig != "":
		object["signature"] = p.sig
	case b.Text == "":
		return nil, nil
	case !r.api.host.Unsigned:
		return b, nil
	}
	if r.opaque && b.Text != "" {
		return b, nil
	}
	b.Signed = true
	var err error
	b.State, err = r.state(p, object)
	return b, err
}

// sealCall takes the input from the deltas, else from the start. No text at all is a call without arguments.
func (r *reply) sealCall(p *part) (provider.Block, error) {
	b := provider.ToolCall{ID: p.string("id"), Name: p.string("name")}
	text := p.text.String()
	shown := p.shown
	p.shown = true // what comes is complete
	if exchange.NoArguments(text) {
		text = "{}"
		if given := gjson.ParseBytes(p.members["input"]); given.IsObject() && len(given.Map()) > 0 {
			text = given.Raw
			if err := r.show(p, text); err != nil {
				return nil, err
			}
		}
	}
	if !shown && !exchange.NoArguments(p.text.String()) {
		if err := r.show(p, text); err != nil {
			return nil, err
		}
	}
	if !gjson.Valid(text) || !gjson.Parse(text).IsObject() {
		b.Invalid = text
		return b, nil
	}
	b.Input = json.RawMessage(text)
	if !p.more("type", "id", "name", "input") {
		return b, nil
	}
	var err error
	b.State, err = r.state(p, map[string]any{"input": b.Input})
	return b, err
}

// fellBack says that another model answers from here on than the one that was asked.
func (r *reply) fellBack(p *part) error {
	model := func(member string) string {
		return r.Text(gjson.GetBytes(p.members[member], "model").Str)
	}
	text := fmt.Sprintf("%s answers instead of %s", cmp.Or(model("to"), r.Text(gjson.ParseBytes(p.members["model"]).Str), "another model"), cmp.Or(model("from"), r.origin.Model))
	if why := r.Text(gjson.ParseBytes(p.members["trigger"]).String()); why != "" {
		text += ": " + why
	}
	if err := r.Served(model("to"), ""); err != nil {
		return err
	}
	return r.Emit(provider.Notice{Kind: provider.NoticeOverride, Text: text})
}

func (r *reply) sealOpaque(p *part) (provider.Block, error) {
	set := map[string]any{}
	if text := p.text.String(); gjson.Valid(text) {
		set["input"] = json.RawMessage(text)
	}
	for name, g := range p.grown {
		g.Rest("")
		set[name] = g.String()
	}
	state, err := r.state(p, set)
	return provider.Opaque{State: state}, err
}

// more reports whether the vendor's object has members other than these.
func (p *part) more(known ...string) bool {
	for name, value := range p.members {
		said := false
		for _, k := range known {
			said = said || name == k
		}
		if text := string(value); !said && text != "null" && text != "[]" {
			return true
		}
	}
	return false
}

// state is the vendor's object as it would have come whole: the start's members with what the deltas made of them.
func (r *reply) state(p *part, set map[string]any) (provider.State, error) {
	object := map[string]any{"type": p.kind}
	for name, value := range p.members {
		object[name] = value
	}
	for name, value := range set {
		object[name] = value
	}
	if len(p.cited) > 0 {
		var cited []json.RawMessage
		for _, c := range gjson.ParseBytes(p.members["citations"]).Array() {
			cited = append(cited, json.RawMessage(c.Raw))
		}
		object["citations"] = append(cited, p.cited...)
	}
	data, err := exchange.Encode(object)
	return provider.State{Origin: r.origin, Data: data}, err
}
