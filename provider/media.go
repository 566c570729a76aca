package provider

import (
	"slices"
	"strings"
)

// Kind is what a medium is in the words of [Model.Input]: text, image, pdf, audio, video; empty for anything else.
func (b Media) Kind() string {
	kind, _, _ := strings.Cut(b.Type, "/")
	switch {
	case b.Type == "application/pdf":
		return "pdf"
	case slices.Contains([]string{"text", "image", "audio", "video"}, kind):
		return kind
	}
	return ""
}
