package provider

import "math"

// The kinds of media, in the words of [Model.Input].
const (
	MediaText  = "text"
	MediaImage = "image"
	MediaPDF   = "pdf"
	MediaAudio = "audio"
	MediaVideo = "video"
)

// MediaKinds lists all kinds.
func MediaKinds() []string { return []string{MediaText, MediaImage, MediaPDF, MediaAudio, MediaVideo} }

// MediaLimits say how large the media of a request may be, and how many. A zero member says that nothing is known: thinkd then has no
// limit either.
type MediaLimits struct {
	Bytes int        `json:"max_bytes,omitempty"` // of all media of a request, as base64
	Image KindLimits `json:"image,omitzero"`
	PDF   KindLimits `json:"pdf,omitzero"`
	Audio KindLimits `json:"audio,omitzero"`
}

// KindLimits are those of one kind of media.
type KindLimits struct {
	Types  []string `json:"types,omitempty"`      // MIME types
	Bytes  int      `json:"max_bytes,omitempty"`  // of one, as base64
	Count  int      `json:"max_count,omitempty"`  // in a request
	Side   int      `json:"max_side,omitempty"`   // pixels of the longer side of an image
	Pixels int      `json:"max_pixels,omitempty"` // of an image, in all
	Pages  int      `json:"max_pages,omitempty"`  // of all documents of a request; thinkd does not count pages

	// A request with more than Many images takes them only up to the side ManySide.
	Many     int `json:"many,omitempty"`
	ManySide int `json:"many_max_side,omitempty"`

	Tokens TokenRule `json:"tokens,omitzero"`
}

// TokenRule says how many tokens a vendor counts for a medium. The zero rule says that nothing is known.
type TokenRule struct {
	Tile   int     `json:"tile,omitempty"`       // pixels of the side of a tile
	Each   int     `json:"each,omitempty"`       // tokens of a tile
	Side   int     `json:"shown_side,omitempty"` // pixels to which the vendor makes the longer side smaller; 0: it does not
	Most   int     `json:"max_tokens,omitempty"` // of an image: the vendor makes larger ones smaller; 0: it does not
	Second float64 `json:"per_second,omitempty"` // of a sound
}

// Of returns the limits of a kind; zero: none are known.
func (l *MediaLimits) Of(kind string) KindLimits {
	if l == nil {
		return KindLimits{}
	}
	switch kind {
	case MediaImage:
		return l.Image
	case MediaPDF:
		return l.PDF
	case MediaAudio:
		return l.Audio
	}
	return KindLimits{}
}

// Total returns how many bytes all media of a request may have as base64; 0: not known.
func (l *MediaLimits) Total() int {
	if l == nil {
		return 0
	}
	return l.Bytes
}

// SideOf returns the longest side that an image may have in a request with so many images; 0: not known.
func (k KindLimits) SideOf(images int) int {
	if k.Many > 0 && images > k.Many && k.ManySide > 0 {
		return k.ManySide
	}
	return k.Side
}

func (r TokenRule) image(width, height int) (int, bool) {
	if r.Tile <= 0 || r.Each <= 0 || width <= 0 || height <= 0 {
		return 0, false
	}
	w, h := float64(width), float64(height)
	if longer := max(w, h); r.Side > 0 && longer > float64(r.Side) {
		w, h = w*float64(r.Side)/longer, h*float64(r.Side)/longer
	}
	tile := float64(r.Tile)
	tokens := math.Ceil(w/tile) * math.Ceil(h/tile) * float64(r.Each)
	if r.Most > 0 {
		tokens = min(tokens, float64(r.Most))
	}
	return int(min(tokens, math.MaxInt32)), true
}
