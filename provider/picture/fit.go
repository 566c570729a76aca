package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"slices"

	"golang.org/x/image/draw"

	"github.com/thinkd/thinkd/provider/mediatype"
)

// MaxPixels is how large an image may be that Fit makes smaller. A PNG of so many pixels with 16 bits for each colour takes 256 MiB.
const MaxPixels = 32 << 20

// Bounds are what an image is to keep. Zero members are no bounds.
type Bounds struct {
	Side   int      // pixels of the longer side
	Pixels int      // in all
	Bytes  int      // of the file
	Types  []string // MIME types
}

// Allow reports whether an image of so many bytes is within the bounds.
func (b Bounds) Allow(h Header, bytes int) bool {
	return (b.Side == 0 || max(h.Width, h.Height) <= b.Side) && (b.Pixels == 0 || h.Pixels() <= b.Pixels) &&
		(b.Bytes == 0 || bytes <= b.Bytes) && (len(b.Types) == 0 || slices.Contains(b.Types, h.Type))
}

// Errors of Fit.
var (
	ErrFormat = errors.New("the image cannot be read: it is damaged, or neither PNG, JPEG, GIF nor WebP")
	ErrPixels = fmt.Errorf("the image has more than %d megapixels: make it smaller", MaxPixels>>20)
	ErrBounds = errors.New("the image cannot be made small enough")
)

// Fittable returns nil if an image of this header is within the bounds, or if Fit may make it so. The error is ErrPixels or ErrBounds.
func Fittable(h Header, size int, b Bounds) error {
	switch {
	case b.Allow(h, size):
		return nil
	case h.Pixels() > MaxPixels:
		return ErrPixels
	case len(b.Types) > 0 && !slices.Contains(b.Types, mediatype.PNG) && !slices.Contains(b.Types, mediatype.JPEG):
		return ErrBounds
	}
	return nil
}

// Fit returns an image within the bounds: data itself if it is, otherwise a smaller PNG or JPEG of it. An animation becomes its first
// frame. The errors are ErrFormat, ErrPixels and ErrBounds.
func Fit(data []byte, b Bounds) ([]byte, Header, error) {
	h, ok := Read(data)
	if !ok {
		return nil, h, ErrFormat
	}
	if b.Allow(h, len(data)) {
		return data, h, nil
	}
	if err := Fittable(h, len(data), b); err != nil {
		return nil, h, err
	}
	src, err := formatOf(h.Type).decode(bytes.NewReader(data))
	if err != nil || src.Bounds().Empty() {
		return nil, h, ErrFormat
	}
	turn := 1
	if h.Type == mediatype.JPEG {
		turn = orientation(data)
	}
	w, height := within(src.Bounds().Dx(), src.Bounds().Dy(), b.Side, b.Pixels)
	for range maxTries {
		small := turned(scaled(src, w, height), turn)
		for _, encode := range encoders(h.Type, small, b.Types) {
			out, is, err := encode(small)
			if err == nil && (b.Bytes == 0 || len(out) <= b.Bytes) {
				return out, Header{is, small.Rect.Dx(), small.Rect.Dy()}, nil
			}
		}
		if w == 1 && height == 1 {
			break
		}
		w, height = max(w*2/3, 1), max(height*2/3, 1)
	}
	return nil, h, ErrBounds
}

// maxTries bounds the sizes that Fit tries to keep a bound of bytes: each has less than half of the pixels of the one before.
const maxTries = 10

type encoder func(*image.RGBA) (data []byte, kind string, err error)

// encoders are the ways to write an image, the better one first. A photograph stays one, and a drawing, or what can be seen through, is
// a PNG as long as that is small enough.
func encoders(was string, img *image.RGBA, types []string) (list []encoder) {
	takes := func(kind string) bool { return len(types) == 0 || slices.Contains(types, kind) }
	photo := was == mediatype.JPEG || was == mediatype.WebP && img.Opaque()
	if takes(mediatype.PNG) && (!photo || !takes(mediatype.JPEG)) {
		list = append(list, asPNG)
	}
	if takes(mediatype.JPEG) {
		list = append(list, asJPEG)
	}
	return list
}

func asPNG(img *image.RGBA) ([]byte, string, error) {
	var out bytes.Buffer
	err := png.Encode(&out, img)
	return out.Bytes(), mediatype.PNG, err
}

// asJPEG writes what can be seen through on white.
func asJPEG(img *image.RGBA) ([]byte, string, error) {
	if !img.Opaque() {
		on := image.NewRGBA(img.Rect)
		draw.Draw(on, on.Rect, image.NewUniform(color.White), image.Point{}, draw.Src)
		draw.Draw(on, on.Rect, img, img.Rect.Min, draw.Over)
		img = on
	}
	var out bytes.Buffer
	err := jpeg.Encode(&out, img, &jpeg.Options{Quality: 85})
	return out.Bytes(), mediatype.JPEG, err
}
