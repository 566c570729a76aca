package replay

import (
	"bytes"
	"strings"

	"github.com/thinkd/thinkd/provider"
)

// Images are the types of images that the APIs of Anthropic, OpenAI and their hosts take. Gemini takes no GIF, and others
// besides (docs: vision; image-understanding).
var (
	Images       = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}
	GeminiImages = []string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}
	OllamaImages = []string{"image/png", "image/jpeg", "image/webp"}
)

// honest is an image with the type that its bytes have, where they tell: a vendor refuses one with another label, and with
// it every later request. Bytes that tell nothing keep their label.
func honest(b provider.Media) provider.Media {
	if !strings.HasPrefix(b.Type, "image/") {
		return b
	}
	if is := imageType(b.Data); is != "" {
		b.Type = is
	} else if b.Type == "image/jpg" {
		b.Type = "image/jpeg"
	}
	return b
}

// imageType is the type of an image by its first bytes; empty: they do not tell.
func imageType(data []byte) string {
	starts := func(prefix string) bool { return bytes.HasPrefix(data, []byte(prefix)) }
	brand := ""
	if len(data) >= 12 && string(data[4:8]) == "ftyp" {
		brand = string(data[8:12])
	}
	switch {
	case starts("\x89PNG\r\n\x1a\n"):
		return "image/png"
	case starts("\xff\xd8\xff"):
		return "image/jpeg"
	case starts("GIF87a"), starts("GIF89a"):
		return "image/gif"
	case starts("RIFF") && len(data) >= 12 && string(data[8:12]) == "WEBP":
		return "image/webp"
	case starts("BM") && len(data) >= 10 && bytes.Equal(data[6:10], make([]byte, 4)):
		return "image/bmp"
	case starts("II*\x00"), starts("MM\x00*"):
		return "image/tiff"
	case strings.HasPrefix(brand, "hei"), strings.HasPrefix(brand, "hev"):
		return "image/heic"
	case brand == "mif1", brand == "msf1":
		return "image/heif"
	case strings.HasPrefix(brand, "avi"):
		return "image/avif"
	case bytes.HasPrefix(bytes.TrimSpace(data[:min(len(data), 100)]), []byte("<")): // also the page of an error
		return "image/svg+xml"
	}
	return ""
}
