package replay

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
)

func TestVisible(t *testing.T) {
	image, pdf, film := provider.Media{Type: "image/png", Data: []byte{1}}, provider.Media{Type: "application/pdf", Data: []byte{1}}, provider.Media{Type: "video/mp4", Data: []byte{1}}
	note, odd := provider.Media{Type: "text/plain", Data: []byte{1}}, provider.Media{Type: "application/zip", Data: []byte{1}}
	noImage, noPDF := provider.Text{Text: "[an image that this model cannot be shown]"}, provider.Text{Text: "[a document that this model cannot be shown]"}
	noFilm, noOdd := provider.Text{Text: "[video/mp4 that this model cannot be shown]"}, provider.Text{Text: "[application/zip that this model cannot be shown]"}
	tests := []struct {
		name   string
		input  []string
		kinds  []string
		want   provider.Blocks
		unseen int
	}{
		{"all that the API takes", nil, []string{"image", "pdf", "video"}, provider.Blocks{image, pdf, film, note, noOdd}, 1},
		{"less than the row", []string{"text", "image", "pdf", "video"}, []string{"image"}, provider.Blocks{image, noPDF, noFilm, note, noOdd}, 3},
		{"less than the API", []string{"text"}, []string{"image", "pdf"}, provider.Blocks{noImage, noPDF, noFilm, note, noOdd}, 4},
	}
	for _, tt := range tests {
		said := provider.Blocks{image, pdf, film, note, odd}
		list := []provider.Message{{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "a"}}}, {Role: provider.User, Blocks: said},
			{Role: provider.User, Blocks: provider.Blocks{provider.ToolResult{CallID: "c", Blocks: said}}}}
		got, unseen := Visible(list, provider.Model{Input: tt.input}, tt.kinds...)
		want := []provider.Message{list[0], {Role: provider.User, Blocks: tt.want}, {Role: provider.User, Blocks: provider.Blocks{provider.ToolResult{CallID: "c", Blocks: tt.want}}}}
		if diff := cmp.Diff(want, got); diff != "" || unseen != 2*tt.unseen {
			t.Errorf("%s: %d unseen (-want +got):\n%s", tt.name, unseen, diff)
		}
		if diff := cmp.Diff(provider.Blocks{image, pdf, film, note, odd}, list[1].Blocks); diff != "" {
			t.Errorf("%s: the log was changed:\n%s", tt.name, diff)
		}
	}
}
