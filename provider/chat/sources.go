package chat

import (
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// Hosts name sources before, in and after the text that they belong to (docs: openrouter.ai, web-search; docs.perplexity.ai).
// An annotation with a place belongs to the text that has the place: all texts of an answer are counted through. Any
// other source belongs to the text that is open, or else to the last one that ended. Before the first text it waits for
// it. Sources of a text that has ended are sent with the end of the answer.

func (s *said) to() int64 { return s.from + int64(utf8.RuneCountInString(s.text)) }

// cited notes what a message or delta says of its sources.
func (r *reply) cited(m gjson.Result) {
	m.Get("annotations").ForEach(func(_, a gjson.Result) bool {
		if a.Get("type").Str == "url_citation" {
			r.annotated(a.Get("url_citation"))
		}
		return true
	})
}

func (r *reply) annotated(a gjson.Result) {
	start, end := a.Get("start_index").Int(), a.Get("end_index").Int()
	for i := range r.said {
		if s := &r.said[i]; start >= s.from && start < end && end <= s.to() {
			s.cite(citation(a, s.text, s.from))
			return
		}
	}
	switch {
	case r.opensText() || len(r.said) == 0:
		if len(r.annotations) < provider.MaxCitations {
			r.annotations = append(r.annotations, a)
		}
	default:
		last := &r.said[len(r.said)-1]
		last.cite(citation(a, last.text, last.from))
	}
}

// cite adds to the sources of a text that has ended.
func (s *said) cite(c provider.Citation) {
	before := len(s.cited)
	s.cited = exchange.Cite(s.cited, c)
	s.late = s.late || len(s.cited) > before
}

func citation(a gjson.Result, text string, from int64) provider.Citation {
	c := provider.Citation{URL: a.Get("url").Str, Title: a.Get("title").Str, Quote: a.Get("content").Str}
	c.Place(text, a.Get("start_index").Int()-from, a.Get("end_index").Int()-from)
	return c
}

// searched notes the pages that an answer as a whole names; each list is of all so far.
func (r *reply) searched(root gjson.Result) {
	results := root.Get("search_results")
	results.ForEach(func(_, page gjson.Result) bool {
		r.page(provider.Citation{URL: page.Get("url").Str, Title: page.Get("title").Str})
		return true
	})
	if results.Get("0").Exists() {
		return
	}
	root.Get("citations").ForEach(func(_, page gjson.Result) bool {
		r.page(provider.Citation{URL: page.Str})
		return true
	})
}

// page notes a source without a place.
func (r *reply) page(c provider.Citation) {
	if r.opensText() || len(r.said) == 0 {
		r.pages = exchange.Cite(r.pages, c)
		return
	}
	for i := range r.said {
		if s := &r.said[i]; s.has(c) {
			return
		}
	}
	r.said[len(r.said)-1].cite(c)
}

func (s *said) has(c provider.Citation) bool {
	for _, known := range s.cited {
		if known.URL == c.URL {
			return true
		}
	}
	return false
}

func (r *reply) opensText() bool {
	return r.open != nil && r.open.kind == provider.KindText && r.open.begun
}

// sources are those of a text that ends now.
func (r *reply) sources(number int, text string) []provider.Citation {
	s := said{number: number, text: text}
	if n := len(r.said); n > 0 {
		s.from = r.said[n-1].to()
	}
	for _, a := range r.annotations {
		s.cited = exchange.Cite(s.cited, citation(a, text, s.from))
	}
	for _, page := range r.pages {
		s.cited = exchange.Cite(s.cited, page)
	}
	r.annotations, r.pages = nil, nil
	r.said = append(r.said, s)
	return s.cited
}

// lateSources are the texts that got sources after their end.
func (r *reply) lateSources() (list []provider.Cited) {
	for _, s := range r.said {
		if s.late {
			list = append(list, provider.Cited{Index: s.number, Sources: s.cited})
		}
	}
	return list
}
