package media

import (
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/mediatype"
	"github.com/thinkd/thinkd/provider/picture"
)

// Check returns an [*Error] for the first medium of what a user says that a model cannot be shown, as far as its row and its adapter
// say so. content is described. What earlier messages have does not count: the oldest of it gives way.
func Check(to Recipient, content provider.Blocks) error {
	count := make(map[string]int)
	for _, b := range content {
		if b, ok := b.(provider.Media); ok {
			count[b.Kind()]++
		}
	}
	total := 0
	for i, b := range content {
		b, ok := b.(provider.Media)
		if !ok {
			continue
		}
		if e := to.check(b, count); e != nil {
			e.Model, e.Block, e.Kind, e.Type = to.Model.Ref(), i, b.Kind(), b.Type
			return e
		}
		total += to.sent(b, count)
	}
	if most := to.Model.Media.Total(); most > 0 && total > most {
		return &Error{Model: to.Model.Ref(), Block: -1, Reason: Count, Detail: fmt.Sprintf("%d bytes as base64, and the limit is %d", total, most)}
	}
	return nil
}

// check is the error for a medium, without its place.
func (r Recipient) check(b provider.Media, count map[string]int) *Error {
	kind, m := b.Kind(), r.Model
	limits := m.Media.Of(kind)
	switch {
	case kind == "":
		return &Error{Reason: Kind, Takes: m.Input}
	case kind == provider.MediaText:
		if len(b.Data) > 0 && !mediatype.IsText(b.Data) {
			return &Error{Reason: Text}
		}
		return nil
	case m.Known && len(m.Input) > 0 && !slices.Contains(m.Input, kind):
		return &Error{Reason: Kind, Takes: m.Input}
	case !r.has(kind):
		return &Error{Reason: API}
	case limits.Count > 0 && count[kind] > limits.Count:
		return &Error{Reason: Count, Detail: fmt.Sprintf("%d, and the limit is %d", count[kind], limits.Count)}
	}
	if h, ok := r.scalable(b); ok {
		if err := picture.Fittable(h, b.Bytes(), r.bounds(count[kind])); err != nil {
			return &Error{Reason: Size, Detail: err.Error()}
		}
		return nil
	}
	switch types := r.types(kind); {
	case len(types) > 0 && !slices.Contains(types, b.Type):
		return &Error{Reason: Type, Takes: types}
	case limits.Bytes > 0 && b.Encoded() > limits.Bytes:
		return &Error{Reason: Size, Detail: fmt.Sprintf("%d bytes as base64, and the limit is %d", b.Encoded(), limits.Bytes)}
	}
	return nil
}

// scalable is the header of an image that a Scaler can read.
func (r Recipient) scalable(b provider.Media) (picture.Header, bool) {
	if b.Width == 0 || b.Height == 0 {
		return picture.Header{}, false
	}
	return picture.Header{Type: b.Type, Width: b.Width, Height: b.Height}, true
}

// sent is at most how many bytes of a request a medium takes.
func (r Recipient) sent(b provider.Media, count map[string]int) int {
	n := b.Encoded()
	if b.Kind() == provider.MediaText {
		return 0
	}
	if _, ok := r.scalable(b); ok {
		if most := r.bounds(count[provider.MediaImage]).Bytes; most > 0 {
			n = min(n, most/3*4)
		}
	}
	return n
}

// Suggest is a model of a list that takes a kind of media, other than a given one; empty: there is none. The models of the same provider
// come first, and a model that retires comes after the others.
func Suggest(models []provider.Model, kind string, but provider.Model, may func(provider.Model) bool) string {
	best, rank := "", 0
	for _, m := range models {
		if m.Ref() == but.Ref() || !slices.Contains(m.Input, kind) || !may(m) {
			continue
		}
		is := 1
		if m.Provider == but.Provider {
			is += 2
		}
		if l := m.Lifecycle; l == nil || l.State == provider.LifecycleCurrent || l.State == provider.LifecyclePreview {
			is++
		}
		if l := m.Lifecycle; l != nil && l.State == provider.LifecycleRetired {
			continue
		}
		if is > rank {
			best, rank = m.Ref(), is
		}
	}
	return best
}

// Tokens is how many tokens the media of blocks take, by the rules of a model's row, and how many media have no rule.
func Tokens(m provider.Model, content provider.Blocks) (tokens, unknown int) {
	content.EachMedia(func(b provider.Media) {
		if b.Kind() == provider.MediaText {
			return
		}
		if n, ok := m.Media.Tokens(b); ok {
			tokens += n
		} else {
			unknown++
		}
	})
	return tokens, unknown
}
