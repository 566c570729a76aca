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

// image is the data of a part, as base64 text.
func (p Part) image() string {
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

// chatMembers is a part as the members of a delta (openrouter.ai: image-generation, web-search).
func chatMembers(p Part) map[string]any {
	if p.Kind == Image {
		return map[string]any{"content": "", "images": []any{map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:image/png;base64," + p.image()}}}}
	}
	var list []any
	for _, page := range p.Pages {
		cited := map[string]any{"url": page.URL, "title": page.Title, "content": page.Quote}
		if page.End > 0 {
			cited["start_index"], cited["end_index"] = page.Start, page.End
		}
		list = append(list, map[string]any{"type": "url_citation", "url_citation": cited})
	}
	return map[string]any{"content": "", "annotations": list}
}

// searchResults is the pages in the form of hosts that search before they answer (docs.perplexity.ai).
func searchResults(pages []Page) (results, citations []any) {
	for _, page := range pages {
		results = append(results, map[string]any{"url": page.URL, "title": page.Title, "date": nil})
		citations = append(citations, page.URL)
	}
	return results, citations
}

// grounding is the pages as Gemini tells them of a text [docs: google-search].
func grounding(pages []Page, text string) map[string]any {
	chunks, supports := []any{}, []any{}
	for i, page := range pages {
		chunks = append(chunks, map[string]any{"web": map[string]any{"uri": page.URL, "title": page.Title}})
		if page.End > 0 && page.End <= len(text) {
			supports = append(supports, map[string]any{"segment": map[string]any{"startIndex": page.Start, "endIndex": page.End, "text": text[page.Start:page.End]},
				"groundingChunkIndices": []any{i}})
		}
	}
	return map[string]any{"groundingChunks": chunks, "groundingSupports": supports}
}

// annotations are the pages as Responses tells them [docs: tools-web-search].
func annotations(pages []Page) []any {
	list := []any{}
	for _, page := range pages {
		list = append(list, map[string]any{"type": "url_citation", "url": page.URL, "title": page.Title, "start_index": page.Start, "end_index": page.End})
	}
	return list
}

// citations are the pages as Messages tells them [docs: web-search-tool].
func citations(pages []Page) (list []any) {
	for _, page := range pages {
		list = append(list, map[string]any{"type": "web_search_result_location", "url": page.URL, "title": page.Title, "cited_text": page.Quote, "encrypted_index": "sim"})
	}
	return list
}

// cite gives the pages of parts to the texts in front of them, for APIs that tell them with the text.
func cite(parts []Part) (texts []Part) {
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

// lastText is what the last text of some parts says.
func lastText(parts []Part) (text string) {
	for _, p := range parts {
		if p.Kind == Text {
			text = p.Text
		}
	}
	return text
}
