package portable

import (
	"encoding/base64"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/sim/strict"
)

// MediaRules are what a vendor takes of images and other files in a request. Zero members are no rules.
type MediaRules struct {
	Types    []string // MIME types
	Image    int      // characters of base64 of an image
	All      int      // of all files
	Images   int      // in a request
	Pixels   int      // of an image
	Side     int      // pixels of the longer side of an image
	Many     int      // a request with more images than this
	ManySide int      // takes images up to this side
}

// medium is a file in a request.
type medium struct{ kind, data string }

// Check returns why a vendor refuses the files in the body of a request, nil if it takes them.
func (r MediaRules) Check(body any) error {
	var list []medium
	findMedia(body, "", &list)
	images, all, largest, most := 0, 0, 0, 0
	for _, m := range list {
		all += len(m.data)
		if len(r.Types) > 0 && !slices.Contains(r.Types, m.kind) {
			return strict.Errorf("Unsupported MIME type: %s", m.kind)
		}
		if !strings.HasPrefix(m.kind, "image/") {
			continue
		}
		images++
		if r.Image > 0 && len(m.data) > r.Image {
			return strict.Errorf("image exceeds %d bytes maximum: %d bytes > %d bytes", r.Image, len(m.data), r.Image)
		}
		w, h := sizeOf(m)
		largest, most = max(largest, w, h), max(most, w*h)
	}
	switch {
	case r.Images > 0 && images > r.Images:
		return strict.Errorf("Too many images provided. This model supports up to %d images.", r.Images)
	case r.All > 0 && all > r.All:
		return strict.Errorf("Request exceeds the maximum size")
	case r.Pixels > 0 && most > r.Pixels:
		return strict.Errorf("Image too large: %d pixels, the maximum is %d pixels", most, r.Pixels)
	case r.Many > 0 && images > r.Many && largest > r.ManySide:
		return strict.Errorf("At least one of the image dimensions exceed max allowed size for many-image requests: %d pixels", r.ManySide)
	case r.Side > 0 && largest > r.Side:
		return strict.Errorf("At least one of the image dimensions exceed max allowed size: %d pixels", r.Side)
	}
	return nil
}

// findMedia collects the files of a body, in the forms of all wire APIs. key is the member that has v.
func findMedia(v any, key string, list *[]medium) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			findMedia(e, key, list)
		}
	case map[string]any:
		data, _ := v["data"].(string)
		for _, name := range []string{"media_type", "mimeType"} { // Messages, Gemini
			if kind, ok := v[name].(string); ok && data != "" && v["type"] != "text" {
				*list = append(*list, medium{kind, data})
				return
			}
		}
		if format, ok := v["format"].(string); ok && key == "input_audio" { // Chat Completions
			_, encoded, url := strings.Cut(data, ";base64,")
			if url {
				data = encoded
			}
			*list = append(*list, medium{"audio/" + format, data})
			return
		}
		for name, inner := range v {
			findMedia(inner, name, list)
		}
	case string:
		if kind, data, ok := strings.Cut(v, ";base64,"); ok && slices.Contains([]string{"url", "image_url", "file_data"}, key) { // Responses, Chat Completions
			*list = append(*list, medium{strings.TrimPrefix(kind, "data:"), data})
		}
	}
}

// sizeOf is the width and the height of an image in pixels; 0: its header cannot be read.
func sizeOf(m medium) (width, height int) {
	read := map[string]func(io.Reader) (image.Config, error){"image/png": png.DecodeConfig, "image/jpeg": jpeg.DecodeConfig, "image/gif": gif.DecodeConfig}[m.kind]
	if read == nil {
		return 0, 0
	}
	c, err := read(base64.NewDecoder(base64.StdEncoding, strings.NewReader(m.data)))
	if err != nil {
		return 0, 0
	}
	return c.Width, c.Height
}
