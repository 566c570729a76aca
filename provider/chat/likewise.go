package chat

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider/exchange"
)

// again takes in another piece, of a chunk that differs from the one before only in its text.
func (r *reply) again(piece gjson.Result) error {
	var err error
	if r.like.field == "" {
		err = r.text(piece)
	} else {
		if d := r.like.detail; d != nil {
			d.text.Add(piece)
		}
		err = r.under(r.like.field, piece, gjson.Result{})
	}
	if err != nil {
		return err
	}
	return r.Alive()
}

// likewise notes a chunk that brought one piece of text and did nothing else that would not be the same if it were
// done once more: so one like it does the same, whatever its time, its padding, and its id, which counts once.
func (r *reply) likewise(data []byte, root gjson.Result) {
	choices := exchange.Once(root, "choices")
	delta := exchange.Once(choices.Get("0"), "delta")
	if !delta.IsObject() || choices.Get("1").Exists() {
		return
	}
	if l, pieces := r.sole(delta); len(pieces) > 0 {
		r.like = l
		r.stencil.Cut(data, pieces, root.Get("created"), root.Get("id"), root.Get("obfuscation"), root.Get("p"))
	}
}

// sole is what a delta brought, and all places at which that stands; none if it brought anything else, too.
func (r *reply) sole(delta gjson.Result) (l like, pieces []gjson.Result) {
	var said, came gjson.Result
	other := false
	delta.ForEach(func(key, value gjson.Result) bool {
		text := value.Type == gjson.String
		switch name := key.Str; {
		case text && value.Str == "", value.Type == gjson.Null:
		case text && slices.Contains(r.form.TextFields, name):
			pieces = append(pieces, value)
		case text && name == "content" && !said.Exists():
			said = value
		case name == r.form.DetailsField && !came.Exists():
			came = value
		case slices.Contains([]string{"content", "refusal", "tool_calls", "annotations", "images", r.form.DetailsField, r.form.OpaqueField}, name), slices.Contains(r.form.MessageFields, name):
			other = true
		}
		return !other
	})
	if other || said.Exists() && (len(pieces) > 0 || came.Exists()) {
		return l, nil
	}
	if said.Exists() {
		return l, []gjson.Result{said}
	}
	for _, field := range r.form.TextFields {
		if delta.Get(field).Str != "" {
			l.field = field
			break
		}
	}
	if came.Exists() {
		if l.field == "" { // details alone are not text
			return l, nil
		}
		text, ok := r.beside(came)
		if !ok {
			return l, nil
		}
		l.detail, pieces = r.details.list[len(r.details.list)-1], append(pieces, text)
	}
	return l, pieces
}

// beside returns the text in details that came in the same chunk as thinking under a name, if it is a piece that is added to one element.
func (r *reply) beside(came gjson.Result) (text gjson.Result, ok bool) {
	d := came.Get("0")
	member := textMember(d.Get("type").Str)
	if member == "" || came.Get("1").Exists() || r.form.DetailsMerge == mergeCumulative || r.form.Repeats || len(r.details.list) == 0 {
		return text, false
	}
	text = exchange.Once(d, member)
	return text, text.Exists()
}
