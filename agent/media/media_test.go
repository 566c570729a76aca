package media

import (
	"bytes"
	"errors"
	"image"
	"image/gif"
	"image/png"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/picture"
)

func drawing(t *testing.T, w, h int) provider.Media {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return Describe(provider.Media{Type: "image/png", Name: "a.png", Data: out.Bytes()})
}

func animation(t *testing.T) provider.Media {
	t.Helper()
	var out bytes.Buffer
	if err := gif.Encode(&out, image.NewGray(image.Rect(0, 0, 20, 10)), nil); err != nil {
		t.Fatal(err)
	}
	return Describe(provider.Media{Type: "image/png", Data: out.Bytes()})
}

func TestDescribe(t *testing.T) {
	if b := animation(t); b.Type != "image/gif" || b.Width != 20 || b.Height != 10 {
		t.Errorf("%+v", b)
	}
	if b := Describe(provider.Media{Type: "audio/x-wav", Data: []byte("RIFF\x00\x00\x00\x00WAVE")}); b.Type != "audio/wav" || b.Duration != 0 {
		t.Errorf("%+v", b)
	}
}

func TestCheck(t *testing.T) {
	small, large := drawing(t, 20, 10), drawing(t, 200, 10)
	huge := large
	huge.Width, huge.Height = 1<<14, 1<<14
	pdf, zip := provider.Media{Type: "application/pdf", Data: []byte("%PDF-1.4")}, provider.Media{Type: "application/zip", Data: []byte("PK")}
	note, noise := provider.Media{Type: "text/plain", Data: []byte("a")}, provider.Media{Type: "text/plain", Data: []byte("\xff")}
	heic := provider.Media{Type: "image/heic", Data: []byte("heic")}
	row := func(l provider.MediaLimits, input ...string) provider.Model {
		return provider.Model{Provider: "p", ID: "m", Known: true, Input: append([]string{"text"}, input...), Media: &l}
	}
	images := []string{"image/png", "image/jpeg", "image/gif", "image/webp"}
	for _, tt := range []struct {
		name  string
		to    Recipient
		shown provider.Blocks
		want  Reason
		says  string
	}{
		{"text is always taken", Recipient{Model: row(provider.MediaLimits{})}, provider.Blocks{note}, "", ""},
		{"what is no text", Recipient{Model: row(provider.MediaLimits{})}, provider.Blocks{noise}, Text, "text/plain is not UTF-8 text"},
		{"a kind", Recipient{Model: row(provider.MediaLimits{}, "image"), Forms: images}, provider.Blocks{small, pdf}, Kind, "model p/m does not take pdf (application/pdf); it takes: text, image"},
		{"no kind", Recipient{Model: row(provider.MediaLimits{}, "image"), Unknown: true}, provider.Blocks{zip}, Kind, "model p/m does not take application/zip; it takes: text, image"},
		{"an API", Recipient{Model: row(provider.MediaLimits{}, "image", "pdf"), Forms: images}, provider.Blocks{pdf}, API, "model p/m cannot be sent pdf (application/pdf) over its API"},
		{"a type", Recipient{Model: row(provider.MediaLimits{}, "image"), Forms: images}, provider.Blocks{heic}, Type, "it takes: image/png"},
		{"a type that can be changed", Recipient{Model: row(provider.MediaLimits{Image: provider.KindLimits{Types: images[:2]}}, "image"), Forms: images}, provider.Blocks{animation(t)}, "", ""},
		{"an image that can be made smaller", Recipient{Model: row(provider.MediaLimits{Image: provider.KindLimits{Side: 50}}, "image"), Forms: images}, provider.Blocks{large}, "", ""},
		{"an image that cannot", Recipient{Model: row(provider.MediaLimits{Image: provider.KindLimits{Side: 50}}, "image"), Forms: images}, provider.Blocks{huge}, Size, "32 megapixels"},
		{"too many", Recipient{Model: row(provider.MediaLimits{Image: provider.KindLimits{Count: 1}}, "image"), Forms: images}, provider.Blocks{small, small}, Count, "too much image for a request to model p/m: 2, and the limit is 1"},
		{"a large document", Recipient{Model: row(provider.MediaLimits{PDF: provider.KindLimits{Bytes: 10}}, "pdf"), Forms: []string{"pdf"}}, provider.Blocks{pdf}, Size, "12 bytes as base64, and the limit is 10"},
		{"a large prompt", Recipient{Model: row(provider.MediaLimits{Bytes: 20}, "pdf"), Forms: []string{"pdf"}}, provider.Blocks{pdf, pdf}, Count, "24 bytes as base64, and the limit is 20"},
		{"no row", Recipient{Model: provider.Model{Provider: "p", ID: "m"}, Unknown: true}, provider.Blocks{pdf, heic, huge}, "", ""},
	} {
		err := Check(tt.to, tt.shown)
		e, _ := errors.AsType[*Error](err)
		if e == nil {
			e = &Error{}
		}
		if e.Reason != tt.want || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestSuggest(t *testing.T) {
	sees := []string{"text", "image"}
	of := func(p, id string, input []string, state provider.LifecycleState) provider.Model {
		return provider.Model{Provider: p, ID: id, Input: input, Lifecycle: &provider.Lifecycle{State: state}}
	}
	list := []provider.Model{of("a", "other", sees, "current"), of("b", "blind", nil, "current"), of("b", "old", sees, "deprecated"), of("b", "new", sees, "current"), of("b", "gone", sees, "retired")}
	all := func(provider.Model) bool { return true }
	if got := Suggest(list, "image", list[1], all); got != "b/new" {
		t.Errorf("%q", got)
	}
	if got := Suggest(list, "image", list[3], func(m provider.Model) bool { return m.Provider == "a" }); got != "a/other" {
		t.Errorf("%q", got)
	}
	if got := Suggest(list, "pdf", list[1], all); got != "" {
		t.Errorf("%q", got)
	}
}

func TestScale(t *testing.T) {
	large, small := drawing(t, 200, 10), drawing(t, 20, 10)
	broken := provider.Media{Type: "image/png", Data: []byte("no image")}
	said := provider.Message{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "a"}, small, provider.ToolResult{Blocks: provider.Blocks{large}}, broken}}
	to := Recipient{Model: provider.Model{Media: &provider.MediaLimits{Image: provider.KindLimits{Side: 100, Many: 3, ManySide: 10}}}, Unknown: true}
	var s Scaler
	req := &provider.Request{Messages: []provider.Message{said}}
	list := s.Scale(to, req)
	if len(list) != 1 || list[0].Is.Width != 100 || !strings.Contains(list[0].String(), "image/png of 200 by 10 pixels") {
		t.Fatalf("%+v", list)
	}
	first := req.Messages[0].Blocks[2].(provider.ToolResult).Blocks[0].(provider.Media)
	if h, ok := picture.Read(first.Data); !ok || h.Width != 100 || first.Name != "a.png" {
		t.Errorf("%+v", h)
	}
	if said.Blocks[2].(provider.ToolResult).Blocks[0].(provider.Media).Width != 200 {
		t.Error("the log was changed")
	}
	again := &provider.Request{Messages: []provider.Message{said}}
	s.Scale(to, again)
	if second := again.Messages[0].Blocks[2].(provider.ToolResult).Blocks[0].(provider.Media); &second.Data[0] != &first.Data[0] {
		t.Error("the image was made smaller twice")
	}
	more := &provider.Request{Messages: []provider.Message{said, {Blocks: provider.Blocks{small, small}}}}
	if list := s.Scale(to, more); len(list) != 4 { // with more than three images the bound is lower
		t.Errorf("%d images were made smaller", len(list))
	}
	to.Model.Media.Image = provider.KindLimits{Bytes: 4}
	if list := s.Scale(to, &provider.Request{Messages: []provider.Message{{Blocks: provider.Blocks{large}}}}); len(list) != 1 || !errors.Is(list[0].Err, picture.ErrBounds) {
		t.Errorf("%+v", list)
	}
}

func TestScalerForgets(t *testing.T) {
	var s Scaler
	for i := range 5 {
		s.keep(string(rune('a'+i)), provider.Media{Data: make([]byte, mostKept/3)})
	}
	if len(s.kept) != 3 || len(s.order) != 3 || s.bytes > mostKept || s.kept["e"].Data == nil {
		t.Errorf("%d images of %d bytes", len(s.kept), s.bytes)
	}
}
