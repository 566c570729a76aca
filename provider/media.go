package provider

import (
	"encoding/base64"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/thinkd/thinkd/provider/mediatype"
)

// Kind returns the kind of a medium, in the words of [Model.Input]: text, image, pdf, audio, video; empty for anything else.
func (b Media) Kind() string {
	kind, _, _ := strings.Cut(b.Type, "/")
	switch {
	case b.Type == mediatype.PDF:
		return MediaPDF
	case mediatype.Textual(b.Type):
		return MediaText
	case kind != MediaText && slices.Contains(MediaKinds(), kind):
		return kind
	}
	return ""
}

// Bytes returns the size of the data, also if it is stored elsewhere.
func (b Media) Bytes() int { return max(len(b.Data), b.Size) }

// Encoded returns the size of the data as base64, the form that requests have.
func (b Media) Encoded() int { return base64.StdEncoding.EncodedLen(b.Bytes()) }

// MapMedia returns the list with what f returns in place of each medium, also in results of tools. f is not asked about other blocks,
// and reports whether it changes anything. The list itself does not change; without changes it is returned.
func (bs Blocks) MapMedia(f func(Media) (Block, bool)) Blocks {
	mapped := bs
	for i, b := range bs {
		changed := false
		switch old := b.(type) {
		case Media:
			b, changed = f(old)
		case ToolResult:
			inner := old.Blocks.MapMedia(f)
			changed = len(inner) > 0 && &inner[0] != &old.Blocks[0]
			old.Blocks = inner
			b = old
		}
		if changed {
			if &mapped[0] == &bs[0] {
				mapped = slices.Clone(bs)
			}
			mapped[i] = b
		}
	}
	return mapped
}

// EachMedia calls f with each medium of a list, also with those in results of tools.
func (bs Blocks) EachMedia(f func(Media)) {
	for _, b := range bs {
		switch b := b.(type) {
		case Media:
			f(b)
		case ToolResult:
			b.Blocks.EachMedia(f)
		}
	}
}

// Tokens returns how many tokens a medium takes, by the vendor's rule. ok is false if the rule or the size is not known.
func (l *MediaLimits) Tokens(b Media) (tokens int, ok bool) {
	rule := l.Of(b.Kind()).Tokens
	switch b.Kind() {
	case MediaImage:
		return rule.image(b.Width, b.Height)
	case MediaAudio:
		return int(math.Ceil(rule.Second * b.Duration.Seconds())), rule.Second > 0 && b.Duration >= time.Millisecond
	}
	return 0, false
}

// A MediaTaker is a [Provider] that reports which kinds of media its API has a form for.
type MediaTaker interface {
	// TakesMedia lists the kinds and the MIME types of media other than text for which the API has a form in what a user says, whatever
	// the model's row says about the model. It is pure and makes no call. It is not ok if only a call would show it.
	TakesMedia(m Model) (list []string, ok bool)
}

// TakesMedia asks p, if it is a MediaTaker.
func TakesMedia(p Provider, m Model) ([]string, bool) {
	if t, ok := p.(MediaTaker); ok {
		return t.TakesMedia(m)
	}
	return nil, false
}
