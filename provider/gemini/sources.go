package gemini

import (
	"maps"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// sources are the pages that the vendor's search found for a text that ends now.
func (r *reply) sources(number int, text string) []provider.Citation {
	s := said{number: number, text: text}
	s.rest(r.grounding, s.ground(r.grounding))
	r.grounding = gjson.Result{}
	r.texts = append(r.texts, s)
	return s.cited
}

// groundedLate gives what the search found to texts that have ended: a page to each text with a passage that it supports,
// and the others to the last text.
func (r *reply) groundedLate(grounding gjson.Result) {
	placed := map[int64]bool{}
	for i := range r.texts {
		s := &r.texts[i]
		before := len(s.cited)
		maps.Copy(placed, s.ground(grounding))
		if i == len(r.texts)-1 {
			s.rest(grounding, placed)
		}
		s.late = s.late || len(s.cited) > before
	}
}

// page is one of the pages that the search found.
func page(grounding gjson.Result, i int64) provider.Citation {
	web := grounding.Get("groundingChunks." + strconv.FormatInt(i, 10) + ".web")
	return provider.Citation{URL: web.Get("uri").Str, Title: web.Get("title").Str}
}

// ground adds pages to the sources of a text, each with the passages of it that it supports (docs: google-search), and
// returns which these are. Places are in bytes of a part, so a passage is looked for by its text as well.
func (s *said) ground(grounding gjson.Result) (placed map[int64]bool) {
	placed = map[int64]bool{}
	grounding.Get("groundingSupports").ForEach(func(_, support gjson.Result) bool {
		passage := support.Get("segment.text").Str
		start, end := int(support.Get("segment.startIndex").Int()), int(support.Get("segment.endIndex").Int())
		if start < 0 || end > len(s.text) || start >= end || s.text[start:end] != passage {
			start = strings.Index(s.text, passage)
			end = start + len(passage)
		}
		if start < 0 || end <= start {
			return true
		}
		for _, i := range support.Get("groundingChunkIndices").Array() {
			c := page(grounding, i.Int())
			c.Start, c.End = start, end
			s.cited, placed[i.Int()] = exchange.Cite(s.cited, c), true
		}
		return len(s.cited) < provider.MaxCitations
	})
	return placed
}

// rest adds the pages without a passage.
func (s *said) rest(grounding gjson.Result, placed map[int64]bool) {
	for i := range grounding.Get("groundingChunks").Array() {
		if !placed[int64(i)] {
			s.cited = exchange.Cite(s.cited, page(grounding, int64(i)))
		}
	}
}

func (r *reply) opensText() bool {
	return r.run != nil && r.run.kind == provider.KindText && r.run.begun
}

// lateSources are the texts that got sources after their end.
func (r *reply) lateSources() (list []provider.Cited) {
	for _, s := range r.texts {
		if s.late {
			list = append(list, provider.Cited{Index: s.number, Sources: s.cited})
		}
	}
	return list
}
