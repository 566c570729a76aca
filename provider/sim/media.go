package sim

import (
	"encoding/base64"
)

// An answer may contain an image (Part of kind Image) and pages that the text before them refers to (Sources). Each API has
// its own form for them. A face without one leaves the part out: Messages and Responses make images only with a declared
// tool of the vendor, and Ollama names no sources.

// dot is a PNG of one pixel.
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// Base64 returns the bytes of an image as base64.
func (p Part) Base64() string {
	if p.Text == "" {
		return dot
	}
	return base64.StdEncoding.EncodeToString([]byte(p.Text))
}

// media returns the image and the sources that a marker requests after a text.
func (a *Answer) media(text string) (parts []Part) {
	if a.Image {
		parts = append(parts, Part{Kind: Image})
	}
	if a.Sources {
		parts = append(parts, Part{Kind: Sources, Pages: []Page{
			{URL: "https://example.com/first", Title: "The first page", Quote: "As it is said.", End: min(len(text), 5)},
			{URL: "https://example.com/second", Title: "The second page"}}})
	}
	return parts
}

// Cite returns the parts for an API that has sources inside of its texts: each Sources part moves into the text before it.
// Images are left out.
func Cite(parts []Part) (texts []Part) {
	for _, p := range parts {
		switch {
		case p.Kind == Image:
		case p.Kind != Sources:
			texts = append(texts, p)
		default:
			for i := len(texts) - 1; i >= 0; i-- {
				if texts[i].Kind == Text {
					texts[i].Pages = p.Pages
					break
				}
			}
		}
	}
	return texts
}
