package picture

import (
	"bytes"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/webp"

	"github.com/thinkd/thinkd/provider/mediatype"
)

// Header is what the first bytes of an image say.
type Header struct {
	Type          string // PNG, JPEG, GIF or WebP
	Width, Height int    // pixels, as stored: an orientation is not applied
}

// Pixels is the number of pixels.
func (h Header) Pixels() int { return h.Width * h.Height }

// format reads images of one type; without functions: no type that is known.
type format struct {
	header func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}

func formatOf(kind string) format {
	switch kind {
	case mediatype.PNG:
		return format{png.DecodeConfig, png.Decode}
	case mediatype.JPEG:
		return format{jpeg.DecodeConfig, jpeg.Decode}
	case mediatype.GIF:
		return format{gif.DecodeConfig, gif.Decode} // of the first frame
	case mediatype.WebP:
		return format{webp.DecodeConfig, webp.Decode}
	}
	return format{}
}

// maxSide bounds a side of an image, in pixels: the product of two sides is an int.
const maxSide = 1 << 30

// Read reads the header of an image. It is not ok for other formats, and for a header that is damaged or makes no sense.
func Read(data []byte) (h Header, ok bool) {
	kind := mediatype.Of(data)
	f := formatOf(kind)
	if f.header == nil {
		return Header{}, false
	}
	c, err := f.header(bytes.NewReader(data))
	if err != nil || c.Width <= 0 || c.Height <= 0 || c.Width > maxSide || c.Height > maxSide {
		return Header{}, false
	}
	return Header{kind, c.Width, c.Height}, true
}
