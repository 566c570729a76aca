package registry

import (
	"slices"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
)

// TestMedia has rows of several vendors with the limits that they are to have.
func TestMedia(t *testing.T) {
	const all = "png jpeg gif webp"
	catalog := Default()
	for ref, want := range map[string]string{
		"anthropic/claude-opus-5-5":            "image: at most 600, 5 MiB each, 8000 pixels a side, 2000 if there are more than 20, " + all + "; pdf: 600 pages, pdf; all: 32 MB",
		"anthropic/claude-sonnet-4-5-20250929": "image: at most 100, 5 MiB each, 8000 pixels a side, 2000 if there are more than 20, " + all + "; pdf: 100 pages, pdf; all: 32 MB",
		"openai/gpt-5.4":                       "image: at most 500, " + all + "; pdf: 50 MB each, pdf; all: 50 MB",
		"openai/gpt-5.4-mini":                  "image: at most 500, " + all + "; all: 50 MB",
		"gemini/gemini-2.5-pro":                "image: png jpeg webp heic heif; pdf: 1000 pages, pdf; audio: wav mpeg aiff aac ogg flac; all: 20 MB",
		"xai/grok-4.6":                         "image: 20 MiB each, png jpeg",
		"groq/qwen/qwen3.6-27b":                "image: at most 5, 33.2 megapixels; all: 4 MB",
		"deepseek/deepseek-v4-pro":             "",
		"openrouter/anthropic/claude-opus-5":   "",
	} {
		m, err := catalog.Find(ref)
		if err != nil {
			t.Errorf("%s: %v", ref, err)
			continue
		}
		if got := MediaText(m); got != want {
			t.Errorf("%s:\n got %s\nwant %s", ref, got, want)
		}
		if (want != "") != (m.Facts.Media.Source != "") {
			t.Errorf("%s: the source is %+v", ref, m.Facts.Media)
		}
	}
	for _, m := range catalog.Models() {
		for _, kind := range []string{provider.MediaImage, provider.MediaPDF, provider.MediaAudio} {
			if len(m.Input) > 0 && !slices.Contains(m.Input, kind) && kindText(m.Media.Of(kind)) != "" {
				t.Errorf("%s has limits of %s, which it does not take", m.Ref(), kind)
			}
		}
	}
}

func TestMediaTokens(t *testing.T) {
	catalog := Default()
	image := func(w, h int) provider.Media { return provider.Media{Type: "image/png", Width: w, Height: h} }
	for _, tt := range []struct {
		model string
		b     provider.Media
		want  int // -1: not known
	}{
		{"anthropic/claude-sonnet-4-6", image(1000, 1000), 36 * 36},
		{"anthropic/claude-sonnet-4-6", image(8000, 8000), 1568},
		{"anthropic/claude-sonnet-4-6", image(0, 0), -1},
		{"anthropic/claude-opus-5-5", image(1000, 1000), -1},
		{"gemini/gemini-2.5-pro", image(100, 100), 258},
		{"gemini/gemini-2.5-pro", image(800, 700), 516},
		{"gemini/gemini-2.5-pro", provider.Media{Type: "audio/wav", Duration: 90_000_000_000}, 2880},
		{"gemini/gemini-2.5-pro", provider.Media{Type: "audio/mpeg"}, -1},
		{"gemini/gemini-2.5-pro", provider.Media{Type: "application/pdf"}, -1},
	} {
		m, err := catalog.Find(tt.model)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := m.Media.Tokens(tt.b); ok != (tt.want >= 0) || ok && got != tt.want {
			t.Errorf("%s, %+v: %d, %v", tt.model, tt.b, got, ok)
		}
	}
}

func TestCheckMedia(t *testing.T) {
	bad := func(field, format string, args ...any) error { return &RowError{Field: field, Problem: format} }
	for want, l := range map[string]*provider.MediaLimits{
		"":                      nil,
		"media.max_bytes":       {Bytes: -1},
		"media.image.max_side":  {Image: provider.KindLimits{Side: -1}},
		"media.pdf.types":       {PDF: provider.KindLimits{Types: []string{"image/png"}}},
		"media.image.many":      {Image: provider.KindLimits{Many: 20}},
		"media.audio.max_count": {Audio: provider.KindLimits{Count: -2}},
	} {
		err := checkMedia(l, bad)
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", l, err, want)
		}
	}
}
