package chat

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider/exchange"
)

func (d *detail) string(member string) string { return gjson.ParseBytes(d.members[member]).Str }
func (d *detail) kind() string                { return d.string("type") }

// textMember is where an element of this type has its text; empty for those without.
func textMember(kind string) string {
	switch kind {
	case "reasoning.text", "": // some hosts leave out the type
		return "text"
	case "reasoning.summary":
		return "summary"
	}
	return ""
}

// MarshalJSON writes the element as it would have come whole.
func (d *detail) MarshalJSON() ([]byte, error) {
	out := tree{}
	for name, value := range d.members {
		out[name] = value
	}
	if member := textMember(d.kind()); member != "" && (d.text.String() != "" || d.members[member] != nil) {
		out[member] = d.text.String()
	}
	return exchange.Encode(out)
}

func (ds *details) raw() json.RawMessage {
	data, err := exchange.Encode(ds.list)
	if err != nil {
		return json.RawMessage("[]") // members are JSON that was checked: this cannot be
	}
	return data
}

// find is the element that a piece goes on with. Text goes on where the last element has its type and index; a
// signature alone completes the last one of that type and index that has none, however much came in between. What is
// encrypted always stands for itself.
func (ds *details) find(piece gjson.Result) *detail {
	kind, index := piece.Get("type").Str, piece.Get("index").Raw
	member := textMember(kind)
	if member == "" {
		return nil
	}
	alone := piece.Get("signature").Str != "" && piece.Get(member).Str == ""
	for i := len(ds.list) - 1; i >= 0; i-- {
		d := ds.list[i]
		if d.kind() == kind && (index == "" || string(d.members["index"]) == index) && (!alone || d.string("signature") == "") {
			return d
		}
		if !alone {
			return nil
		}
	}
	return nil
}

// add takes in one piece and returns its element, the text that is new in it, and whether the element is.
func (ds *details) add(piece gjson.Result, cumulative bool) (d *detail, text string, fresh bool) {
	ds.came = true
	d = ds.find(piece)
	if d == nil {
		d = &detail{members: map[string]json.RawMessage{}, text: new(exchange.Growth)}
		ds.list = append(ds.list, d)
		fresh = true
	}
	member := textMember(piece.Get("type").Str)
	piece.ForEach(func(key, value gjson.Result) bool {
		name := exchange.Valid(key.Str)
		switch {
		case name == member && value.Type == gjson.String:
			if fresh {
				d.members[name] = json.RawMessage(`""`)
			}
			if cumulative && strings.HasPrefix(value.Str, d.text.String()) {
				text = value.Str[len(d.text.String()):]
				d.text.Write(exchange.Valid(text))
				return true
			}
			text = d.text.Add(value)
		case value.Type == gjson.Null && d.members[name] != nil: // says nothing new
		default:
			d.members[name] = json.RawMessage(exchange.Valid(value.Raw))
		}
		return true
	})
	return d, exchange.Valid(text), fresh
}

// attach takes in details whose text came under a name as well.
func (r *reply) attach(list gjson.Result, p *part) {
	list.ForEach(func(_, piece gjson.Result) bool {
		if piece.IsObject() {
			r.own(piece, p)
		}
		return true
	})
}

// own adds a piece, and its element to the part that it came in; late if its own part has ended.
func (r *reply) own(piece gjson.Result, p *part) (text string) {
	d, text, fresh := r.details.add(piece, r.form.DetailsMerge == mergeCumulative)
	switch {
	case fresh && p != nil:
		d.owner = p
		p.details = append(p.details, d)
	case d.owner == nil || d.owner != r.open:
		r.details.late = true
	}
	return text
}
