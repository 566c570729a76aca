package replay

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
)

func TestVisible(t *testing.T) {
	image, pdf, film := provider.Media{Type: "image/png", Data: []byte{1}}, provider.Media{Type: "application/pdf", Data: []byte{1}}, provider.Media{Type: "video/mp4", Data: []byte{1}}
	note, odd := provider.Media{Type: "text/plain", Data: []byte{1}}, provider.Media{Type: "application/zip", Data: []byte{1}}
	noImage, noPDF := provider.Text{Text: "[an image that this model cannot be shown]"}, provider.Text{Text: "[a document that this model cannot be shown]"}
	noFilm, noOdd := provider.Text{Text: "[a video that this model cannot be shown]"}, provider.Text{Text: "[application/zip that this model cannot be shown]"}
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
		if diff := cmp.Diff(want, got); diff != "" || unseen.Kind != 2*tt.unseen {
			t.Errorf("%s: %+v unseen (-want +got):\n%s", tt.name, unseen, diff)
		}
		if diff := cmp.Diff(provider.Blocks{image, pdf, film, note, odd}, list[1].Blocks); diff != "" {
			t.Errorf("%s: the log was changed:\n%s", tt.name, diff)
		}
	}
}

// pictures is a conversation with so many images in each message.
func pictures(counts ...int) (list []provider.Message) {
	n := 0
	for _, count := range counts {
		m := provider.Message{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "a"}}}
		for range count {
			n++
			m.Blocks = append(m.Blocks, provider.Media{Type: "image/png", Name: fmt.Sprint(n), Data: make([]byte, 3)})
		}
		list = append(list, m)
	}
	return list
}

// shownNames are the names of the media that are left, and prefix is the text of all messages but the last.
func shownNames(list []provider.Message) (names, prefix string) {
	for i, m := range list {
		m.Blocks.EachMedia(func(b provider.Media) { names += b.Name + " " })
		if i < len(list)-1 {
			prefix += fmt.Sprint(m.Blocks)
		}
	}
	return strings.TrimSpace(names), prefix
}

// The oldest media give way, a quarter of the limit at once, and those of the last message do not.
func TestVisibleNewest(t *testing.T) {
	count := func(n int) *provider.MediaLimits { return &provider.MediaLimits{Image: provider.KindLimits{Count: n}} }
	for _, tt := range []struct {
		name   string
		limits *provider.MediaLimits
		counts []int
		want   string
		over   int
	}{
		{"no limit is known", nil, []int{3, 3}, "1 2 3 4 5 6", 0},
		{"as many as fit", count(4), []int{2, 2}, "1 2 3 4", 0},
		{"one more", count(4), []int{2, 2, 1}, "3 4 5", 2},
		{"the last message is full", count(4), []int{2, 4}, "3 4 5 6", 2},
		{"the last message has too many", count(4), []int{2, 6}, "5 6 7 8", 4},
		{"bytes", &provider.MediaLimits{Bytes: 16}, []int{1, 1, 1, 1, 1}, "3 4 5", 2},
		{"another kind has a limit", &provider.MediaLimits{PDF: provider.KindLimits{Count: 1}}, []int{3, 3}, "1 2 3 4 5 6", 0},
	} {
		list := pictures(tt.counts...)
		shown, unseen := Visible(list, provider.Model{Media: tt.limits}, "image")
		if names, _ := shownNames(shown); names != tt.want || unseen != (Unseen{Over: tt.over}) {
			t.Errorf("%s: %q, %+v", tt.name, names, unseen)
		}
		if names, _ := shownNames(list); strings.Contains(names, "left out") || len(strings.Fields(names)) != strings.Count(names, " ")+1 {
			t.Errorf("%s: the log was changed", tt.name)
		}
	}
	changes, before := 0, ""
	for n := range 40 {
		shown, _ := Visible(pictures(slices.Repeat([]int{1}, n+1)...), provider.Model{Media: count(8)}, "image")
		_, prefix := shownNames(shown)
		if !strings.HasPrefix(prefix, before) {
			changes++
		}
		if names, all := shownNames(shown); len(strings.Fields(names)) > 8 {
			t.Fatalf("%d images: %q", n+1, names)
		} else {
			before = all
		}
	}
	if changes > 11 {
		t.Errorf("the prefix changed %d times in 40 messages", changes)
	}
}

func TestFileText(t *testing.T) {
	for _, tt := range []struct {
		in   provider.Media
		want string
	}{
		{provider.Media{Type: "text/plain", Data: []byte("a")}, "a"},
		{provider.Media{Type: "text/x-go", Name: "a.go", Data: []byte("package a\n")}, "File a.go (text/x-go):\n```\npackage a\n```"},
		{provider.Media{Type: "text/markdown", Data: []byte("````go\n````")}, "File (text/markdown):\n`````\n````go\n````\n`````"},
		{provider.Media{Type: "text/plain", Name: "a`\n.txt", Data: []byte("\xff")}, "File a__.txt (text/plain):\n```\n\uFFFD\n```"},
	} {
		if got := FileText(tt.in); got != tt.want {
			t.Errorf("%+v:\n%s", tt.in, got)
		}
	}
}
