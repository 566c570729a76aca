package provider

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShow(t *testing.T) {
	image, pdf, film := Media{Type: "image/png", Data: []byte{1}}, Media{Type: "application/pdf", Data: []byte{1}}, Media{Type: "video/mp4", Data: []byte{1}}
	note, odd := Media{Type: "text/plain", Data: []byte{1}}, Media{Type: "application/zip", Data: []byte{1}}
	noImage, noPDF := Text{Text: "[an image that this model cannot be shown]"}, Text{Text: "[a document that this model cannot be shown]"}
	noFilm, noOdd := Text{Text: "[video/mp4 that this model cannot be shown]"}, Text{Text: "[application/zip that this model cannot be shown]"}
	tests := []struct {
		name   string
		input  []string
		kinds  []string
		want   Blocks
		unseen int
	}{
		{"all that the API takes", nil, []string{"image", "pdf", "video"}, Blocks{image, pdf, film, note, noOdd}, 1},
		{"less than the row", []string{"text", "image", "pdf", "video"}, []string{"image"}, Blocks{image, noPDF, noFilm, note, noOdd}, 3},
		{"less than the API", []string{"text"}, []string{"image", "pdf"}, Blocks{noImage, noPDF, noFilm, note, noOdd}, 4},
	}
	for _, tt := range tests {
		said := Blocks{image, pdf, film, note, odd}
		list := []Message{{Role: User, Blocks: Blocks{Text{Text: "a"}}}, {Role: User, Blocks: said},
			{Role: User, Blocks: Blocks{ToolResult{CallID: "c", Blocks: said}}}}
		got, unseen := Show(list, Model{Input: tt.input}, tt.kinds...)
		want := []Message{list[0], {Role: User, Blocks: tt.want}, {Role: User, Blocks: Blocks{ToolResult{CallID: "c", Blocks: tt.want}}}}
		if diff := cmp.Diff(want, got); diff != "" || unseen != 2*tt.unseen {
			t.Errorf("%s: %d unseen (-want +got):\n%s", tt.name, unseen, diff)
		}
		if diff := cmp.Diff(Blocks{image, pdf, film, note, odd}, list[1].Blocks); diff != "" {
			t.Errorf("%s: the log was changed:\n%s", tt.name, diff)
		}
	}
}
