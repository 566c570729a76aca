package responses

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// annotated notes an annotation of a text, which may have ended.
func (r *reply) annotated(index int64, data gjson.Result) error {
	it := r.at[index]
	if it == nil || it.kind != "message" {
		return r.Alive()
	}
	p := it.last()
	if at := data.Get("content_index"); at.Type == gjson.Number {
		if named := it.part("output_text", at.Int()); named != nil {
			p = named
		}
	}
	if p != nil && len(p.cited) < provider.MaxCitations {
		p.cited = append(p.cited, data.Get("annotation"))
		p.late = p.ended
	}
	return r.Alive()
}

// cited is the sources of texts that had ended when they were named.
func (r *reply) cited() (list []provider.Cited) {
	for _, it := range r.items {
		for _, p := range it.parts {
			if p.late {
				list = append(list, provider.Cited{Index: p.number, Sources: sources(p.text.String(), p.cited)})
			}
		}
	}
	return list
}

// recite takes what an item says of its texts' annotations at its end: all of them.
func recite(it *item, object gjson.Result) {
	for i, final := range object.Get("content").Array() {
		p := it.part("output_text", int64(i))
		if list := final.Get("annotations").Array(); p != nil && len(list) > len(p.cited) {
			p.cited = list[:min(len(list), provider.MaxCitations)]
			p.late = p.ended
		}
	}
}

// settle ends the items whose end came, in the order in which they began: that is the order that they go back in, and
// some hosts end reasoning after the message that it led to.
func (r *reply) settle() error {
	for ; r.settled < len(r.items); r.settled++ {
		it := r.items[r.settled]
		if !it.sealed {
			return r.Alive()
		}
		if err := r.seal(it, it.end); err != nil {
			return err
		}
	}
	return r.Alive()
}

// seal tells the end of an item. object is the item at its end, and without a value where that did not come: then what
// is there is shown and not kept for the vendor.
func (r *reply) seal(it *item, object gjson.Result) error {
	state := provider.State{}
	if object.Exists() {
		state = provider.State{Origin: r.origin, Data: json.RawMessage(object.Raw)}
	}
	if r.opaque && it.kind == "reasoning" && readable(object) {
		state = provider.State{}
	}
	if !state.IsZero() && it.kind == "reasoning" && object.Get("encrypted_content").Str == "" {
		state.Origin.Model = r.model // in the open it is for this model alone, whatever the host calls it
	}
	switch {
	case it.isCall():
		return r.sealCall(it, object, state)
	case it.kind == "reasoning", it.kind == "message":
		return r.sealParts(it, object, state)
	case it.isServed():
		return r.ran(it, object, state)
	case state.IsZero():
		return r.skipped("no end of an item of kind " + it.kind)
	}
	p := &shown{}
	if err := r.tell(it, p); err != nil {
		return err
	}
	return r.Emit(provider.End{Index: p.number, Block: provider.Opaque{State: state}})
}

// readable reports whether an item of reasoning has text that people can read.
func readable(object gjson.Result) bool {
	return len(object.Get("summary").Array()) > 0 || len(object.Get("content").Array()) > 0
}

// sealParts shows what the deltas left out of an item's parts, and ends the last one with the item. An item without
// any has one empty block, if there is something to keep.
func (r *reply) sealParts(it *item, object gjson.Result, state provider.State) error {
	recite(it, object)
	for _, list := range []string{"summary", "content"} {
		if err := r.complete(it, list, object.Get(list).Array()); err != nil {
			return err
		}
	}
	p := it.last()
	if p == nil {
		if state.IsZero() {
			return r.Alive()
		}
		p = &shown{since: it.since}
	}
	if err := r.show(it, p, p.text.Rest("")); err != nil {
		return err
	}
	if !p.begun && state.IsZero() {
		return r.Alive()
	}
	sealed := object.Get("encrypted_content").Str != "" || len(object.Get("content").Array()) > 0
	return r.end(it, p, state, sealed)
}

// complete brings the parts of one list to what the item says of them at its end. They are distinguished by their index, or by
// their order where all of them came: one host counts its parts from where it likes.
func (r *reply) complete(it *item, list string, finals []gjson.Result) error {
	var streamed []*shown
	for _, p := range it.parts {
		if (p.kind == "summary_text") == (list == "summary") {
			streamed = append(streamed, p)
		}
	}
	for i, final := range finals {
		kind, text := final.Get("type").Str, final.Get("text").Str
		switch {
		case kind == "refusal":
			text = final.Get("refusal").Str
		case list == "summary":
			kind = "summary_text"
		case it.kind == "reasoning":
			kind = "reasoning_text"
		default:
			kind = "output_text"
		}
		p := it.part(kind, int64(i))
		if len(streamed) == len(finals) {
			p = streamed[i]
		}
		if p == nil && text != "" {
			var err error
			if p, err = r.openPart(it, kind, int64(i)); err != nil {
				return err
			}
		}
		if p == nil || p != it.last() {
			continue // empty, or ended
		}
		if list := final.Get("annotations").Array(); len(list) > 0 {
			p.cited = list // all of them
		}
		if err := r.show(it, p, p.text.Rest(text)); err != nil {
			return err
		}
	}
	return nil
}

// sealCall ends a call. What is shown of its arguments is what it has; a call that nobody can name is none.
func (r *reply) sealCall(it *item, object gjson.Result, state provider.State) error {
	if it.callID == "" || it.name == "" {
		return r.skipped("a call without an id or a name")
	}
	p := r.argument(it)
	final := object.Get("arguments")
	if it.kind == "custom_tool_call" {
		final = object.Get("input")
	}
	if !final.Exists() {
		final = it.final
	}
	text := final.String() // an object, from hosts that send no string, is its own text
	if !p.begun || p.secret {
		if whole := p.text.String(); !final.Exists() && exchange.NoArguments(whole) || final.Exists() && exchange.NoArguments(text) {
			p.text = exchange.Growth{}
			text, final = "", gjson.Result{}
		}
	}
	if p.begun && !p.secret {
		if err := r.show(it, p, p.text.Rest(text)); err != nil {
			return err
		}
		text = p.text.String()
	} else {
		if !final.Exists() {
			p.text.Rest("")
			text = p.text.String()
		}
		if err := r.show(it, p, text); err != nil {
			return err
		}
	}
	if err := r.tell(it, p); err != nil {
		return err
	}
	b := provider.ToolCall{ID: it.callID, Name: it.name, State: state}
	switch {
	case strings.TrimSpace(text) == "":
		b.Input = json.RawMessage("{}")
	case gjson.Valid(text) && gjson.Parse(text).IsObject():
		b.Input = json.RawMessage(text)
	default:
		b.Invalid = text
	}
	r.called = true
	return r.Emit(provider.End{Index: p.number, Block: b})
}
