package chat

import (
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// cited notes what a message or delta says of its sources. They belong to the text that ends next (docs: openrouter.ai,
// web-search).
func (r *reply) cited(m gjson.Result) {
	m.Get("annotations").ForEach(func(_, a gjson.Result) bool {
		if a.Get("type").Str == "url_citation" && len(r.annotations) < provider.MaxCitations {
			r.annotations = append(r.annotations, a.Get("url_citation"))
		}
		return true
	})
}

// searched notes the pages that an answer as a whole names; each list is of all so far (docs: docs.perplexity.ai).
func (r *reply) searched(root gjson.Result) {
	var pages []provider.Citation
	root.Get("search_results").ForEach(func(_, page gjson.Result) bool {
		pages = provider.Cite(pages, provider.Citation{URL: page.Get("url").Str, Title: page.Get("title").Str})
		return true
	})
	if pages == nil {
		root.Get("citations").ForEach(func(_, page gjson.Result) bool {
			pages = provider.Cite(pages, provider.Citation{URL: page.Str})
			return true
		})
	}
	if pages != nil {
		r.pages = pages
	}
}

// sources are those of a text that ends now.
func (r *reply) sources(text string) []provider.Citation {
	var list []provider.Citation
	for _, a := range r.annotations {
		c := provider.Citation{URL: a.Get("url").Str, Title: a.Get("title").Str, Quote: a.Get("content").Str}
		c.Place(text, a.Get("start_index").Int(), a.Get("end_index").Int())
		list = provider.Cite(list, c)
	}
	for _, page := range r.pages {
		list = provider.Cite(list, page)
	}
	r.annotations, r.pages = nil, nil
	return list
}

// images takes in the images of a message or delta (docs: openrouter.ai, image-generation). An image that is only an
// address is not fetched: it is a source.
func (r *reply) images(m gjson.Result) error {
	var err error
	m.Get("images").ForEach(func(_, image gjson.Result) bool {
		address := image.Get("image_url.url").Str
		media, ok := provider.DataURL(address)
		switch {
		case ok:
			err = r.media(media)
		case len(address) > 8<<10:
			err = r.oddity("an image that is no base64 text")
		default:
			r.pages = provider.Cite(r.pages, provider.Citation{URL: address, Title: "image"})
		}
		return err == nil
	})
	return err
}

func (r *reply) media(b provider.Media) error {
	if err := r.flush(); err != nil {
		return err
	}
	if err := r.closeOpen(); err != nil {
		return err
	}
	number := r.next
	r.next++
	r.spoke = true
	if err := r.Emit(provider.Begin{Index: number, Block: provider.Media{Type: b.Type}}); err != nil {
		return err
	}
	return r.Emit(provider.End{Index: number, Block: b})
}
