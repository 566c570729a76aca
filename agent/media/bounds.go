package media

import (
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/mediatype"
	"github.com/thinkd/thinkd/provider/picture"
)

// Recipient is a model that media are for.
type Recipient struct {
	Model provider.Model

	// Forms are the kinds and types that its API has a form for. Unknown says that only a call would show them.
	Forms   []string
	Unknown bool
}

// For is the recipient of the calls of a provider; nil: none is configured.
func For(p provider.Provider, m provider.Model) Recipient {
	if p == nil {
		return Recipient{Model: m, Unknown: true}
	}
	forms, ok := provider.TakesMedia(p, m)
	return Recipient{m, forms, !ok}
}

// Describe is a medium with what its header says. The type is the one that the data have, whatever the label is.
func Describe(b provider.Media) provider.Media {
	b.Type = mediatype.Honest(b.Type, b.Data)
	switch b.Kind() {
	case provider.MediaImage:
		if h, ok := picture.Read(b.Data); ok {
			b.Width, b.Height = h.Width, h.Height
		}
	case provider.MediaAudio:
		b.Duration = mediatype.Duration(b.Data)
	}
	return b
}

// has reports whether the API has a form for at least one type of a kind.
func (r Recipient) has(kind string) bool {
	return r.Unknown || slices.ContainsFunc(r.Forms, func(form string) bool { return form == kind || (provider.Media{Type: form}).Kind() == kind })
}

// types are those of a kind that the model and its API take; nil: all, or nobody knows.
func (r Recipient) types(kind string) (list []string) {
	list = r.Model.Media.Of(kind).Types
	if r.Unknown || slices.Contains(r.Forms, kind) {
		return list
	}
	var forms []string
	for _, form := range r.Forms {
		if strings.Contains(form, "/") && (provider.Media{Type: form}).Kind() == kind && (len(list) == 0 || slices.Contains(list, form)) {
			forms = append(forms, form)
		}
	}
	return forms
}

// bounds are those of an image in a request with so many images.
func (r Recipient) bounds(images int) picture.Bounds {
	limits := r.Model.Media.Of(provider.MediaImage)
	b := picture.Bounds{Side: limits.SideOf(images), Pixels: limits.Pixels, Types: r.types(provider.MediaImage)}
	for _, encoded := range []int{limits.Bytes, r.Model.Media.Total()} {
		if raw := encoded / 4 * 3; raw > 0 && (b.Bytes == 0 || raw < b.Bytes) {
			b.Bytes = raw
		}
	}
	return b
}
