package sim

import (
	"encoding/base64"
)

// What an answer has besides text: an image (Part of kind Image) and pages that the text before it refers to (Sources).
// Each API has its own form. A face without one leaves the part out: Messages and Responses make no images unless a tool
// of the vendor's is declared, Ollama names no sources.

// Page is a page that a text refers to.
type Page struct {
	URL, Title, Quote string
	Start, End        int // the place in the text in front, in characters, which are single bytes here; End 0: no place
}

// dot is a PNG of one pixel.
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// Base64 is the data of a part, as base64 text.
func (p Part) Base64() string {
	if p.Text == "" {
		return dot
	}
	return base64.StdEncoding.EncodeToString([]byte(p.Text))
}

// media are the parts that a marker asks for, behind a text.
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

// Cite gives the pages of parts to the texts in front of them, for APIs that tell them with the text.
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
