package replay

import (
	"fmt"
	"testing"

	"github.com/thinkd/thinkd/provider"
)

// What an API takes is judged by an image's bytes; one that it does not take stands in the history as a sentence.
func TestVisibleImages(t *testing.T) {
	const bmp = "BM\x1e\x00\x00\x00\x00\x00\x00\x00\x1a"
	for _, tt := range []struct{ label, data, common, gemini string }{
		{"image/png", "\x89PNG\r\n\x1a\n", "image/png", "image/png"},
		{"image/png", "\xff\xd8\xff\xe0", "image/jpeg", "image/jpeg"},
		{"image/jpg", "\x00\x01", "image/jpeg", "image/jpeg"},
		{"image/png", "\x00\x01\x02", "image/png", "image/png"},
		{"image/png", "GIF89a", "image/gif", ""},
		{"image/png", "RIFF\x00\x00\x00\x00WEBP", "image/webp", "image/webp"},
		{"image/png", bmp, "", ""},
		{"image/bmp", bmp, "", ""},
		{"image/png", " <html>no such image</html>", "", ""},
		{"image/svg+xml", "<svg/>", "", ""},
		{"image/jpeg", "\x00\x00\x00\x18ftypheic", "", "image/heic"},
		{"image/tiff", "II*\x00", "", ""},
	} {
		for kind, want := range map[string]string{"common": tt.common, "gemini": tt.gemini} {
			kinds := map[string][]string{"common": Images, "gemini": GeminiImages}[kind]
			in := provider.Media{Type: tt.label, Data: []byte(tt.data)}
			list := []provider.Message{{Role: provider.User, Blocks: provider.Blocks{provider.ToolResult{Blocks: provider.Blocks{in}}}}}
			shown, unseen := Visible(list, provider.Model{}, kinds...)
			got := ""
			if m, ok := shown[0].Blocks[0].(provider.ToolResult).Blocks[0].(provider.Media); ok {
				got = m.Type
			}
			if got != want || (unseen.Kind == 1) != (want == "") {
				t.Errorf("%s: %s of %q became %q, want %q; %+v unseen", kind, tt.label, tt.data, got, want, unseen)
			}
			if fmt.Sprint(list[0].Blocks[0].(provider.ToolResult).Blocks[0].(provider.Media).Type) != tt.label {
				t.Error("the stored message was changed")
			}
		}
	}
}
