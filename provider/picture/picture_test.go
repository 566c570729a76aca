package picture

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand"
	"testing"

	"github.com/thinkd/thinkd/provider/mediatype"
)

// halves is an image whose left half is red and whose right half is blue.
func halves(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.RGBA{255, 0, 0, 255}
			if x >= w/2 {
				c = color.RGBA{0, 0, 255, 255}
			}
			img.SetRGBA(x, y, c)
		}
	}
	return img
}

func noise(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	rand.New(rand.NewSource(1)).Read(img.Pix)
	for i := 3; i < len(img.Pix); i += 4 {
		img.Pix[i] = 255
	}
	return img
}

func written(t testing.TB, kind string, img image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	var err error
	switch kind {
	case mediatype.PNG:
		err = png.Encode(&out, img)
	case mediatype.JPEG:
		err = jpeg.Encode(&out, img, nil)
	case mediatype.GIF:
		err = gif.Encode(&out, img, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// dotWebP is a WebP of one pixel.
const dotWebP = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="

func webpDot(t testing.TB) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(dotWebP)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// bomb is a PNG whose header names more pixels than it has.
func bomb(t testing.TB, w, h uint32) []byte {
	data := bytes.Clone(written(t, mediatype.PNG, halves(2, 2)))
	binary.BigEndian.PutUint32(data[16:], w)
	binary.BigEndian.PutUint32(data[20:], h)
	binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
	return data
}

// turnedJPEG is a JPEG whose Exif data say how to turn it.
func turnedJPEG(t testing.TB, orientation byte, img image.Image) []byte {
	data := written(t, mediatype.JPEG, img)
	exif := append([]byte("Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00"), orientation, 0, 0, 0, 0, 0, 0)
	segment := append([]byte{0xff, 0xe1, 0, byte(len(exif) + 2)}, exif...)
	return append(append(bytes.Clone(data[:2]), segment...), data[2:]...)
}

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name string
		data []byte
		want Header
	}{
		{"png", written(t, mediatype.PNG, halves(7, 3)), Header{mediatype.PNG, 7, 3}},
		{"jpeg", written(t, mediatype.JPEG, halves(7, 3)), Header{mediatype.JPEG, 7, 3}},
		{"gif", written(t, mediatype.GIF, halves(7, 3)), Header{mediatype.GIF, 7, 3}},
		{"webp", webpDot(t), Header{mediatype.WebP, 1, 1}},
		{"a large one", bomb(t, 1<<20, 1<<20), Header{mediatype.PNG, 1 << 20, 1 << 20}},
		{"no image", []byte("%PDF-1.7"), Header{}},
		{"nothing", nil, Header{}},
		{"a beginning", written(t, mediatype.PNG, halves(7, 3))[:20], Header{}},
	} {
		if got, ok := Read(tt.data); got != tt.want || ok != (tt.want != Header{}) {
			t.Errorf("%s: %+v, %v", tt.name, got, ok)
		}
	}
}

func TestFit(t *testing.T) {
	clear := image.NewNRGBA(image.Rect(0, 0, 100, 50))
	for _, tt := range []struct {
		name   string
		data   []byte
		bounds Bounds
		want   Header
		err    error
	}{
		{"it fits", written(t, mediatype.PNG, halves(100, 50)), Bounds{Side: 100, Pixels: 5000, Types: []string{mediatype.PNG}}, Header{mediatype.PNG, 100, 50}, nil},
		{"no bounds", bomb(t, 1<<20, 1<<20), Bounds{}, Header{mediatype.PNG, 1 << 20, 1 << 20}, nil},
		{"a side", written(t, mediatype.PNG, halves(100, 50)), Bounds{Side: 30}, Header{mediatype.PNG, 30, 15}, nil},
		{"a photograph stays one", written(t, mediatype.JPEG, halves(100, 50)), Bounds{Side: 30}, Header{mediatype.JPEG, 30, 15}, nil},
		{"pixels", written(t, mediatype.PNG, halves(100, 50)), Bounds{Pixels: 1250}, Header{mediatype.PNG, 50, 25}, nil},
		{"a type", written(t, mediatype.GIF, halves(100, 50)), Bounds{Types: []string{mediatype.PNG, mediatype.JPEG}}, Header{mediatype.PNG, 100, 50}, nil},
		{"only photographs", written(t, mediatype.PNG, clear), Bounds{Types: []string{mediatype.JPEG}}, Header{mediatype.JPEG, 100, 50}, nil},
		{"webp", webpDot(t), Bounds{Types: []string{mediatype.PNG}}, Header{mediatype.PNG, 1, 1}, nil},
		{"bytes", written(t, mediatype.PNG, noise(200, 200)), Bounds{Bytes: 30_000}, Header{mediatype.JPEG, 133, 133}, nil},
		{"few bytes", written(t, mediatype.PNG, noise(200, 200)), Bounds{Bytes: 5000}, Header{mediatype.JPEG, 88, 88}, nil},
		{"too few bytes", written(t, mediatype.PNG, noise(20, 20)), Bounds{Bytes: 10}, Header{}, ErrBounds},
		{"turned", turnedJPEG(t, 6, halves(100, 50)), Bounds{Side: 30}, Header{mediatype.JPEG, 15, 30}, nil},
		{"a line", written(t, mediatype.PNG, halves(1000, 1)), Bounds{Side: 10}, Header{mediatype.PNG, 10, 1}, nil},
		{"a bomb", bomb(t, 1<<20, 1<<20), Bounds{Side: 100}, Header{}, ErrPixels},
		{"no such type", written(t, mediatype.PNG, halves(2, 2)), Bounds{Types: []string{"image/heic"}}, Header{}, ErrBounds},
		{"damaged", written(t, mediatype.PNG, halves(100, 50))[:60], Bounds{Side: 10}, Header{}, ErrFormat},
		{"no image", []byte("a text"), Bounds{Side: 10}, Header{}, ErrFormat},
	} {
		got, h, err := Fit(tt.data, tt.bounds)
		if !errors.Is(err, tt.err) || err == nil && h != tt.want {
			t.Errorf("%s: %+v, %v", tt.name, h, err)
			continue
		}
		if err != nil {
			continue
		}
		if is, ok := Read(got); !ok || is != h || !tt.bounds.Allow(h, len(got)) {
			t.Errorf("%s: the result is %+v with %d bytes", tt.name, is, len(got))
		}
		if again, _, err := Fit(tt.data, tt.bounds); err != nil || !bytes.Equal(again, got) {
			t.Errorf("%s: the second result differs (%v)", tt.name, err)
		}
	}
}

// All pixels count, and the colours stay where they are, whichever way an image is turned.
func TestFitKeepsThePicture(t *testing.T) {
	red := func(c color.Color) bool { r, _, b, _ := c.RGBA(); return r > b }
	for orientation, corners := range map[byte][4]bool{ // red at the upper left, upper right, lower left, lower right
		1: {true, false, true, false}, 2: {false, true, false, true}, 3: {false, true, false, true}, 4: {true, false, true, false},
		5: {true, true, false, false}, 6: {true, true, false, false}, 7: {false, false, true, true}, 8: {false, false, true, true},
	} {
		data, h, err := Fit(turnedJPEG(t, orientation, halves(400, 200)), Bounds{Side: 60})
		if err != nil {
			t.Fatal(err)
		}
		img, err := jpeg.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		right, low := h.Width-4, h.Height-4
		if got := [4]bool{red(img.At(4, 4)), red(img.At(right, 4)), red(img.At(4, low)), red(img.At(right, low))}; got != corners {
			t.Errorf("orientation %d: %v, want %v", orientation, got, corners)
		}
	}
	stripes := image.NewGray(image.Rect(0, 0, 640, 640)) // every second column is white
	for i := range stripes.Pix {
		stripes.Pix[i] = uint8(255 * (i % 2))
	}
	data, _, err := Fit(written(t, mediatype.PNG, stripes), Bounds{Side: 80})
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if g, _, _, _ := img.At(40, 40).RGBA(); g>>8 < 120 || g>>8 > 135 {
		t.Errorf("stripes became %d", g>>8)
	}
}

// FuzzFit has any bytes for an image: the header is read or refused, and what is decoded has the size that the header named.
func FuzzFit(f *testing.F) {
	for _, kind := range []string{mediatype.PNG, mediatype.JPEG, mediatype.GIF} {
		f.Add(written(f, kind, halves(9, 5)))
	}
	f.Add(webpDot(f))
	f.Add(bomb(f, 1<<20, 1<<20))
	f.Add(bomb(f, 0x7fffffff, 0x7fffffff))
	f.Add(turnedJPEG(f, 8, halves(9, 5)))
	f.Add([]byte("RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x10\x00\x00\x00\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, ok := Read(data)
		if n := orientation(data); n < 1 || n > 8 {
			t.Fatalf("orientation %d", n)
		}
		if !ok {
			return
		}
		if h.Width <= 0 || h.Height <= 0 || h.Pixels() <= 0 {
			t.Fatalf("%+v", h)
		}
		if h.Pixels() > 1<<20 { // so that many cases are tried; the bound itself is in TestFit
			return
		}
		bounds := Bounds{Side: 4, Bytes: 4096}
		small, is, err := Fit(data, bounds)
		if err != nil {
			return
		}
		if again, ok := Read(small); !ok || again != is || !bounds.Allow(is, len(small)) {
			t.Fatalf("%+v became %+v", h, again)
		}
	})
}
