package portable

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"strings"
	"testing"
)

func TestMediaRules(t *testing.T) {
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 30, 10))); err != nil {
		t.Fatal(err)
	}
	data := base64.StdEncoding.EncodeToString(file.Bytes())
	object := func(pairs ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}
	forms := map[string]any{
		"messages":  object("source", object("type", "base64", "media_type", "image/png", "data", data)),
		"responses": object("image_url", "data:image/png;base64,"+data),
		"chat":      object("image_url", object("url", "data:image/png;base64,"+data)),
		"gemini":    object("inlineData", object("mimeType", "image/png", "data", data)),
	}
	for name, form := range forms {
		body := object("messages", []any{object("content", []any{form, form})})
		for want, rules := range map[string]MediaRules{
			"":                   {Types: []string{"image/png"}, Image: len(data), All: 2 * len(data), Images: 2, Pixels: 300, Side: 30, Many: 2, ManySide: 10},
			"MIME type":          {Types: []string{"image/jpeg"}},
			"bytes maximum":      {Image: len(data) - 1},
			"maximum size":       {All: 2*len(data) - 1},
			"Too many images":    {Images: 1},
			"299 pixels":         {Pixels: 299},
			"size: 29 pixels":    {Side: 29},
			"requests: 29 pixel": {Many: 1, ManySide: 29},
		} {
			err := rules.Check(body)
			if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
	for _, body := range []any{
		object("source", object("type", "text", "media_type", "text/plain", "data", "a")),
		object("text", "data:image/bmp;base64,AAAA"),
	} {
		if err := (MediaRules{Types: []string{"image/png"}}).Check(body); err != nil {
			t.Errorf("%v: %v", body, err)
		}
	}
	sound := object("type", "input_audio", "input_audio", object("data", "data:audio/wav;base64,AAAA", "format", "wav"))
	if err := (MediaRules{Types: []string{"image/png"}}).Check(sound); err == nil {
		t.Error("a sound was taken")
	}
}
